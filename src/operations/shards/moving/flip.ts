// The change-over: writes are held, the rest is copied, and the map gives the keys to the target.
import type { Clock } from '../../../base/clock.ts';
import { MillraceError } from '../../../base/errors.ts';
import { mapSettled } from '../../../base/map-settled.ts';
import { REOPEN_MS } from '../../../shards/gate/times.ts';
import type { HoldOptions } from '../../../shards/gate/shard-gates.ts';
import type { Mapping } from '../../../shards/index.ts';
import { plural } from '../../table.ts';
import { shardVerbsError } from '../errors.ts';
import { compare } from './compare.ts';
import { type Moving, copyOn, countOf, mappingNow, ownerOptions } from './moving.ts';
import type { MovedContainer } from './side.ts';

/** The change-over is given up after this: routers open by themselves only later. */
const DECIDE_MS = REOPEN_MS / 2;
/** Containers that are copied at a time while writes wait. */
const SIDE_BY_SIDE = { concurrency: 16 };
/** The pause before routers are asked again. */
const AGAIN_MS = 5_000;

/** Resolves with how long writes of the keys were held, milliseconds. */
export async function changeOver(moving: Moving): Promise<number> {
  const { clock, patienceMs, signal, say, record } = moving;
  for (const since = clock.monotonic(); ;) {
    try {
      return await changeOverOnce(moving);
    } catch (error) {
      if (!isSilent(error)) throw error;
      if (clock.monotonic() - since > patienceMs)
        throw shardVerbsError('move-routers-silent', error.message, { cause: error });
      // Writers go on meanwhile.
      await record.save();
      await say(`${error.message}; trying again`);
      await clock.sleep(AGAIN_MS, signal);
      for (const of of moving.containers) await copyOn(moving, of, 'near');
    }
  }
}

const isSilent = (error: unknown): error is MillraceError =>
  error instanceof MillraceError && error.code === 'routers-not-stopped';

async function changeOverOnce(moving: Moving): Promise<number> {
  const { map, silentMs, record } = moving;
  const mapping = await mappingNow(moving);
  const options: HoldOptions = { withinMs: silentMs, work: record.now.id };
  const announced = await map.announce(mapping, options);
  try {
    // Nothing waits yet, and so little is left for the pause.
    for (const of of moving.containers) await copyOn(moving, of, 'near');
    return await whileHeld(moving, mapping, options);
  } finally {
    await announced.open();
  }
}

async function whileHeld(moving: Moving, mapping: Mapping, options: HoldOptions): Promise<number> {
  const { map, to, clock, silentMs, record, containers } = moving;
  const began = clock.monotonic();
  const held = await map.hold(mapping, options);
  const endOrThrow = deadline(clock, began, record.now.keys);
  let offline: Mapping | undefined;
  try {
    await mapSettled(containers, (of) => copyOn(moving, of, { endOrThrow, once: true }), SIDE_BY_SIDE);
    await assertSame(moving);
    endOrThrow();
    // Another process may have sent its writes after routers opened by themselves. From here on the shard's gate admits
    // none of these keys, so what is copied now is all.
    offline = await map.updateMapping(mapping, { status: 'offline' }, ownerOptions(moving));
    await map.untilStopped(offline, { withinMs: silentMs });
    const changes = await mapSettled(containers, (of) => copyOn(moving, of, { endOrThrow }), SIDE_BY_SIDE);
    if (changes.some((count) => count > 0)) await assertSame(moving);
    await record.save();
    endOrThrow();
    await map.updateMapping(offline, { status: 'online', shard: to.shard }, ownerOptions(moving));
    offline = undefined;
    return Math.round(clock.monotonic() - began);
  } finally {
    if (offline) await back(moving, offline);
    await held.open();
  }
}

/** The keys stay where they were. */
async function back(moving: Moving, offline: Mapping): Promise<void> {
  // If another process has changed the mapping meanwhile, or this one can't reach the map, the next one does it.
  await moving.map.updateMapping(offline, { status: 'online' }, ownerOptions(moving)).catch(() => undefined);
}

const deadline = (clock: Clock, began: number, keys: string) => (): void => {
  if (clock.monotonic() - began > DECIDE_MS)
    throw shardVerbsError('move-too-slow', `The change-over of ${keys} took more than ${DECIDE_MS / 1_000} s`);
};

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
