import { z } from 'zod';
import { withRetry } from '../../cosmos/retry.ts';
import { typeRules } from '../../definition/discriminator.ts';
import type { ReplayedSpec, SourceRules } from '../../definition/specs.ts';
import { sourcesOf } from '../../definition/pipeline.ts';
import { throwMissing } from '../../cosmos/container-missing.ts';
import type { Services } from '../../runtime/workspace.ts';

/** RU to read one document with a query or from the feed. */
export const RU_A_READ = 0.1;
/**
 * RU to read a change and write what is derived from it, by docs/benchmarks.md (BENCH-B2 to BENCH-B4), rounded up. A custom
 * runner is taken for a copy. A send and a publish write outside of the account.
 */
export const RU_A_DOCUMENT: Readonly<Record<ReplayedSpec['kind'], number>> = {
  copy: 15,
  aggregate: 16,
  reference: 15,
  embed: 25,
  custom: 15,
  send: 1,
  publish: 1,
};

export const rateInput = {
  ruPerSecond: z.number().positive().optional().describe('most request units a second to spend (default: no limit)'),
};

/** The number of source documents by the service's count, and the RU to read and write each of them once. */
export async function estimate(
  spec: ReplayedSpec,
  { database }: Services,
  rules: readonly SourceRules[],
): Promise<{ documents: number; ru: number }> {
  let documents = 0;
  for (const of of sourcesOf(spec)) {
    const { discriminator = 'type' } = typeRules(rules, of);
    // The service can't evaluate a discriminator that is a function: count all documents of the container.
    const query =
      typeof discriminator === 'string'
        ? {
            query: `SELECT VALUE COUNT(1) FROM c WHERE c[${JSON.stringify(discriminator)}] = @type`,
            parameters: [{ name: '@type', value: of.type }],
          }
        : { query: 'SELECT VALUE COUNT(1) FROM c', parameters: [] };
    const container = database.container(of.container);
    const { resources } = await withRetry(() => container.items.query<number>(query).fetchAll(), { reads: true }).catch(
      throwMissing(container),
    );
    documents += resources[0] ?? 0;
  }
  return { documents, ru: documents * RU_A_DOCUMENT[spec.kind] };
}
