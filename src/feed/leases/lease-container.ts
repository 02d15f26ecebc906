import type { Container, ContainerDefinition, Item } from '@azure/cosmos';
import { shared } from '../../base/shared.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { feedError } from '../errors.ts';
import { LeaseQueries } from './lease-queries.ts';

/** A lease container's partition key; .NET takes these three and no other. */
export type LeaseKey = '/id' | '/partitionKey' | 'none';

/** Identifies a document of a lease container; with the key `/id` the id is enough. */
export interface LeaseId {
  readonly id: string;
  readonly partitionKey?: unknown;
}

/** The feeds of a place open the same container at the same time. */
const underWay = new WeakMap<Container, Promise<LeaseContainer>>();

/** A lease container, and how its documents are reached, whatever its key. */
export class LeaseContainer {
  readonly container: Container;
  readonly key: LeaseKey;
  /** False: the service never deletes `.lock` documents. */
  readonly ttl: boolean;

  private constructor(container: Container, key: LeaseKey, ttl: boolean) {
    this.container = container;
    this.key = key;
    this.ttl = ttl;
  }

  /** @throws UsageError `lease-container-missing`, `lease-container-denied`, `lease-container-key` */
  static open(container: Container): Promise<LeaseContainer> {
    return shared(underWay, container, () => LeaseContainer.#open(container));
  }

  static async #open(container: Container): Promise<LeaseContainer> {
    const { resource } = await withRetry(() => container.read(), { reads: true }).catch((error: unknown) => {
      throw explainLeases(error, container);
    });
    return LeaseContainer.of(container, resource);
  }

  /** The same for a container whose definition was read already. @throws UsageError `lease-container-key` */
  static of(container: Container, resource: ContainerDefinition | undefined): LeaseContainer {
    const paths = resource?.partitionKey?.paths ?? [];
    const systemKey = (resource?.partitionKey as { systemKey?: boolean } | undefined)?.systemKey === true;
    const key = keyOfPaths(paths, systemKey);
    if (key === undefined) {
      throw feedError(
        'lease-container-key',
        `The lease container ${container.id} has the partition key ${paths.join(', ')}`,
        {
          hint: 'Use a container with the partition key /id or /partitionKey; `ensureLeaseContainer` creates one.',
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

  /** The documents whose id begins with `start`, of all partition keys, as they are stored. Several of a process go together. */
  async query(start: string): Promise<Record<string, unknown>[]> {
    return LeaseQueries.of(this.container)
      .ask(start)
      .catch((error: unknown) => {
        throw explainLeases(error, this.container);
      });
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

/** An error that the operator can fix, as a message; any other error as it is. */
export function explainLeases(error: unknown, container: Container): unknown {
  const { kind, message } = failureOf(error);
  if (kind === 'not-found') {
    return feedError('lease-container-missing', `The lease container ${container.id} does not exist`, {
      cause: error,
      hint: 'Create it with `ensureLeaseContainer`, or correct its name.',
    });
  }
  if (kind !== 'denied') return error;
  return feedError(
    'lease-container-denied',
    `This identity may not use the lease container ${container.id}: ${message.split('\n')[0]}`,
    {
      cause: error,
      hint: 'Give the identity the role "Cosmos DB Built-in Data Contributor" on it.',
    },
  );
}
