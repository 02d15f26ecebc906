// How long writes would wait if they were held now, by what its parts take while they go on.
import { mapSettled } from '../../../base/map-settled.ts';
import { CLOSING_POLL_MS } from '../../../shards/gate/times.ts';
import { compareSides } from './compare.ts';
import { type Moving, SIDE_BY_SIDE, copyOn, countsOf } from '../moving.ts';

/** Milliseconds of what a pause is made of. */
export interface Measured {
  /** One request to the maps' database. */
  readonly requestMs: number;
  /** Copying to the end of the feed what came within a moment: the longest of the last two. */
  readonly copyMs: number;
  /** Counting both sides. */
  readonly countMs: number;
}

/** The part of a try within which the mapping goes offline, if it does: the rest is to go on, and to let writes go on. */
export const OFFLINE_WITHIN = 0.5;
/** The part after which a mapping that is offline comes back to where it was. */
export const BACK_AFTER = 0.75;

/**
 * Requests to the maps' database that come one after the other (SPEC-moves, the budget of a pause), and one of the routers,
 * which acknowledge that they hold.
 */
const REQUESTS = { hold: 3, offline: 3, drain: 1 };
/** Where a pause is expected to take more than this part of its limits, one of two would be given up. */
const SURE = 0.8;

/** When writes have waited for so long, the mapping begins to go offline, and to come online again. */
export function forecastOf({ requestMs, copyMs, countMs }: Measured): {
  readonly offlineMs: number;
  readonly onlineMs: number;
} {
  const offlineMs = REQUESTS.hold * requestMs + CLOSING_POLL_MS;
  const drainedMs = Math.max((REQUESTS.offline + REQUESTS.drain) * requestMs, copyMs);
  return { offlineMs, onlineMs: offlineMs + drainedMs + Math.max(2 * copyMs, countMs) };
}

export function fits(measured: Measured, limitMs: number): boolean {
  const { offlineMs, onlineMs } = forecastOf(measured);
  return offlineMs <= SURE * OFFLINE_WITHIN * limitMs && onlineMs <= SURE * BACK_AFTER * limitMs;
}

/** The limit doubled until a pause is expected to fit it, or until it is `mostMs`. */
export function limitFor(measured: Measured, limitMs: number, mostMs: number): number {
  return fits(measured, limitMs) || limitMs >= mostMs
    ? Math.min(limitMs, mostMs)
    : limitFor(measured, 2 * limitMs, mostMs);
}

/**
 * Milliseconds that counting both sides takes. Where the target has more documents than the source, some were deleted in the
 * source since both sides were compared, and are found now: within the pause that would take the longer the more there are.
 */
export async function countSides(moving: Moving, differed: boolean): Promise<number> {
  const [countMs, counts] = await timed(moving, () => countsOf(moving));
  const due = moving.containers.filter((_, at) => differed || counts[at]!.source < counts[at]!.target);
  for (const of of due) await compareSides(moving, of, { still: false });
  if (due.length > 0) await copyAll(moving);
  return countMs;
}

/** No write is held for it. */
export async function measure(moving: Moving, countMs: number): Promise<Measured> {
  // It reads the record and replaces it.
  const [saveMs] = await timed(moving, () => moving.record.save());
  // What came since the last look is copied before the pause, and isn't counted.
  await copyAll(moving);
  return { requestMs: saveMs / 2, copyMs: await measureCopy(moving), countMs };
}

/** Nothing waits, so what is copied now is not copied in the pause. */
export async function measureCopy(moving: Moving): Promise<number> {
  const [copyMs] = await timed(moving, () => copyAll(moving));
  return copyMs;
}

async function timed<T>({ clock }: Moving, work: () => Promise<T>): Promise<readonly [number, T]> {
  const since = clock.monotonic();
  const result = await work();
  return [clock.monotonic() - since, result];
}

const copyAll = (moving: Moving): Promise<unknown> =>
  mapSettled(moving.containers, (of) => copyOn(moving, of, 'near'), SIDE_BY_SIDE);
