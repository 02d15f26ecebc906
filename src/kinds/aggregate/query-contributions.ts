import type { Key } from '../../feed/reading/change.ts';
import type { SinkDocument, DocumentAccess } from '../../access/document-access.ts';
import type { SinkContainer } from '../sink-container.ts';
import type { TopRow } from '../../pipeline/builders/measures.ts';
import type { Values } from './contribution-values.ts';

/** The values of one contribution of a batch, before and after; null: none. */
export interface Replaced {
  readonly id: string;
  readonly before: Values | null;
  readonly after: Values | null;
}

/** Millrace's own part of an aggregate document. */
export interface Own {
  readonly by: string;
  /** Rows that contribute. At 0 the aggregate is deleted, or kept as emptied where other projections derive from it. */
  readonly rows: number;
  /** Sums behind the averages. */
  readonly sums: Readonly<Record<string, number>>;
  /** The largest error of each sum, from rounding at every addition and subtraction; integers are exact. */
  readonly rounding?: Readonly<Record<string, number>>;
  /** Rows kept behind the tops, more than are shown. */
  readonly kept?: Readonly<Record<string, KeptMeasure>>;
}

export interface KeptMeasure {
  readonly rows: readonly KeptRow[];
  /** Whether every row of the group is among them. */
  readonly all: boolean;
}

/** `c`: the contribution's id. */
export interface KeptRow extends TopRow {
  readonly c: string;
}

/** One batch of one group: the input from which a measure is computed. */
export interface Fold {
  readonly projection: string;
  readonly sink: SinkContainer;
  readonly key: Key;
  readonly aggregateId: string;
  readonly aggregate: SinkDocument | undefined;
  readonly own: Own | undefined;
  readonly replaced: readonly Replaced[];
  readonly access: DocumentAccess;
}

/**
 * Queries the group's stored contributions that aren't in the batch, by a value in them. The caller must have read the
 * aggregate's ETag before: the condition of its write then holds only if the answer is still right (AGG-G5).
 */
export async function queryContributions<T extends { readonly id: string }>(
  { projection, sink, key, aggregateId, replaced, access }: Fold,
  query: {
    /** Below `values.m`. */
    readonly path: readonly string[];
    readonly select: (value: string) => string;
    readonly order?: 'ASC' | 'DESC';
    readonly atLeast?: number;
  },
): Promise<T[]> {
  const value = ['values', 'm', ...query.path].reduce((path, name) => `${path}[${JSON.stringify(name)}]`, 'c');
  const sql =
    `SELECT ${query.select(value)} FROM c ` +
    `WHERE c.type = 'millrace.contribution' AND c["by"] = @by AND c["of"] = @of ` +
    (query.atLeast === undefined ? `AND IS_DEFINED(${value})` : `AND ${value} >= @least`) +
    (query.order ? ` ORDER BY ${value} ${query.order}` : '');
  const parameters = {
    by: projection,
    of: aggregateId,
    ...(query.atLeast === undefined ? {} : { least: query.atLeast }),
  };
  const found = await access.query<T>(sink.name, sql, parameters, key);
  const inBatch = new Set(replaced.map(({ id }) => id));
  return found.filter(({ id }) => !inBatch.has(id));
}
