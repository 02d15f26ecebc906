import { MillraceError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { AggregateSpec } from '../../definition/kinds.ts';
import type { Change } from '../../feed/change.ts';
import type { SinkDocument, SinkSession, Write } from '../../sinks/session.ts';
import { chunksOf } from '../chunks.ts';
import { untilDone } from '../conflict.ts';
import type { Guess } from '../guess.ts';
import type { Place } from '../locator.ts';
import { Poison } from '../runner.ts';
import type { SinkContainer } from '../sink-container.ts';
import { standing } from '../stamp.ts';
import { type ContributionDocument, contributionDocument, contributionId } from './contribution.ts';
import { type Replaced, mergeExtremes } from './extremes.ts';
import { type Values, isExtreme } from './measures.ts';

/** A change and what it adds to the group now; null: nothing any more. */
export interface Item {
  readonly change: Change;
  readonly values: Values | null;
}

export interface Group extends Place {
  /** The group's fields as `groupBy` gave them; absent while it is only being left. */
  readonly fields: Readonly<Record<string, unknown>> | undefined;
}

export interface FoldTarget {
  readonly spec: AggregateSpec;
  readonly projection: string;
  readonly sink: SinkContainer;
  /** Whether contributions are likely to be new. */
  readonly guess: Guess;
}

/** Millrace's own part of an aggregate document. */
interface Own {
  readonly by: string;
  /** Rows that contribute; at 0 the aggregate is removed. */
  readonly rows: number;
  /** Sums behind the averages. */
  readonly sums: Readonly<Record<string, number>>;
}

/**
 * Brings a group up to date with its items (R1 step 3, R2): reads the aggregate, then the contributions, computes the
 * difference, and writes both in one batch in which *every* document is conditional. After each batch the aggregate is
 * the sum of its contributions, so a crash between two batches harms nothing.
 */
export async function foldGroup(
  target: FoldTarget,
  group: Group,
  items: readonly Item[],
  sink: SinkSession,
): Promise<void> {
  const chunks = chunksOf(items, ({ change }) => 800 + change.id.length * 2, { operations: 1, bytes: 20_000 });
  for (const chunk of chunks) {
    await untilDone(`Aggregate ${group.id}`, (first) => {
      const blind = first && target.guess.absent && chunk.every(({ values }) => values !== null);
      return foldOnce(target, group, chunk, sink, blind);
    });
  }
}

/** `blind`: the contributions are taken to be new; their creation fails where they aren't. */
async function foldOnce(
  target: FoldTarget,
  group: Group,
  items: readonly Item[],
  sink: SinkSession,
  blind: boolean,
): Promise<boolean> {
  const { projection, guess } = target;
  const ids = items.map(({ change }) => contributionId(projection, group.id, change));
  const [aggregate, ...contributions] = await sink.read(target.sink.name, group.key, [group.id, ...(blind ? [] : ids)]);
  if (!blind) for (const found of contributions) guess.learn(found !== undefined);
  if (aggregate && ownPart(aggregate)?.by !== projection) throw occupied(target, group, aggregate, items);

  const writes: Write[] = [];
  const replaced: Replaced[] = [];
  for (const [index, { change, values }] of items.entries()) {
    const stored = contributions[index] as (SinkDocument & ContributionDocument) | undefined;
    if (stored && (await standing(change, stored.version, sink)) !== 'newer') continue;
    const body = contributionDocument(target.sink, projection, group, change, values);
    writes.push(
      stored ? { op: 'replace', id: body.id, body, ifMatch: stored._etag } : { op: 'create', id: body.id, body },
    );
    replaced.push({ id: body.id, before: stored?.values ?? null, after: values });
  }
  if (writes.length === 0) return true;

  const aggregateWrite = await nextAggregate(target, group, aggregate, replaced, sink);
  if (aggregateWrite) writes.unshift(aggregateWrite);
  const result = await sink.commit(target.sink.name, group.key, writes);
  if (result.kind === 'refused') {
    const error = new MillraceError('sink-refused', result.why);
    throw new Poison(items.map(({ change }) => ({ change, error })));
  }
  return result.kind === 'done';
}

/** The aggregate's new document from its old one and what changed; undefined where there is none before and after. */
async function nextAggregate(
  { spec, projection, sink: container }: FoldTarget,
  group: Group,
  aggregate: SinkDocument | undefined,
  replaced: readonly Replaced[],
  sink: SinkSession,
): Promise<Write | undefined> {
  const own = aggregate ? ownPart(aggregate) : undefined;
  const delta = (of: (values: Values) => number): number =>
    replaced.reduce((sum, { before, after }) => sum + (after ? of(after) : 0) - (before ? of(before) : 0), 0);
  const rows = (own?.rows ?? 0) + delta((values) => values.rows);
  if (rows === 0) return aggregate ? { op: 'delete', id: group.id, ifMatch: aggregate._etag } : undefined;

  const fields: Record<string, unknown> = {};
  const sums: Record<string, number> = {};
  for (const [field, measure] of Object.entries(spec.measures)) {
    const added = delta((values) => values.m[field] ?? 0);
    if (measure.kind === 'count') fields[field] = rows;
    else if (measure.kind === 'sum') fields[field] = Number(aggregate?.[field] ?? 0) + added;
    else if (measure.kind === 'avg') {
      sums[field] = (own?.sums[field] ?? 0) + added;
      fields[field] = sums[field] / rows;
    } else if (isExtreme(measure)) {
      const query = { container: container.name, key: group.key, aggregateId: group.id, projection };
      fields[field] = await mergeExtremes(measure.kind, field, numberOrNull(aggregate?.[field]), replaced, query, sink);
    }
  }
  const named = group.fields ?? groupFieldsOf(aggregate, spec);
  const body = {
    ...named,
    ...fields,
    id: group.id,
    type: spec.into.type,
    _mr: { by: projection, rows, sums } satisfies Own,
  };
  return aggregate
    ? { op: 'replace', id: group.id, body, ifMatch: aggregate._etag }
    : { op: 'create', id: group.id, body };
}

/** A group that is only left keeps the fields it has. */
function groupFieldsOf(aggregate: SinkDocument | undefined, spec: AggregateSpec): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(aggregate ?? {})) {
    if (!name.startsWith('_') && !(name in spec.measures)) fields[name] = value;
  }
  return fields;
}

function ownPart(aggregate: SinkDocument): Own | undefined {
  const own = aggregate['_mr'];
  return isObject(own) ? (own as unknown as Own) : undefined;
}

function occupied({ sink }: FoldTarget, group: Group, found: SinkDocument, items: readonly Item[]): Poison {
  const error = new MillraceError(
    'sink-occupied',
    `${sink.name} already has a document ${group.id} of type ${String(found['type'])} that this projection did not write`,
    { mend: 'Give the projection a type or a container of its own, or remove that document.' },
  );
  return new Poison(items.map(({ change }) => ({ change, error })));
}

const numberOrNull = (value: unknown): number | null => (typeof value === 'number' ? value : null);
