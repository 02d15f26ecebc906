// The change-over: writes are held, the rest is copied, and the map gives the keys to the target.
import { MillraceError } from '../../../base/errors.ts';
import { mapSettled } from '../../../base/map-settled.ts';
import { REOPEN_MS } from '../../../shards/gate/times.ts';
import type { Mapping } from '../../../shards/index.ts';
import { plural } from '../../table.ts';
import { shardVerbsError } from '../errors.ts';
import { compare } from './compare.ts';
import { Limit } from './limit.ts';
import { type Moving, copyOn, countOf, mappingNow, ownerOptions } from './moving.ts';
import { Pause, type PauseParts } from './pause.ts';
import type { MovedContainer } from './side.ts';

/** The change-over is given up after this: routers open by themselves only later. */
const DECIDE_MS = REOPEN_MS / 2;
/** Containers that are copied at a time while writes wait. */
const SIDE_BY_SIDE = { concurrency: 16 };
/** The pause before routers are asked again. */
const AGAIN_MS = 5_000;
/** How many tries may take only as long as the first. */
const EQUAL_TRIES = 5;
/** The part of a try within which the mapping goes offline, if it does: the rest is to go on, and to let writes go on. */
const OFFLINE_WITHIN = 0.5;
/** The part after which a mapping that is offline comes back to where it was. */
const BACK_AFTER = 0.75;

/** How long writes of the keys were held, and what for. */
export interface Paused {
  /** The longest of all tries. */
  readonly pausedMs: number;
  /** Of the try that succeeded. */
  readonly pause: PauseParts;
  readonly tries: number;
}

/**
 * A try that takes too long is given up, so that what delays a single try, such as one write that is slow, delays no other
 * write for longer than `holdMs`. Only when several tries were given up may the next one take twice as long.
 */
export async function changeOver(moving: Moving): Promise<Paused> {
  const { clock, patienceMs, signal, say, record, holdMs } = moving;
  let limitMs = Math.min(holdMs, DECIDE_MS);
  let longestMs = 0;
  let held = 0;
  const since = clock.monotonic();
  for (let tries = 1; ; tries++) {
    const attempt: Attempt = { limitMs };
    try {
      await changeOverOnce(moving, attempt);
      const { ms, parts } = attempt.pause!;
      return { pausedMs: Math.max(longestMs, ms), pause: parts, tries };
    } catch (error) {
      const isOver = clock.monotonic() - since > patienceMs;
      if (!isSilent(error) && !(isTooSlow(error) && limitMs < DECIDE_MS && !isOver)) throw error;
      if (isOver) throw shardVerbsError('move-routers-silent', error.message, { cause: error });
      longestMs = Math.max(longestMs, attempt.pause?.ms ?? 0);
      // No write was held yet if it was the announcement that a router did not answer.
      if (attempt.pause && (held += 1) >= EQUAL_TRIES) limitMs = Math.min(2 * limitMs, DECIDE_MS);
      // Writers go on meanwhile.
      await record.save();
      await say(`${error.message}; trying again`);
      await clock.sleep(AGAIN_MS, signal);
      for (const of of moving.containers) await copyOn(moving, of, 'near');
    }
  }
}

/** One hold. `pause`: what writes waited for, once it has begun. */
interface Attempt {
  readonly limitMs: number;
  pause?: Pause;
}

const isCode = (error: unknown, code: string): error is MillraceError =>
  error instanceof MillraceError && error.code === code;
const isSilent = (error: unknown): error is MillraceError => isCode(error, 'routers-not-stopped');
const isTooSlow = (error: unknown): error is MillraceError => isCode(error, 'move-too-slow');

