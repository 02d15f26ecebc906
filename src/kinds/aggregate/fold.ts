import { MillraceError } from '../../base/errors.ts';
import { canonical, isObject } from '../../base/json.ts';
import { mapSettled } from '../../base/map-settled.ts';
import type { AggregateSpec } from '../../pipeline/specs.ts';
import type { Change } from '../../feed/reading/change.ts';
import { MAX_BATCH, type SinkDocument, type DocumentAccess, type Write } from '../../access/document-access.ts';
import { chunksOf } from '../chunks.ts';
import { untilDone } from '../../access/change.ts';
import type { Guess } from '../create-first.ts';
import type { SinkPlace } from '../locator.ts';
import { Poison } from '../runner.ts';
import type { SinkContainer } from '../sink-container.ts';
import { standing } from '../standing.ts';
import { type ContributionDocument, contributionDocument, contributionId } from './contribution.ts';
import type { Values } from './contribution-values.ts';
import { nextAggregate } from './next.ts';
import type { Own, Replaced } from './query-contributions.ts';
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

/** The items of one group that go into one batch. */
export interface GroupItems {
  readonly group: AggregateGroup;
  readonly items: readonly Item[];
}

/** What a batch has room for beside the contributions of a group, bytes. */
const AGGREGATE_BYTES = 20_000;

/**
 * Applies items to their groups (AGG-G1, AGG-G2): reads the aggregates, then the contributions, computes the differences,
 * and writes both in one transactional batch in which *every* write is conditional. Small groups of one key share a batch,
 * because a request costs more than an operation (AGG-G7). After each batch an aggregate is the sum of its contributions,
 * so a crash between two batches does no harm.
 */
export async function foldGroups(
  target: FoldTarget,
  groups: readonly GroupItems[],
  sink: DocumentAccess,
): Promise<void> {
  const whole: GroupItems[] = [];
  /** Batches that come one after the other. */
  const series: GroupItems[][][] = [];
  for (const { group, items } of groups) {
    const chunks = chunksOf(items, bytesOf, { operations: 1, bytes: 5 * AGGREGATE_BYTES });
    if (chunks.length === 1) whole.push({ group, items });
    else series.push(chunks.map((chunk) => [{ group, items: chunk }]));
  }
  // A group that a document has left needs a read first, which the others may not need.
  const alike = Map.groupBy(whole, ({ group, items }) => `${items.every(isThere)} ${canonical(group.key)}`);
  for (const of of alike.values()) series.push(...sharedBatches(of).map((batch) => [batch]));
  await mapSettled(
    series,
    async (batches) => {
      for (const batch of batches) await foldBatch(target, batch, sink);
    },
    { concurrency: 128 },
  );
}

const bytesOf = ({ change, values }: Item): number => 800 + change.id.length * 2 + JSON.stringify(values).length;
const isThere = ({ values }: Item): boolean => values !== null;

const sharedBatches = (groups: readonly GroupItems[]): GroupItems[][] =>
  chunksOf(
    groups,
    ({ items }) => items.reduce((sum, item) => sum + bytesOf(item), AGGREGATE_BYTES),
    undefined,
    ({ items }) => 1 + items.length,
  );

/**
 * Where groups share a batch that is refused, or meets other writers twice, each goes on by itself. The items of one group
 * are halved where they are too many for one batch, or where one of them is refused.
 */
async function foldBatch(target: FoldTarget, batch: readonly GroupItems[], sink: DocumentAccess): Promise<void> {
  const isBlind = target.guess.absent && batch.every((one) => one.items.every(isThere));
  const [{ group, items } = never(), ...others] = batch;
  if (others.length > 0) {
    let result = await foldOnce(target, batch, sink, isBlind);
    if (result === 'again') result = await foldOnce(target, batch, sink, false);
    if (result !== 'done') await mapSettled(batch, (one) => foldBatch(target, [one], sink), { concurrency: 16 });
    return;
  }
  let refused: MillraceError | undefined;
  await untilDone(`Aggregate ${group.id}`, async (first) => {
    const result = await foldOnce(target, batch, sink, first && isBlind);
    if (result instanceof MillraceError) refused = result;
    return result !== 'again';
  });
  if (!refused) return;
  if (items.length === 1) throw new Poison(items.map(({ change }) => ({ change, error: refused ?? never() })));
  const half = Math.ceil(items.length / 2);
  await foldBatch(target, [{ group, items: items.slice(0, half) }], sink);
  await foldBatch(target, [{ group, items: items.slice(half) }], sink);
}

/** `blind`: creates the contributions without a read before; the create fails where one exists. */
async function foldOnce(
  target: FoldTarget,
  batch: readonly GroupItems[],
  access: DocumentAccess,
  blind: boolean,
): Promise<'done' | 'again' | MillraceError> {
  const { projection, sink } = target;
  const [{ group: { key } } = never()] = batch;
  const ids = batch.flatMap(({ group, items }) => [
    group.id,
    ...(blind ? [] : items.map(({ change }) => contributionId(projection, group.id, change))),
  ]);
  const read = await access.read(sink.name, key, ids);
  const found = new Map(ids.map((id, index) => [id, read[index]]));
  const writes: Write[] = [];
  for (const one of batch) {
    const own = await writesOf(target, one, found, access, blind);
    if (!Array.isArray(own)) return own;
    writes.push(...own);
  }
  if (writes.length === 0) return 'done';
  if (writes.length > MAX_BATCH)
    return sharedError(
      'too-large',
      `Group ${batch[0]?.group.id} needs ${writes.length} writes; a transactional batch takes ${MAX_BATCH}`,
      { hint: 'Use fewer `distinct` measures in one aggregate, or count coarser values.' },
    );
  const result = await access.commit(sink.name, key, writes);
  if (result.kind === 'refused') return sharedError('sink-refused', result.why);
  return result.kind === 'done' ? 'done' : 'again';
}

/** The writes of one group: its aggregate and its contributions. None: no item is newer than its contribution. */
async function writesOf(
  target: FoldTarget,
  { group, items }: GroupItems,
  found: ReadonlyMap<string, SinkDocument | undefined>,
  access: DocumentAccess,
  blind: boolean,
): Promise<Write[] | 'again' | MillraceError> {
  const { spec, projection, guess, sink } = target;
  const aggregate = found.get(group.id);
  const own = aggregate ? ownPart(aggregate) : undefined;
  if (aggregate && own?.by !== projection) throw occupied(target, group, aggregate, items);

  const writes: Write[] = [];
  const replaced: Replaced[] = [];
  for (const { change, values } of items) {
    const body = contributionDocument(sink, projection, group, change, values);
    const stored = found.get(body.id) as (SinkDocument & ContributionDocument) | undefined;
    if (!blind) guess.learn(stored !== undefined);
    if (stored && (await standing(change, stored.version, access)) !== 'newer') continue;
    writes.push(
      stored ? { op: 'replace', id: body.id, body, ifMatch: stored._etag } : { op: 'create', id: body.id, body },
    );
    replaced.push({ id: body.id, before: stored?.values ?? null, after: values });
  }
  if (writes.length === 0) return writes;
  const fold = { projection, sink, key: group.key, aggregateId: group.id, aggregate, own, replaced, access };
  const next = await nextAggregate(spec, fold, { fields: group.fields, feeds: target.feeds }).catch(refusal);
  if (next === undefined) return 'again';
  return next instanceof MillraceError ? next : [...next, ...writes];
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
