// The containers of a live account, and samples of their documents.
import type { Container, Database } from '@azure/cosmos';
import { ownFields } from '../../pipeline/oracle/recompute.ts';
import type { ContainerDefinition } from '../../model/container-definitions.ts';
import type { AccountDoc } from '../../model/drift.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { failureOf } from '../../cosmos/failure.ts';
import type { Services } from '../../runtime/workspace.ts';
import { readDefinition } from './apply.ts';
import { sharedError } from '../../base/shared-errors.ts';

/** The database's containers in the order of their names, without Millrace's own. */
export async function liveContainers(
  { place: { database, state }, global: { leaseDatabase, leases } }: Services,
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

async function namesIn(database: Database): Promise<readonly { readonly id: string }[]> {
  try {
    return (await database.containers.readAll().fetchAll()).resources;
  } catch (cause) {
    // This request names no container, so 404 means that the database does not exist.
    if (failureOf(cause).kind !== 'not-found') throw cause;
    throw sharedError('missing', `There is no database ${database.id}`, {
      cause,
      hint: 'Name an existing database with the setting COSMOS_DATABASE.',
    });
  }
}

/**
 * The newest documents of a container, and of each of `types`, as applications see them. Without an index there is no
 * order, so it returns any documents.
 */
export async function sample(
  container: Container,
  definition: Pick<ContainerDefinition, 'indexingPolicy'>,
  { count, types, signal }: { readonly count: number; readonly types: readonly string[]; readonly signal: AbortSignal },
): Promise<AccountDoc[]> {
  const newest = definition.indexingPolicy?.indexingMode === 'none' ? '' : ' ORDER BY c._ts DESC';
  const documents = new Map<unknown, AccountDoc>();
  const take = async (where: string, type: string): Promise<void> => {
    const query = {
      query: `SELECT TOP ${count} * FROM c${where}${newest}`,
      parameters: [{ name: '@type', value: type }],
    };
    for await (const doc of fetchAll<AccountDoc>(container, query, signal)) {
      if (typeof doc['type'] === 'string' && doc['type'].startsWith('millrace.')) continue;
      documents.set(doc['_rid'], ownFields(doc));
    }
  };
  await take(` WHERE NOT IS_DEFINED(c.type) OR NOT STARTSWITH(c.type, 'millrace.')`, '');
  for (const type of types) await take(' WHERE c.type = @type', type);
  return [...documents.values()];
}
