// The switch: writes are held, the rest is copied, and the map gives the keys to the target.
import { MillraceError } from '../../../base/errors.ts';
import { mapSettled } from '../../../base/map-settled.ts';
import { REOPEN_MS } from '../../../shards/gate/times.ts';
import type { Mapping } from '../../../shards/index.ts';
import type { Closed } from '../../../shards/gate/shard-gates.ts';
import { plural } from '../../table.ts';
import { operationsError } from '../../errors.ts';
import { compareSides } from './compare.ts';
import {
  BACK_AFTER,
  type Measured,
  OFFLINE_WITHIN,
  countSides,
  fits,
  forecastOf,
  limitFor,
  measure,
  measureCopy,
} from './forecast.ts';
import { Limit } from './limit.ts';
import { type Moving, SIDE_BY_SIDE, copyOn, countsOf, mappingNow, ownerOptions } from '../moving.ts';
import { Pause, type PauseParts } from './pause.ts';
import type { MovedContainer } from '../side.ts';

/** The switch is given up after this: routers open by themselves only later. */
const DECIDE_MS = REOPEN_MS / 2;
/** The pause before routers are asked again. */
const AGAIN_MS = 5_000;
/** How many tries may take only as long as the first. */
const EQUAL_TRIES = 5;
/** How often it measures whether a try would be short enough before one may take longer, and the pause between. */
const LOOKS = 10;
const LOOK_MS = 500;

