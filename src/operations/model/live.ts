// What a live account says of itself: containers as they are defined, and samples of their documents.
import type { Container } from '@azure/cosmos';
import { UsageError } from '../../base/errors.ts';
import { ownFields } from '../../definition/oracle/recompute.ts';
import type { ContainerDefinition } from '../../model/apply.ts';
import type { Doc } from '../../model/drift.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { failureOf } from '../../cosmos/failure.ts';
import type { Services } from '../../runtime/workspace.ts';
import { readDefinition } from './apply.ts';

/** The database's containers by name, Millrace's own left out. */
export async function liveContainers(
  { database, leaseDatabase, leases, state }: Services,
  signal: AbortSignal,
): Promise<ContainerDefinition[]> {
  const own = new Set([state.id, ...(leaseDatabase === database ? [leases.id] : [])]);
  const definitions: ContainerDefinition[] = [];
  for (const { id } of await namesIn(database)) {
    signal.throwIfAborted();
    if (own.has(id)) continue;
    const definition = await readDefinition(database.container(id), true);
    if (definition) definitions.push(definition);
  }
  return definitions.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

async function namesIn(database: Services['database']): Promise<readonly { readonly id: string }[]> {
  try {
    return (await database.containers.readAll().fetchAll()).resources;
  } catch (cause) {
    // There is no container to be named: the database itself isn't there.
    if (failureOf(cause).kind !== 'not-found') throw cause;
    throw new UsageError('database-missing', `There is no database ${database.id}`, {
      cause,
      mend: 'Name it by the setting COSMOS_DATABASE.',
    });
  }
}

/**
 * The newest documents of a container, and of each of `types`, as applications see them. Where nothing is indexed there
 * is no order to be asked for: then it is any of them.
 */
export async function sample(
  container: Container,
  definition: Pick<ContainerDefinition, 'indexingPolicy'>,
  { count, types, signal }: { readonly count: number; readonly types: readonly string[]; readonly signal: AbortSignal },
): Promise<Doc[]> {
  const newest = definition.indexingPolicy?.indexingMode === 'none' ? '' : ' ORDER BY c._ts DESC';
  const documents = new Map<unknown, Doc>();
  const take = async (where: string, type: string): Promise<void> => {
    const query = {
      query: `SELECT TOP ${count} * FROM c${where}${newest}`,
      parameters: [{ name: '@type', value: type }],
    };
    for await (const doc of fetchAll<Doc>(container, query, signal)) {
      if (typeof doc['type'] === 'string' && doc['type'].startsWith('millrace.')) continue;
      documents.set(doc['_rid'], ownFields(doc));
    }
  };
  await take(` WHERE NOT IS_DEFINED(c.type) OR NOT STARTSWITH(c.type, 'millrace.')`, '');
  for (const type of types) await take(' WHERE c.type = @type', type);
  return [...documents.values()];
}
