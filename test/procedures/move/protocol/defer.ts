import type { Container } from '@azure/cosmos';
import { effectivePartitionKey } from '../../../../src/cosmos/effective-partition-key.ts';
import { Meter } from '../../../../src/cosmos/budget/charge-meter.ts';
import { FULL_RANGE } from '../../../../src/cosmos/ranges.ts';
import { DeferredQueues } from '../../../../src/engine/deferred/deferred.ts';
import { CosmosDeferredStore } from '../../../../src/engine/deferred/cosmos-store.ts';
import { readChanges } from '../../../../src/feed/processor/read-changes.ts';

/** Defers the orders of a store, as a host does with changes of a tenant that is over its share. */
export async function defer(
  state: Container,
  orders: Container,
  { pipeline, storeId }: { readonly pipeline: string; readonly storeId: string },
): Promise<void> {
  const { signal } = new AbortController();
  const fence = { kind: 'lease', tenure: {}, signal, assert: () => undefined } as const;
  const store = new CosmosDeferredStore(state, { pipeline, source: 'Orders' }, fence, new Meter());
  const hashOf = (key: readonly unknown[]) => effectivePartitionKey(key as string[], 'Hash', 2);
  const confirm = () => Promise.resolve();
  for await (const { changes } of readChanges(orders, { ranges: [FULL_RANGE], signal })) {
    const own = changes
      .filter(({ doc }) => doc?.['storeId'] === storeId)
      .map((change) => ({ ...change, type: 'order' }));
    const { lsn } = changes.at(-1)!.version;
    const deferred = await DeferredQueues.open({ store, range: FULL_RANGE, token: 'flood', hashOf, confirm }, lsn);
    await deferred.defer(storeId, own);
  }
}
