import type { Database } from '@azure/cosmos';
import { z } from 'zod';
import { withRetry } from '../../cosmos/retry.ts';
import { typeRules } from '../../pipeline/discriminator.ts';
import type { ReplayedSpec, SourceRef, SourceRules } from '../../pipeline/specs.ts';
import { sourcesOf } from '../../pipeline/pipeline.ts';
import { throwMissing } from '../../cosmos/container-missing.ts';
import type { Services } from '../../runtime/workspace.ts';

/** RU to read one document with a query or from the feed. */
export const RU_A_READ = 0.1;
/**
 * RU to read a change and write what is derived from it, by docs/benchmarks.md (BENCH-B2 to BENCH-B4), rounded up. A custom
 * runner is taken for a copy. A send, a table and a publish write outside of the account.
 */
export const RU_A_DOCUMENT: Readonly<Record<ReplayedSpec['kind'], number>> = {
  copy: 15,
  aggregate: 16,
  reference: 15,
  embed: 25,
  custom: 15,
  send: 1,
  table: 1,
  publish: 1,
};

export const rateInput = {
  ruPerSecond: z.number().positive().optional().describe('most request units a second to spend (default: no limit)'),
};

/** The number of source documents by the service's count, and the RU to read and write each of them once. */
export async function estimate(
  spec: ReplayedSpec,
  services: Pick<Services, 'place'>,
  rules: readonly SourceRules[],
  databases: (container: string) => readonly Database[] = () => [services.place.database],
): Promise<{ documents: number; ru: number }> {
  let documents = 0;
  for (const of of sourcesOf(spec))
    for (const database of databases(of.container)) documents += await countDocuments(of, database, rules);
  return { documents, ru: documents * RU_A_DOCUMENT[spec.kind] };
}

/** The number of documents of a type, by the service's count; with `before`, of those that were last written before. */
export async function countDocuments(
  of: SourceRef,
  database: Database,
  rules: readonly SourceRules[],
  before?: Date,
): Promise<number> {
  const { discriminator = 'type' } = typeRules(rules, of);
  // The service can't evaluate a discriminator that is a function: count all documents of the container.
  const typed = typeof discriminator === 'string';
  const conditions = [
    ...(typed ? [`c[${JSON.stringify(discriminator)}] = @type`] : []),
    ...(before ? ['c._ts < @before'] : []),
  ];
  const where = conditions.length > 0 ? ` WHERE ${conditions.join(' AND ')}` : '';
  const parameters = [
    ...(typed ? [{ name: '@type', value: of.type }] : []),
    ...(before ? [{ name: '@before', value: Math.floor(before.getTime() / 1_000) }] : []),
  ];
  const query = { query: `SELECT VALUE COUNT(1) FROM c${where}`, parameters };
  const container = database.container(of.container);
  const { resources } = await withRetry(() => container.items.query<number>(query).fetchAll(), { reads: true }).catch(
    throwMissing(container),
  );
  return resources[0] ?? 0;
}
