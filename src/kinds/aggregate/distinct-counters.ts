import { digest } from '../../base/json.ts';
import { formatOf } from '../../base/format.ts';
import type { Write } from '../../access/document-access.ts';
import { keyFields } from '../sink-container.ts';
import type { Fold } from './query-contributions.ts';
import type { Values } from './contribution-values.ts';

/** Counts the contributions of a group that have a value. It is stored beside the aggregate, and deleted at 0. */
interface ValueDocument {
  readonly id: string;
  readonly type: 'millrace.value';
  readonly by: string;
  readonly of: string;
  readonly field: string;
  readonly value: string;
  readonly holders: number;
}

/**
 * The number of different values after a batch, with the conditional writes of the counters. Undefined: a read returned
 * an older state than the contributions show, so everything must be read again.
 */
export async function countDistinct(
  field: string,
  fold: Fold,
): Promise<{ readonly count: number; readonly writes: readonly Write[] } | undefined> {
  const changed = holdersGained(field, fold);
  const ids = [...changed.keys()].map((value) => valueId(field, value, fold));
  const stored = ids.length > 0 ? await fold.access.read(fold.sink.name, fold.key, ids) : [];
  const writes: Write[] = [];
  let count = Number(fold.aggregate?.[field] ?? 0);
  for (const [index, [value, gained]] of [...changed].entries()) {
    const id = ids[index] ?? '';
    const found = stored[index];
    const before = Number(found?.['holders'] ?? 0);
    const holders = before + gained;
    if (holders < 0 || (holders === 0 && !found)) return undefined;
    count += Number(holders > 0) - Number(before > 0);
    const body = {
      ...keyFields(fold.sink, fold.key),
      id,
      type: 'millrace.value',
      ...formatOf('value'),
      by: fold.projection,
      of: fold.aggregateId,
      field,
      value,
      holders,
    } satisfies ValueDocument & Record<string, unknown>;
    if (!found) writes.push({ op: 'create', id, body });
    else if (holders === 0) writes.push({ op: 'delete', id, ifMatch: found._etag });
    else writes.push({ op: 'replace', id, body, ifMatch: found._etag });
  }
  return { count, writes };
}

const valueId = (field: string, value: string, { projection, aggregateId }: Fold): string =>
  `millrace.v.${digest([projection, aggregateId, field, value])}`;

/** For each value, the contributions that gained it less those that lost it; without values where that is 0. */
function holdersGained(field: string, { replaced }: Fold): Map<string, number> {
  const gained = new Map<string, number>();
  const add = (values: Values | null, by: number): void => {
    for (const value of (values?.m[field] as readonly string[] | undefined) ?? [])
      gained.set(value, (gained.get(value) ?? 0) + by);
  };
  for (const { before, after } of replaced) {
    add(before, -1);
    add(after, 1);
  }
  return new Map([...gained].filter(([, by]) => by !== 0));
}
