import { z } from 'zod';
import { withRetry } from '../../cosmos/retry.ts';
import { typeRules } from '../../definition/discriminator.ts';
import type { EmbedSpec, ProjectionSpec, SourceRules } from '../../definition/specs.ts';
import { sourcesOf } from '../../definition/pipeline.ts';
import { throwMissing } from '../../cosmos/container-missing.ts';
import type { Services } from '../../runtime/workspace.ts';

/** Of reading one document by a query or the feed. */
export const RU_A_READ = 0.1;
/** Of reading a change and writing what is derived from it anew, by docs/benchmarks.md (B2 to B4), rounded up. */
export const RU_A_DOCUMENT: Readonly<Record<(ProjectionSpec | EmbedSpec)['kind'], number>> = {
  copy: 15,
  aggregate: 16,
  reference: 15,
  embed: 25,
};

export const rateInput = {
  ruPerSecond: z.number().positive().optional().describe('most request units a second (default: no bound)'),
};

/** Documents of the sources as the service counts them, and what reading and writing each once would take. */
export async function estimate(
  spec: ProjectionSpec | EmbedSpec,
  { database }: Services,
  rules: readonly SourceRules[],
): Promise<{ documents: number; ru: number }> {
  let documents = 0;
  for (const of of sourcesOf(spec)) {
    const { discriminator = 'type' } = typeRules(rules, of);
    // What a function tells apart the service can't: all of the container then.
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
