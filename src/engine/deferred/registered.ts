// What is deferred of a source container, for those who are no tenure: they read and change nothing.
import type { Container } from '@azure/cosmos';
import { systemClock } from '../../base/clock.ts';
import type { FeedRange } from '../../cosmos/ranges.ts';
import { Meter } from '../../cosmos/budget/charge-meter.ts';
import type { Identity } from '../../feed/reading/change.ts';
import { type SourceContainer, tenantOfKey } from '../../feed/reading/mapper.ts';
import { untilStopped } from '../../feed/tenure/fences.ts';
import { CosmosDeferredStore } from './cosmos-store.ts';
import {
  type Bundle,
  type Head,
  type QueueEntry,
  REGISTER,
  type Register,
  type DeferredChange,
  bundleId,
  headId,
} from './documents.ts';
import { type Pace, paceOf } from './pace.ts';
import type { DeferredStore } from './store.ts';

/** What waits in one queue. */
export interface Waiting extends FeedRange {
  readonly tenant: string;
  /** Each has up to a hundred changes. */
  readonly bundles: number;
  /** When the oldest of them was written to its source, milliseconds since 1970. Absent: it was drained meanwhile. */
  readonly oldest?: number;
  readonly pace?: Pace;
}

export interface DeferredOf {
  readonly pipeline: string;
  /** The source container's name. */
  readonly source: string;
}

/** The queues of a source container, to be read. */
export function registeredOf(state: Container, of: DeferredOf, signal: AbortSignal): Registered {
  return new Registered(new CosmosDeferredStore(state, of, untilStopped(signal), new Meter()));
}

/**
 * Reads what is deferred, as it is now (ASM-A13). Who judges by stored positions reads these first: what a position has
 * passed is then applied, parked, or still in a queue that is read here (TEN-F4).
 */
export class Registered {
  readonly #store: Pick<DeferredStore, 'read'>;

  constructor(store: Pick<DeferredStore, 'read'>) {
    this.#store = store;
  }

  /** The queues that exist, the oldest first. One read. */
  async queues(): Promise<readonly QueueEntry[]> {
    return (await this.#store.read<Register>(REGISTER))?.body.queues ?? [];
  }

  /** The tenants that have a queue. */
  async tenants(): Promise<ReadonlySet<string>> {
    return new Set((await this.queues()).map(({ tenant }) => tenant));
  }

  /** The queues with what waits in them: two reads more for each. */
  async waiting(): Promise<Waiting[]> {
    const of = async ({ id, tenant, min, max }: QueueEntry): Promise<Waiting[]> => {
      const head = await this.#store.read<Head>(headId(id));
      if (!head) return [];
      const { first, next } = head.body;
      const oldest = (await this.#items(id, first))[0]?.at;
      const pace = paceOf(head.body, systemClock.now());
      const known = { ...(oldest !== undefined && { oldest }), ...(pace && { pace }) };
      return [{ tenant, min, max, bundles: next - first, ...known }];
    };
    return (await Promise.all((await this.queues()).map(of))).flat();
  }

  /** The changes that are deferred, bundle by bundle, those of a tenant and range in feed order. */
  async *changes(): AsyncGenerator<readonly DeferredChange[]> {
    for (const { id } of await this.queues()) {
      const head = await this.#store.read<Head>(headId(id));
      for (let number = head?.body.first ?? 0; number < (head?.body.next ?? 0); number++)
        yield await this.#items(id, number);
    }
  }

  async #items(queue: string, number: number): Promise<readonly DeferredChange[]> {
    return (await this.#store.read<Bundle>(bundleId(queue, number)))?.body.items ?? [];
  }
}

/** Whether a change of a document may be deferred, while these tenants have queues: also if its key names no tenant. */
export function mayWait(
  tenants: ReadonlySet<string>,
  source: Pick<SourceContainer, 'keyPaths' | 'tenant'>,
  { key }: Pick<Identity, 'key'>,
): boolean {
  if (tenants.size === 0) return false;
  const tenant = tenantOfKey(source, key);
  return tenant === undefined || tenants.has(tenant);
}
