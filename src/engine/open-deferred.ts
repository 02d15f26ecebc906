import type { Container, Database } from '@azure/cosmos';
import type { Meter } from '../cosmos/budget/charge-meter.ts';
import { spendingOf } from '../cosmos/budget/meter.ts';
import type { Change, Key } from '../feed/reading/change.ts';
import type { OpenAside } from '../feed/tenure/deferred.ts';
import { CosmosAccess } from '../access/cosmos-access.ts';
import type { Engine } from './engine.ts';
import { type ReadAgainOptions, readAgain } from './read-again.ts';
import { Backlog } from './deferred/deferred.ts';
import { CosmosBacklogStore } from './deferred/cosmos-store.ts';
import { drainNext } from './deferred/drain.ts';
import { overShare } from './deferred/over-share.ts';

export interface OpenAsideOptions extends Pick<ReadAgainOptions, 'sources' | 'cold' | 'readLagMs'> {
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
  /** True: sets aside no tenant that isn't yet. What hosts of an earlier declaration have set aside is drained all the same. */
  readonly drainsOnly?: boolean;
}

/** Sets changes of one source container aside, for the windows of its ranges, and drains them through the engine. */
export function openAside(options: OpenAsideOptions): OpenAside {
  const { database, state, hashOf, engine, meter, drainsOnly = false } = options;
  return async ({ position, fence, ...window }) => {
    const store = new CosmosBacklogStore(state, options, fence, meter);
    const backlog = await Backlog.open({ ...window, store, hashOf }, position);
    return {
      get tenants() {
        return backlog.tenants;
      },
      divide: (changes, held, most) => {
        const coming = Map.groupBy(changes, tenantOf);
        const full = new Set(drainsOnly ? [] : overShare(together(held, coming), most));
        const over = new Map<string, readonly Change[]>();
        for (const [tenant, some] of coming) {
          if (tenant === undefined || !(backlog.holds(tenant) || full.has(tenant))) continue;
          over.set(tenant, some);
          coming.delete(tenant);
        }
        return { over, rest: changes.filter((change) => coming.has(tenantOf(change))) };
      },
      setAside: async (tenant, changes) => {
        // What an erased tenant writes is dropped, and a bundle would have its name again.
        const erased = await engine.erased();
        if (!erased(tenant)) await backlog.setAside(tenant, changes);
      },
      drain: (tenant, upTo, fenceOf) => {
        const access = new CosmosAccess(database, fence, meter, spendingOf(database, 'live', tenant));
        return drainNext(backlog, tenant, upTo, {
          again: (item) => readAgain(item, { ...options, access, signal: fence.signal }),
          apply: async (changes, readAt) =>
            void (await engine.consume({ changes, charge: 0, readAt }, fenceOf(readAt))),
        });
      },
    };
  };
}

/**
 * The tenant that a change may be set aside for. Not one whose key lacks a value: its place in the hash space, and the
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
