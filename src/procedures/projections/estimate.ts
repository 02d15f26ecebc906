import { ruOfReplay } from '../../pipeline/kind-facts.ts';
import type { Container, Database } from '@azure/cosmos';
import { z } from 'zod';
import { withRetry } from '../../cosmos/retry.ts';
import { typeRules } from '../../pipeline/discriminator.ts';
import type { ReplayedSpec, SourceRef, SourceRules } from '../../pipeline/specs.ts';
import { sourcesOf } from '../../pipeline/pipeline.ts';
import { ENTRY } from '../../kinds/archive/entries.ts';
import { throwMissing } from '../../cosmos/container-missing.ts';
import type { Services } from '../../runtime/workspace.ts';

/** RU to read one document with a query or from the feed. */
export const RU_A_READ = 0.1;
/** What the record of an effect costs for a document that has none: a read and a write. */
export const RU_A_NOTE = 6.5;

export const rateInput = {
  ruPerSecond: z.number().positive().optional().describe('most request units a second to spend (default: no limit)'),
};

/** The number of source documents by the service's count, archived ones included, and the RU to read and write each of them once. */
export async function estimate(
  spec: ReplayedSpec,
  services: Pick<Services, 'place'>,
  rules: readonly SourceRules[],
  databases: (container: string) => readonly Database[] = () => [services.place.database],
): Promise<{ documents: number; ru: number }> {
  let documents = 0;
  for (const of of sourcesOf(spec))
    for (const database of databases(of.container))
      documents +=
        (await countDocuments(of, database, rules)) +
        (await countArchived(of, database.container(services.place.state.id)));
  return { documents, ru: documents * ruOfReplay(spec) };
}

/** The number of documents of a type that the archive has, by its entries in the state container. */
export async function countArchived({ container, type }: SourceRef, state: Container): Promise<number> {
  const query = {
    query: `SELECT VALUE COUNT(1) FROM c WHERE c.type = '${ENTRY}' AND c.state = 'archived' AND c.source.container = @container AND c.source.type = @type`,
    parameters: [
      { name: '@container', value: container },
      { name: '@type', value: type },
    ],
  };
  const { resources } = await withRetry(() => state.items.query<number>(query).fetchAll(), { reads: true }).catch(
    throwMissing(state),
  );
  return resources[0] ?? 0;
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
