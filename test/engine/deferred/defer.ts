// A window that defers changes, without a feed.
import type { Container } from '@azure/cosmos';
import { FULL_RANGE } from '../../../src/cosmos/ranges.ts';
import { effectivePartitionKey } from '../../../src/cosmos/effective-partition-key.ts';
import { Meter } from '../../../src/cosmos/budget/charge-meter.ts';
import { DeferredQueues } from '../../../src/engine/deferred/deferred.ts';
import { CosmosDeferredStore } from '../../../src/engine/deferred/cosmos-store.ts';
import type { Change } from '../../../src/feed/reading/change.ts';
import { untilStopped } from '../../../src/feed/tenure/fences.ts';

/** A window of a source container, at its beginning. */
export const openQueues = (state: Container, pipeline: string, source: string): Promise<DeferredQueues> =>
  DeferredQueues.open(
    {
      store: new CosmosDeferredStore(
        state,
        { pipeline, source },
        untilStopped(new AbortController().signal),
        new Meter(),
      ),
      range: FULL_RANGE,
      token: crypto.randomUUID(),
      hashOf: (key) => effectivePartitionKey(key, 'Hash', 2),
      confirm: () => Promise.resolve(),
    },
    0,
  );

/** Changes of a tenant, written at `at`, with the lsns from 1 on. */
export const changesOf = (container: string, tenant: string, count: number, at = 0): Change[] =>
  Array.from({ length: count }, (_, n) => ({
    container,
    type: 'order',
    tenant,
    key: [tenant],
    id: `o${n}`,
    version: { epoch: 1, lsn: n + 1, etag: `"${n + 1}"` },
    at,
    op: 'upsert',
  }));
