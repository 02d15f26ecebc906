import { DeferredQueues } from '../../../src/engine/deferred/deferred.ts';
import { drainNext } from '../../../src/engine/deferred/drain.ts';
import type { DeferredStore, Stored, DeferredWrite } from '../../../src/engine/deferred/store.ts';
import type { FeedRange } from '../../../src/cosmos/ranges.ts';
import type { Change } from '../../../src/feed/reading/change.ts';
import type { Fence } from '../../../src/feed/tenure/fence.ts';
import type { OpenDeferred } from '../../../src/feed/tenure/deferred.ts';
import { type Container, changeOf, hashOf } from './feed.ts';
import { type Faults, type Process, remote } from './world.ts';

export interface SimDeferredOptions {
  readonly process: Process;
  readonly container: Container;
  readonly stored: SimQueues;
  readonly faults: Readonly<Faults>;
  /** Whether a tenant is over its share now. */
  readonly over: () => boolean;
  readonly apply: (changes: readonly Change[], fence: Fence) => Promise<void>;
  /** The lease of this range is about to be written. */
  readonly confirmed: (range: FeedRange) => void;
}

const tenantOf = ({ key }: Pick<Change, 'key'>): string => ((key[0] as string) < 'k5' ? 'flood' : 'quiet');

/** The real queues in the simulation: every request is on its way, may be lost, or never answered. */
export const simDeferred =
  ({ process, container, stored, faults, over, apply, confirmed }: SimDeferredOptions): OpenDeferred =>
  async ({ position, ...window }) => {
    const fenced = async <T>(effect: () => T): Promise<T> => {
      window.fence.assert();
      return remote(process, faults, effect);
    };
    const store: DeferredStore = {
      read: <T>(id: string) => fenced(() => stored.documents.get(id) as Stored<T> | undefined),
      commit: (writes) => fenced(() => stored.commit(writes)),
    };
    const confirmation = (): Promise<void> => {
      confirmed(window.range);
      return window.confirm();
    };
    const options = {
      ...window,
      store,
      hashOf: ([key]: Change['key']) => hashOf(key as string),
      confirm: confirmation,
    };
    const deferred = await DeferredQueues.open(options, position);
    return {
      get tenants() {
        return deferred.tenants;
      },
      divide: (changes) => {
        const parts = [...Map.groupBy(changes, tenantOf)].map(
          ([tenant, some]) => [tenant, some, deferred.holds(tenant) || over()] as const,
        );
        const left = new Set(parts.filter(([, , isOver]) => !isOver).map(([tenant]) => tenant));
        return {
          over: new Map(parts.filter(([, , isOver]) => isOver).map(([tenant, some]) => [tenant, some])),
          rest: changes.filter((change) => left.has(tenantOf(change))),
        };
      },
      defer: (tenant, changes) => deferred.defer(tenant, changes),
      drain: (tenant, upTo, fence) =>
        drainNext(deferred, tenant, upTo, {
          again: ({ id, version }) =>
            remote(process, faults, () => {
              const now = container.docs.get(id);
              return now?.lsn === version.lsn ? changeOf(now) : undefined;
            }),
          apply: (changes) => apply(changes, fence(process.clock.monotonic())),
        }),
    };
  };

/** The partition of the state container. */
export class SimQueues {
  readonly documents = new Map<string, Stored<object>>();
  #etags = 0;

  commit(writes: readonly DeferredWrite[]): boolean {
    const holds = writes.every((write) => {
      const there = this.documents.get(write.id);
      return write.kind === 'create' ? !there : there?.etag === write.ifMatch;
    });
    if (!holds) return false;
    for (const write of writes) {
      if (write.kind === 'remove') this.documents.delete(write.id);
      else this.documents.set(write.id, { body: structuredClone(write.body), etag: String((this.#etags += 1)) });
    }
    return true;
  }

  holds(id: string, lsn: number): boolean {
    return [...this.documents.values()].some(({ body }) => {
      const { items = [] } = body as { items?: readonly Pick<Change, 'id' | 'version'>[] };
      return items.some((item) => item.id === id && item.version.lsn === lsn);
    });
  }

  /** True: no queue is left. */
  get isEmpty(): boolean {
    return [...this.documents.keys()].every((id) => id === 'register');
  }
}
