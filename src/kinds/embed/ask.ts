import { systemClock } from '../../base/clock.ts';
import { MillraceError } from '../../base/errors.ts';
import { mapSettled } from '../../base/map-settled.ts';
import type { Change } from '../../feed/reading/change.ts';
import type { SinkDocument, DocumentAccess } from '../../access/document-access.ts';
import { untilDone } from '../../access/change.ts';
import { type Refusal, evaluate } from '../runner.ts';
import { attemptChild, childWrite, commitChild } from './children.ts';
import type { EmbedTarget } from './embed-fan-out.ts';
import { type ParentState, fieldsDue, matchesOf } from './fields.ts';

/**
 * Looks up the parents of children that changed. This corrects children that were created meanwhile, that have another
 * parent now, or that were written back in an old form. A state may be read too old: if a child was written less than
 * 2 × the read lag after the state, the state's own pass finds it; a child that was written later reads that state.
 */
export async function askParents(
  target: EmbedTarget,
  changes: readonly Change[],
  access: DocumentAccess,
): Promise<Refusal[]> {
  const { spec, parents, states } = target;
  const named = evaluate(changes, (change) => ({ change, matches: matchesOf(spec, parents, change.doc ?? {}) }));
  const wanted = new Map(named.flatMap(({ matches }) => matches.map(({ ref, parent }) => [ref, parent] as const)));
  const known = new Map<string, ParentState>();
  await mapSettled(
    wanted,
    async ([ref, parent]) => {
      const stored = await states.read(parent, access);
      if (stored) known.set(ref, stored.state);
    },
    { concurrency: 128 },
  );
  const refusals: Refusal[] = [];
  await mapSettled(
    named,
    async ({ change, matches }) => {
      const due = attemptChild(() => fieldsDue(spec, matches, known, change.doc ?? {}, undefined));
      const error = due instanceof MillraceError ? due : await heal(target, change, due, known, access);
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
  access: DocumentAccess,
): Promise<MillraceError | undefined> {
  if (Object.keys(due).length === 0) return undefined;
  let refused: MillraceError | undefined;
  await untilDone(`Child ${change.id}`, async () => {
    const raw = await storedAs(change, target.readLagMs, access);
    const write = raw && attemptChild(() => childWrite(target, raw, known));
    if (!write) return true;
    const result = write instanceof MillraceError ? write : await commitChild(target, write, access);
    if (result instanceof MillraceError) refused = result;
    return result !== 'conflict';
  });
  return refused;
}

/**
 * The stored child, if it is still the version that changed; a newer version has a change of its own. A read may be older
 * than the change (ASM-A3), so another version counts only when the replicas must have caught up.
 */
async function storedAs(change: Change, readLagMs: number, access: DocumentAccess): Promise<SinkDocument | undefined> {
  const settledAt = systemClock.monotonic() + readLagMs;
  for (let pause = 5; ; pause *= 2) {
    // An answer may take long: its age counts from the request.
    const askedAt = systemClock.monotonic();
    const [found] = await access.read(change.container, change.key, [change.id]);
    if (found?._etag === change.version.etag) return found;
    if (askedAt >= settledAt || (found && Number(found['_ts']) * 1000 > change.at)) return undefined;
    await systemClock.sleep(Math.min(pause, Math.max(1, settledAt - systemClock.monotonic())));
  }
}
