import type { Container, Item } from '@azure/cosmos';
import { UsageError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { withRetry } from '../../cosmos/retry.ts';

/** What a lease container is partitioned by; .NET takes these three and no other. */
export type LeaseKey = '/id' | '/partitionKey' | 'none';

/** What tells a document of a lease container: by its id alone where the key is `/id`. */
export interface LeaseId {
  readonly id: string;
  readonly partitionKey?: unknown;
}

/** The container of leases as it is defined: how its documents are reached, whatever its key. */
export class LeaseContainer {
  readonly container: Container;
  readonly key: LeaseKey;
  /** False: `.lock` documents never expire by themselves. */
  readonly ttl: boolean;

  private constructor(container: Container, key: LeaseKey, ttl: boolean) {
    this.container = container;
    this.key = key;
    this.ttl = ttl;
  }

  /** @throws UsageError `lease-container-missing`, `lease-container-denied`, `lease-container-key` */
  static async open(container: Container): Promise<LeaseContainer> {
    const { resource } = await withRetry(() => container.read(), { reads: true }).catch((error: unknown) => {
      throw explainLeases(error, container);
    });
    const paths = resource?.partitionKey?.paths ?? [];
    const systemKey = (resource?.partitionKey as { systemKey?: boolean } | undefined)?.systemKey === true;
    const key = keyOfPaths(paths, systemKey);
    if (key === undefined) {
      throw new UsageError(
        'lease-container-key',
        `The lease container ${container.id} has the partition key ${paths.join(', ')}`,
        {
          mend: 'Leases need a container with the partition key /id (or /partitionKey): create one by `millrace model apply`, or name another in LEASES_CONTAINER.',
        },
      );
    }
    return new LeaseContainer(container, key, resource?.defaultTtl !== undefined && resource.defaultTtl !== null);
  }

  item(document: LeaseId): Item {
    return this.container.item(document.id, this.#valueOf(document));
  }

  /** A document to be created, with the partition key that this container wants: the id, as .NET has it since 2026. */
  stamped<T extends LeaseId>(document: T): T {
    return this.key === '/partitionKey' && document.partitionKey === undefined
      ? { ...document, partitionKey: document.id }
      : document;
  }

  /** The documents whose id begins with `start`, of all partition keys, as they are stored. */
  async query(start: string): Promise<Record<string, unknown>[]> {
    const query = {
      query: 'SELECT * FROM c WHERE STARTSWITH(c.id, @start)',
      parameters: [{ name: '@start', value: start }],
    };
    const { resources } = await withRetry(() => this.container.items.query<unknown>(query).fetchAll(), {
      reads: true,
    }).catch((error: unknown) => {
      throw explainLeases(error, this.container);
    });
    return resources.filter(isObject);
  }

  #valueOf({ id, partitionKey }: LeaseId): string | undefined {
    if (this.key === 'none') return undefined;
    // Older .NET gave each lease a random one; markers and locks have their id.
    return this.key === '/partitionKey' && typeof partitionKey === 'string' ? partitionKey : id;
  }
}

function keyOfPaths(paths: readonly string[], systemKey: boolean): LeaseKey | undefined {
  const [path, ...more] = paths;
  if (path === undefined || systemKey) return 'none';
  if (more.length > 0) return undefined;
  return path === '/id' || path === '/partitionKey' ? path : undefined;
}

/** What is wrong with the lease container is the operator's to mend; everything else is passed on. */
export function explainLeases(error: unknown, container: Container): unknown {
  const { kind, message } = failureOf(error);
  if (kind === 'not-found') {
    return new UsageError('lease-container-missing', `The lease container ${container.id} does not exist`, {
      cause: error,
      mend: 'Create it with `millrace model apply`, or name another in LEASES_CONTAINER.',
    });
  }
  if (kind !== 'denied') return error;
  return new UsageError(
    'lease-container-denied',
    `The lease container ${container.id} refused us: ${message.split('\n')[0]}`,
    {
      cause: error,
      mend: 'Give the identity the role "Cosmos DB Built-in Data Contributor" on it, or name another in LEASES_CONTAINER.',
    },
  );
}
