import type { Container, Database } from '@azure/cosmos';
import type { Meter } from '../cosmos/budget/charge-meter.ts';
import { spendingOf } from '../cosmos/budget/meter.ts';
import type { Change, Key } from '../feed/reading/change.ts';
import type { OpenDeferred } from '../feed/tenure/deferred.ts';
import { CosmosAccess } from '../access/cosmos-access.ts';
import type { Engine } from './engine.ts';
import { type ReadAgainOptions, readAgain } from './read-again.ts';
import { DeferredQueues } from './deferred/deferred.ts';
import { CosmosDeferredStore } from './deferred/cosmos-store.ts';
import { drainNext } from './deferred/drain.ts';
import { overShare } from './deferred/over-share.ts';

export interface OpenDeferredOptions extends Pick<ReadAgainOptions, 'sources' | 'cold' | 'readLagMs'> {
  readonly pipeline: string;
  /** The source container's name. It must be read by its latest-version feed. */
  readonly source: string;
  /** Of the source. */
  readonly database: Database;
  readonly state: Container;
  /** The effective partition key of a full key of the source. */
  readonly hashOf: (key: Key) => string;
  readonly engine: Pick<Engine, 'consume' | 'erased'>;
  readonly meter: Meter;
  /** True: defers no tenant that isn't yet. What hosts of an earlier declaration have deferred is drained all the same. */
  readonly drainsOnly?: boolean;
}

/** Defers changes of one source container, for the windows of its ranges, and drains them through the engine. */
export function openDeferred(options: OpenDeferredOptions): OpenDeferred {
  const { database, state, hashOf, engine, meter, drainsOnly = false } = options;
  return async ({ position, fence, ...window }) => {
    const store = new CosmosDeferredStore(state, options, fence, meter);
    const deferred = await DeferredQueues.open({ ...window, store, hashOf }, position);
    return {
      get tenants() {
        return deferred.tenants;
      },
      divide: (changes, held, most) => {
        const coming = Map.groupBy(changes, tenantOf);
        const full = new Set(drainsOnly ? [] : overShare(together(held, coming), most));
        const over = new Map<string, readonly Change[]>();
        for (const [tenant, some] of coming) {
          if (tenant === undefined || !(deferred.holds(tenant) || full.has(tenant))) continue;
          over.set(tenant, some);
          coming.delete(tenant);
        }
        return { over, rest: changes.filter((change) => coming.has(tenantOf(change))) };
      },
      defer: async (tenant, changes) => {
        // What an erased tenant writes is dropped, and a bundle would have its name again.
        const erased = await engine.erased();
        if (!erased(tenant)) await deferred.defer(tenant, changes);
      },
      drain: (tenant, upTo, fenceOf) => {
        const access = new CosmosAccess(database, fence, meter, spendingOf(database, 'live', tenant));
        return drainNext(deferred, tenant, upTo, {
          again: (item) => readAgain(item, { ...options, access, signal: fence.signal }),
          apply: async (changes, readAt) =>
            void (await engine.consume({ changes, charge: 0, readAt }, fenceOf(readAt))),
        });
      },
    };
  };
}

/**
 * The tenant that a change may be deferred for. Not one whose key lacks a value: its place in the hash space, and the
 * document, can't be found from the key again.
 */
const tenantOf = ({ tenant, key }: Change): string | undefined => (key.includes(null) ? undefined : tenant);

function together(
  held: ReadonlyMap<string, number>,
  coming: ReadonlyMap<string | undefined, readonly Change[]>,
): Map<string, number> {
  const sum = new Map(held);
  for (const [tenant, changes] of coming)
    if (tenant !== undefined) sum.set(tenant, (sum.get(tenant) ?? 0) + changes.length);
  return sum;
}
