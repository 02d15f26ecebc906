import type { Container, Database } from '@azure/cosmos';
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
 * @throws UsageError `lease-container-key`, `lease-container-ttl`, `lease-container-denied`, `database-missing`
 */
export async function ensureLeaseContainer(
  database: Database,
  id: string,
  { throughput }: LeaseContainerOptions = {},
): Promise<Container> {
  const container = database.container(id);
  if (!(await exists(container))) {
    const definition = { id, partitionKey: { paths: ['/id'] }, defaultTtl: -1, ...(throughput && { throughput }) };
    // Sent again after an unknown outcome: then it exists already.
    await withRetry(() => database.containers.create(definition), { reads: true }).catch((error: unknown) => {
      if (failureOf(error).kind !== 'conflict') throw explain(error, database, id);
    });
  }
  await LeaseContainer.open(container);
  await checkTimeToLive(container);
  return container;
}

async function exists(container: Container): Promise<boolean> {
  try {
    await withRetry(() => container.read(), { reads: true });
    return true;
  } catch (error) {
    if (failureOf(error).kind === 'not-found') return false;
    throw explain(error, container.database, container.id);
  }
}

/** Off, the service never deletes a lock; a time would delete leases that stay unchanged for so long, and their positions. */
async function checkTimeToLive(container: Container): Promise<void> {
  const { resource } = await withRetry(() => container.read(), { reads: true });
  const ttl = resource?.defaultTtl ?? undefined;
  if (ttl === -1) return;
  const what = ttl === undefined ? 'no default time to live' : `a default time to live of ${ttl} s`;
  throw feedError('lease-container-ttl', `The lease container ${container.id} has ${what}`);
}

function explain(error: unknown, database: Database, id: string): unknown {
  const { kind, message } = failureOf(error);
  if (kind === 'not-found')
    return sharedError('database-missing', `There is no database ${database.id}`, { cause: error });
  if (kind !== 'denied') return error;
  const why = message.split('\n')[0] ?? '';
  return feedError('lease-container-denied', `This identity may not read or create the container ${id}: ${why}`, {
    cause: error,
    hint: 'Create it with your infrastructure: partition key /id, default time to live -1.',
  });
}
