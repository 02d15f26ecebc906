import { digest } from '../../base/json.ts';
import type { Write } from '../../sinks/session.ts';
import { keyFields } from '../sink-container.ts';
import type { Fold } from './step.ts';
import type { Values } from './measures.ts';

/** How many contributions of a group hold a value; lies beside the aggregate, gone once none does. */
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
 * The number of different values after a batch, with the writes that count who holds each, on the ETags they were
 * decided on; undefined where a read was behind what the contributions say, so that all is to be read again.
 */
export async function countDistinct(
  field: string,
  fold: Fold,
): Promise<{ readonly count: number; readonly writes: readonly Write[] } | undefined> {
  const changed = holdersGained(field, fold);
  const ids = [...changed.keys()].map((value) => valueId(field, value, fold));
  const stored = ids.length > 0 ? await fold.session.read(fold.sink.name, fold.key, ids) : [];
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

/** By value: contributions that hold it now less those that did; values that come out even are left alone. */
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
