import type { Key } from '../../feed/change.ts';
import type { SinkSession } from '../../sinks/session.ts';
import { type Values, extreme } from './measures.ts';

/** One contribution of a batch, before and after; null: nothing. */
export interface Replaced {
  readonly id: string;
  readonly before: Values | null;
  readonly after: Values | null;
}

export interface Contributions {
  readonly container: string;
  readonly key: Key;
  readonly aggregateId: string;
  readonly projection: string;
}

/**
 * The extreme of a group after a batch (R6). Only where the standing extreme is taken back and nothing added reaches it
 * are the other contributions asked; the caller has read the aggregate's ETag before, so its condition makes sure that
 * what the query saw is still so.
 */
export async function mergeExtremes(
  kind: 'min' | 'max',
  field: string,
  standing: number | null,
  replaced: readonly Replaced[],
  from: Contributions,
  sink: SinkSession,
): Promise<number | null> {
  const added = replaced.flatMap(({ after }) => after?.m[field] ?? []);
  const removed = replaced.flatMap(({ before }) => before?.m[field] ?? []);
  const candidates = standing === null ? added : [...added, standing];
  if (standing === null || !removed.includes(standing)) return candidates.length > 0 ? extreme(kind, candidates) : null;
  // Something at least as extreme came in with the same batch: the others can't matter.
  if (added.length > 0 && extreme(kind, candidates) === extreme(kind, added)) return extreme(kind, added);
  const others = await bestOfOthers(kind, field, replaced, from, sink);
  return [...added, ...others].length > 0 ? extreme(kind, [...added, ...others]) : null;
}

/** Enough of the best stored contributions that at least one of them is not in the batch, if there is such a one. */
async function bestOfOthers(
  kind: 'min' | 'max',
  field: string,
  replaced: readonly Replaced[],
  { container, key, aggregateId, projection }: Contributions,
  sink: SinkSession,
): Promise<number[]> {
  const value = `c["values"].m[${JSON.stringify(field)}]`;
  const sql =
    `SELECT TOP ${replaced.length + 1} c.id, ${value} AS v FROM c ` +
    `WHERE c.type = 'millrace.contribution' AND c["by"] = @by AND c["of"] = @of AND IS_NUMBER(${value}) ` +
    `ORDER BY ${value} ${kind === 'min' ? 'ASC' : 'DESC'}`;
  const found = await sink.query<{ id: string; v: number }>(container, sql, { by: projection, of: aggregateId }, key);
  const inBatch = new Set(replaced.map(({ id }) => id));
  return found.filter(({ id }) => !inBatch.has(id)).map(({ v }) => v);
}
