import { MillraceError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { AggregateSpec } from '../../pipeline/specs.ts';
import type { Change } from '../../feed/reading/change.ts';
import { MAX_BATCH, type SinkDocument, type DocumentAccess, type Write } from '../../access/document-access.ts';
import { chunksOf } from '../chunks.ts';
import { untilDone } from '../conflict.ts';
import type { Guess } from '../create-first.ts';
import type { SinkPlace } from '../locator.ts';
import { Poison } from '../runner.ts';
import type { SinkContainer } from '../sink-container.ts';
import { standing } from '../stamp.ts';
import { type ContributionDocument, contributionDocument, contributionId } from './contribution.ts';
import type { Values } from './measures.ts';
import { nextAggregate } from './next.ts';
import type { Own, Replaced } from './step.ts';
import { projectionsError } from '../errors.ts';
import { sharedError } from '../../base/shared-errors.ts';

/** A change and the contribution of its document to the group; null: the document has left the group. */
export interface Item {
  readonly change: Change;
  readonly values: Values | null;
}

export interface AggregateGroup extends SinkPlace {
  /** The group's fields as `groupBy` returned them; undefined where documents only leave the group. */
  readonly fields: Readonly<Record<string, unknown>> | undefined;
}

export interface FoldTarget {
  readonly spec: AggregateSpec;
  readonly projection: string;
  readonly sink: SinkContainer;
  /** Whether contributions are likely to be new. */
  readonly guess: Guess;
  /** Whether other projections derive from the aggregate. */
  readonly feeds: boolean;
}

/**
 * Applies items to their group (AGG-G1, AGG-G2): reads the aggregate, then the contributions, computes the difference,
 * and writes both in one transactional batch in which *every* write is conditional. After each batch the aggregate is
 * the sum of its contributions, so a crash between two batches does no harm.
 */
export async function foldGroup(
  target: FoldTarget,
  group: AggregateGroup,
  items: readonly Item[],
  sink: DocumentAccess,
): Promise<void> {
  const bytesOf = ({ change, values }: Item): number => 800 + change.id.length * 2 + JSON.stringify(values).length;
  const chunks = chunksOf(items, bytesOf, { operations: 1, bytes: 100_000 });
  for (const chunk of chunks) await foldChunk(target, group, chunk, sink);
}

/** Halves the items where they are too many for one batch, or where one of them is refused. */
async function foldChunk(
  target: FoldTarget,
  group: AggregateGroup,
  items: readonly Item[],
  sink: DocumentAccess,
): Promise<void> {
  let refused: MillraceError | undefined;
  await untilDone(`Aggregate ${group.id}`, async (first) => {
    const blind = first && target.guess.absent && items.every(({ values }) => values !== null);
    const result = await foldOnce(target, group, items, sink, blind);
    if (result instanceof MillraceError) refused = result;
    return result !== 'again';
  });
  if (!refused) return;
  if (items.length === 1) throw new Poison(items.map(({ change }) => ({ change, error: refused ?? never() })));
  const half = Math.ceil(items.length / 2);
  await foldChunk(target, group, items.slice(0, half), sink);
  await foldChunk(target, group, items.slice(half), sink);
}

/** `blind`: creates the contributions without a read before; the create fails where one exists. */
async function foldOnce(
  target: FoldTarget,
  group: AggregateGroup,
  items: readonly Item[],
  access: DocumentAccess,
  blind: boolean,
): Promise<'done' | 'again' | MillraceError> {
  const { spec, projection, guess, sink } = target;
  const ids = items.map(({ change }) => contributionId(projection, group.id, change));
  const [aggregate, ...contributions] = await access.read(sink.name, group.key, [group.id, ...(blind ? [] : ids)]);
  if (!blind) for (const found of contributions) guess.learn(found !== undefined);
  const own = aggregate ? ownPart(aggregate) : undefined;
  if (aggregate && own?.by !== projection) throw occupied(target, group, aggregate, items);

  const writes: Write[] = [];
  const replaced: Replaced[] = [];
  for (const [index, { change, values }] of items.entries()) {
    const stored = contributions[index] as (SinkDocument & ContributionDocument) | undefined;
    if (stored && (await standing(change, stored.version, access)) !== 'newer') continue;
    const body = contributionDocument(sink, projection, group, change, values);
    writes.push(
      stored ? { op: 'replace', id: body.id, body, ifMatch: stored._etag } : { op: 'create', id: body.id, body },
    );
    replaced.push({ id: body.id, before: stored?.values ?? null, after: values });
  }
  if (writes.length === 0) return 'done';

  const fold = { projection, sink, key: group.key, aggregateId: group.id, aggregate, own, replaced, access };
  const next = await nextAggregate(spec, fold, { fields: group.fields, feeds: target.feeds }).catch(refusal);
  if (next === undefined) return 'again';
  if (next instanceof MillraceError) return next;
  const batch = [...next, ...writes];
  if (batch.length > MAX_BATCH)
    return sharedError(
      'too-large',
      `Group ${group.id} needs ${batch.length} writes; a transactional batch takes ${MAX_BATCH}`,
      { hint: 'Use fewer `distinct` measures in one aggregate, or count coarser values.' },
    );
  const result = await access.commit(sink.name, group.key, batch);
  if (result.kind === 'refused') return sharedError('sink-refused', result.why);
  return result.kind === 'done' ? 'done' : 'again';
}

function refusal(error: unknown): MillraceError {
  if (error instanceof MillraceError && error.code === 'sum-unsafe') return error;
  throw error;
}

function ownPart(aggregate: SinkDocument): Own | undefined {
  const own = aggregate['_mr'];
  return isObject(own) ? (own as unknown as Own) : undefined;
}

function occupied({ sink }: FoldTarget, group: AggregateGroup, found: SinkDocument, items: readonly Item[]): Poison {
  const error = projectionsError(
    'sink-occupied',
    `${sink.name} already has a document ${group.id} of type ${String(found['type'])} that this projection did not write`,
  );
  return new Poison(items.map(({ change }) => ({ change, error })));
}

function never(): never {
  throw new Error('A refusal without its error');
}