/** How long writes of the keys were held, and what for. */
export interface SwitchPaused {
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
export async function switchOwner(moving: Moving): Promise<SwitchPaused> {
  const { clock, patienceMs, signal, say, record, holdMs } = moving;
  let limitMs = Math.min(holdMs, DECIDE_MS);
  let longestMs = 0;
  let held = 0;
  const since = clock.monotonic();
  let differed = false;
  for (let tries = 1; ; tries++) {
    const attempt: Attempt = { limitMs, differed };
    try {
      await switchOnce(moving, attempt, since + patienceMs);
      const { ms, parts } = attempt.pause!;
      return { pausedMs: Math.max(longestMs, ms), pause: parts, tries };
    } catch (error) {
      const isOver = clock.monotonic() - since > patienceMs;
      limitMs = attempt.limitMs;
      if (!isSilent(error) && !(isTooSlow(error) && limitMs < DECIDE_MS && !isOver)) throw error;
      if (isOver) throw operationsError('move-routers-silent', error.message, { cause: error });
      longestMs = Math.max(longestMs, attempt.pause?.ms ?? 0);
      differed = attempt.differed;
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

/**
 * Announces to the routers that keys are about to be held, and resolves with that where a try is expected to be short enough
 * by two looks, one of them after the announcement. No write waits meanwhile. Where none is short enough for long, as on a
 * slow machine, the try may take as long as the shortest needs.
 */
async function announceShort(moving: Moving, mapping: Mapping, attempt: Attempt, ends: number): Promise<Closed> {
  const { clock, signal, say } = moving;
  let countMs = await countSides(moving, attempt.differed);
  attempt.differed = false;
  const isDue = (measured: Measured): boolean =>
    fits(measured, attempt.limitMs) || attempt.limitMs >= DECIDE_MS || clock.monotonic() > ends;
  let shortest: Measured | undefined;
  for (let looks = 1; ; looks++) {
    let measured = await measure(moving, countMs);
    if (isDue(measured)) {
      const announced = await announce(moving, mapping);
      try {
        measured = { ...measured, copyMs: Math.max(measured.copyMs, await measureCopy(moving)) };
        if (isDue(measured)) return announced;
      } catch (error) {
        await announced.open();
        throw error;
      }
      await announced.open();
    }
    const { onlineMs } = forecastOf(measured);
    if (!shortest || onlineMs < forecastOf(shortest).onlineMs) shortest = measured;
    if (looks % LOOKS === 0) attempt.limitMs = limitFor(shortest, attempt.limitMs, DECIDE_MS);
    await say(`waiting to switch: writes would be held for about ${Math.round(onlineMs)} ms`);
    await clock.sleep(LOOK_MS, signal);
    // Counting costs RU, and is done again only where it is what takes too long.
    if (fits({ ...measured, countMs: 0 }, attempt.limitMs)) countMs = await countSides(moving, false);
  }
}

/** Moves from one shard take turns: they would wait for one another's requests while writes wait for each of them. */
function announce({ map, silentMs, record, signal }: Moving, mapping: Mapping): Promise<Closed> {
  const inTurn = (): Promise<void> => {
    signal.throwIfAborted();
    return record.saveSoon({});
  };
  return map.announce(mapping, { withinMs: silentMs, work: record.now.id, inTurn });
}

/** One hold. `pause`: what writes waited for, once it has begun. `differed`: both sides had not the same documents. */
interface Attempt {
  limitMs: number;
  pause?: Pause;
  differed: boolean;
}

const isCode = (error: unknown, code: string): error is MillraceError =>
  error instanceof MillraceError && error.code === code;
const isSilent = (error: unknown): error is MillraceError => isCode(error, 'routers-not-stopped');
const isTooSlow = (error: unknown): error is MillraceError => isCode(error, 'too-slow');

async function switchOnce(moving: Moving, attempt: Attempt, ends: number): Promise<void> {
  const { record, clock, signal } = moving;
  const mapping = await mappingNow(moving);
  const announced = await announceShort(moving, mapping, attempt, ends);
  try {
    const pause = new Pause(clock);
    attempt.pause = pause;
    const tooSlow = (): Error =>
      operationsError('too-slow', `The switch of ${record.now.keys} took too long (${pause.ms} ms)`);
    const limit = new Limit({ clock, signal, pause, tooSlow });
    try {
      await whileHeld(moving, { mapping, announced }, attempt, { pause, limit });
    } finally {
      pause.end();
      await limit.idle();
    }
  } finally {
    await announced.open();
  }
}

async function whileHeld(
  moving: Moving,
  { mapping, announced }: { readonly mapping: Mapping; readonly announced: Closed },
  attempt: Attempt,
  { pause, limit }: { readonly pause: Pause; readonly limit: Limit },
): Promise<void> {
  const { map, to, silentMs, record, containers } = moving;
  const [offlineMs, backMs] = [attempt.limitMs * OFFLINE_WITHIN, attempt.limitMs * BACK_AFTER];
  const withinMs = (ms: number): number => Math.min(silentMs, Math.max(1, ms - pause.ms));
  const copyAll = (signal: AbortSignal, once: boolean): Promise<readonly number[]> => {
    const endOrThrow = (): void => signal.throwIfAborted();
    return mapSettled(containers, (of) => copyOn({ ...moving, signal }, of, { endOrThrow, once }), SIDE_BY_SIDE);
  };
  // All routers have answered the announcement just now: one that doesn't answer has a write under way that takes long.
  const hold = { withinMs: withinMs(offlineMs), work: record.now.id, after: announced, begins: () => pause.begin() };
  const held = await pause.of('hold', () => map.hold(mapping, hold));
  let offline: Mapping | undefined;
  try {
    limit.endOrThrow(offlineMs);
    // So that little is left for the last copying.
    const copying = limit.of(backMs, (signal) => copyAll(signal, true));
    copying.catch(() => undefined);
    // Another process may have sent its writes after routers opened by themselves. From here on the shard's gate admits
    // none of these keys, so what is copied after that is all.
    const now = await pause.of('offline', () =>
      map.updateMapping(mapping, { status: 'offline' }, ownerOptions(moving)),
    );
    offline = now;
    // From here on only routers that open by themselves would end it, so this does when it takes long.
    const stop = { withinMs: withinMs(backMs), held, markStays: true };
    const drained = await pause.of('drain', () => map.untilStopped(now, stop));
    await pause.of('copy', () => copying);
    await limit.of(backMs, async (signal) => {
      // Nothing is written any more, so what both sides have now is what they will have (MOVE-V40).
      const given = { ...moving, signal };
      const beside = [haveSameCounts(given), record.save().then(() => true)];
      const isSame = Promise.all(beside).then((all) => all.every(Boolean));
      isSame.catch(() => undefined);
      try {
        const changes = await pause.of('copyLast', () => copyAll(signal, false));
        await pause.of('compare', async () => {
          const hasCopied = changes.some((count) => count > 0);
          if (!(await isSame) || hasCopied) await assertSame(given, attempt);
        });
      } finally {
        await Promise.allSettled(beside);
      }
    });
    limit.endOrThrow(backMs);
    const atTarget = { status: 'online', shard: to.shard } as const;
    await pause.of('online', () => map.updateMapping(now, atTarget, { ...ownerOptions(moving), drained }));
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

const haveSameCounts = async (moving: Moving): Promise<boolean> =>
  (await countsOf(moving)).every(({ source, target }) => source === target);

/** Nothing is written now. Counts are compared; if they differ, all documents are. */
async function assertSame(moving: Moving, attempt: Attempt): Promise<void> {
  const { containers } = moving;
  const counts = await countsOf(moving);
  const compareOne = async (of: MovedContainer, at: number): Promise<void> => {
    if (counts[at]!.source === counts[at]!.target) return;
    attempt.differed = true;
    const { missing } = await compareSides(moving, of, { still: true });
    if (missing.length > 0)
      throw operationsError(
        'target-incomplete',
        `The target lacks ${plural(missing.length, 'document')} of ${of.name}`,
        { retryable: true },
      );
  };
  await mapSettled(containers, compareOne, SIDE_BY_SIDE);
}