async function changeOverOnce(moving: Moving, attempt: Attempt): Promise<void> {
  const { map, silentMs, record, clock, signal } = moving;
  const mapping = await mappingNow(moving);
  const announced = await map.announce(mapping, { withinMs: silentMs, work: record.now.id });
  try {
    // Nothing waits yet, and so little is left for the pause.
    for (const of of moving.containers) await copyOn(moving, of, 'near');
    const pause = new Pause(clock);
    attempt.pause = pause;
    const tooSlow = (): Error =>
      shardVerbsError('move-too-slow', `The change-over of ${record.now.keys} took too long (${pause.ms} ms)`);
    const limit = new Limit({ clock, signal, pause, tooSlow });
    try {
      await whileHeld(moving, mapping, attempt.limitMs, { pause, limit });
    } finally {
      pause.end();
      await limit.settled();
    }
  } finally {
    await announced.open();
  }
}

async function whileHeld(
  moving: Moving,
  mapping: Mapping,
  limitMs: number,
  { pause, limit }: { readonly pause: Pause; readonly limit: Limit },
): Promise<void> {
  const { map, to, silentMs, record, containers } = moving;
  const [offlineMs, backMs] = [limitMs * OFFLINE_WITHIN, limitMs * BACK_AFTER];
  const withinMs = (ms: number): number => Math.min(silentMs, Math.max(1, ms - pause.ms));
  const copyAll = (signal: AbortSignal, once: boolean): Promise<readonly number[]> => {
    const endOrThrow = (): void => signal.throwIfAborted();
    return mapSettled(containers, (of) => copyOn({ ...moving, signal }, of, { endOrThrow, once }), SIDE_BY_SIDE);
  };
  // All routers have answered the announcement just now: one that doesn't answer has a write under way that takes long.
  const held = await pause.of('hold', () => map.hold(mapping, { withinMs: withinMs(offlineMs), work: record.now.id }));
  let offline: Mapping | undefined;
  try {
    await pause.of('copy', () => limit.of(offlineMs, (signal) => copyAll(signal, true)));
    await pause.of('compare', () => limit.of(offlineMs, (signal) => assertSame({ ...moving, signal })));
    // Another process may have sent its writes after routers opened by themselves. From here on the shard's gate admits
    // none of these keys, so what is copied now is all.
    const now = await pause.of('offline', () =>
      map.updateMapping(mapping, { status: 'offline' }, ownerOptions(moving)),
    );
    offline = now;
    // From here on only routers that open by themselves would end it, so this does when it takes long.
    const stop = { withinMs: withinMs(backMs), held, markStays: true };
    const drained = await pause.of('drain', () => map.untilStopped(now, stop));
    await pause.of('copyLast', () =>
      limit.of(backMs, async (signal) => {
        const changes = await copyAll(signal, false);
        if (changes.some((count) => count > 0)) await assertSame({ ...moving, signal });
        await record.save();
      }),
    );
    limit.endOrThrow(backMs);
    const flip = { status: 'online', shard: to.shard } as const;
    await pause.of('online', () => map.updateMapping(now, flip, { ...ownerOptions(moving), drained }));
    offline = undefined;
  } finally {
    if (offline) await back(moving, offline);
    await pause.of('open', () => held.open());
  }
}

/** The keys stay where they were. */
async function back(moving: Moving, offline: Mapping): Promise<void> {
  // If another process has changed the mapping meanwhile, or this one can't reach the map, the next one does it.
  await moving.map.updateMapping(offline, { status: 'online' }, ownerOptions(moving)).catch(() => undefined);
}

/** Nothing is written now. Counts are compared; if they differ, all documents are. */
async function assertSame(moving: Moving): Promise<void> {
  const { signal, containers } = moving;
  const compareOne = async (of: MovedContainer): Promise<void> => {
    const [left, right] = await Promise.all([countOf(of.source, of, signal), countOf(of.target, of, signal)]);
    if (left === right) return;
    const { missing } = await compare(moving, of, { still: true });
    if (missing.length > 0)
      throw shardVerbsError('move-incomplete', `The target lacks ${plural(missing.length, 'document')} of ${of.name}`);
  };
  await mapSettled(containers, compareOne, SIDE_BY_SIDE);
}
