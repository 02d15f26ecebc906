import { systemClock } from '../../base/clock.ts';
import { MillraceError } from '../../base/errors.ts';
import { mapSettled } from '../../base/map-settled.ts';
import type { Change } from '../../feed/reading/change.ts';
import type { SinkDocument, SinkSession } from '../../sinks/session.ts';
import { untilDone } from '../conflict.ts';
import { type Refusal, evaluate } from '../runner.ts';
import { attempt, childWrite, commitChild } from './children.ts';
import type { EmbedTarget } from './embed-fan-out.ts';
import { type ParentState, fieldsDue, matchesOf } from './fields.ts';

/**
 * Looks up the parents of children that changed: that heals those born meanwhile, moved, or written back as they were.
 * The states may be read too old: a child that is older than 2 × the read lag after a state was written is seen by the
 * state's own pass, and one that is younger reads it no older than that.
 */
export async function askParents(
  target: EmbedTarget,
  changes: readonly Change[],
  session: SinkSession,
): Promise<Refusal[]> {
  const { spec, parents, states } = target;
  const named = evaluate(changes, (change) => ({ change, matches: matchesOf(spec, parents, change.doc ?? {}) }));
  const wanted = new Map(named.flatMap(({ matches }) => matches.map(({ ref, parent }) => [ref, parent] as const)));
  const known = new Map<string, ParentState>();
  await mapSettled(
    wanted,
    async ([ref, parent]) => {
      const held = await states.read(parent, session);
      if (held) known.set(ref, held.state);
    },
    { concurrency: 128 },
  );
  const refusals: Refusal[] = [];
  await mapSettled(
    named,
    async ({ change, matches }) => {
      const due = attempt(() => fieldsDue(spec, matches, known, change.doc ?? {}, undefined));
      const error = due instanceof MillraceError ? due : await heal(target, change, due, known, session);
      if (error) refusals.push({ change, error });
    },
    { concurrency: 128 },
  );
  return refusals;
}

async function heal(
  target: EmbedTarget,
  change: Change,
  due: object,
  known: ReadonlyMap<string, ParentState>,
  session: SinkSession,
): Promise<MillraceError | undefined> {
  if (Object.keys(due).length === 0) return undefined;
  let refused: MillraceError | undefined;
  await untilDone(`Child ${change.id}`, async () => {
    const raw = await storedAs(change, target.readLagMs, session);
    const write = raw && attempt(() => childWrite(target, raw, known));
    if (!write) return true;
    const outcome = write instanceof MillraceError ? write : await commitChild(target, write, session);
    if (outcome instanceof MillraceError) refused = outcome;
    return outcome !== 'conflict';
  });
  return refused;
}

/**
 * The child as it is stored, if that is still the version that changed; a newer one has a change of its own. What is read
 * may be older than the change (A3), so anything else counts only once the replicas must have caught up.
 */
async function storedAs(change: Change, readLagMs: number, session: SinkSession): Promise<SinkDocument | undefined> {
  const settledAt = systemClock.monotonic() + readLagMs;
  for (let pause = 5; ; pause *= 2) {
    // An answer may be long under way: how old it can be goes by when it was asked for.
    const askedAt = systemClock.monotonic();
    const [found] = await session.read(change.container, change.key, [change.id]);
    if (found?._etag === change.version.etag) return found;
    if (askedAt >= settledAt || (found && Number(found['_ts']) * 1000 > change.at)) return undefined;
    await systemClock.sleep(Math.min(pause, Math.max(1, settledAt - systemClock.monotonic())));
  }
}
