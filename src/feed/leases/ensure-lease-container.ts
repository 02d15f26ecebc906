import type { Container, ContainerDefinition, Database } from '@azure/cosmos';
import { sharedError } from '../../base/shared-errors.ts';
import { feedError } from '../errors.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { LeaseContainer } from './lease-container.ts';

export interface LeaseContainerOptions {
  /** RU/s of its own, 400 or more. Default: what the database shares, or the service's default. An existing container keeps its throughput. */
  readonly throughput?: number;
}

/**
 * Creates a lease container with the key `/id` and the default time to live −1 (on, nothing expires without its own), or
 * checks the one that exists. It may be called by several hosts at the same time. Creating needs a right that the data
 * roles of Entra ID don't include.
 * @throws UsageError `lease-container-key`, `container-unfit`, `lease-container-denied`, `missing`
 */
export async function ensureLeaseContainer(
  database: Database,
  id: string,
  { throughput }: LeaseContainerOptions = {},
): Promise<Container> {
  const container = database.container(id);
  const resource = (await definitionOf(container)) ?? (await create(container, throughput));
  LeaseContainer.of(container, resource);
  checkTimeToLive(id, resource?.defaultTtl);
  return container;
}

async function definitionOf(container: Container): Promise<ContainerDefinition | undefined> {
  try {
    return (await withRetry(() => container.read(), { reads: true })).resource;
  } catch (error) {
    if (failureOf(error).kind === 'not-found') return undefined;
    throw explain(error, container.database, container.id);
  }
}

async function create(container: Container, throughput: number | undefined): Promise<ContainerDefinition | undefined> {
  const { id, database } = container;
  const definition = { id, partitionKey: { paths: ['/id'] }, defaultTtl: -1, ...(throughput && { throughput }) };
  try {
    // Sent again after an unknown outcome: then it exists already.
    return (await withRetry(() => database.containers.create(definition), { reads: true })).resource;
  } catch (error) {
    // Another host was faster.
    if (failureOf(error).kind === 'conflict') return definitionOf(container);
    throw explain(error, database, id);
  }
}

/** Off, the service never deletes a lock; a time would delete leases that stay unchanged for so long, and their positions. */
function checkTimeToLive(id: string, ttl: number | null | undefined): void {
  if (ttl === -1) return;
  const what = ttl === undefined || ttl === null ? 'no default time to live' : `a default time to live of ${ttl} s`;
  throw sharedError('container-unfit', `The lease container ${id} has ${what}`, {
    hint: 'Set its default time to live to -1 (on, no default).',
  });
}

function explain(error: unknown, database: Database, id: string): unknown {
  const { kind, message } = failureOf(error);
  if (kind === 'not-found')
    return sharedError('missing', `There is no database ${database.id}`, {
      hint: 'Create the database, or correct its name.',
      cause: error,
    });
  if (kind !== 'denied') return error;
  const why = message.split('\n')[0] ?? '';
  return feedError('lease-container-denied', `This identity may not read or create the container ${id}: ${why}`, {
    cause: error,
    hint: 'Create it with your infrastructure: partition key /id, default time to live -1.',
  });
}
