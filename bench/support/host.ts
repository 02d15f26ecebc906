import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Container } from '@azure/cosmos';
import { Meter } from '../../src/cosmos/budget/charge-meter.ts';
import type { Change } from '../../src/feed/reading/change.ts';
import { CosmosLeaseStore } from '../../src/feed/leases/cosmos-lease-store.ts';
import { FeedHost, type Timings } from '../../src/feed/sharing/feed-host.ts';
import { openSource } from '../../src/feed/reading/open-source.ts';
import type { Handle } from '../../src/feed/tenure/page-handler.ts';

export interface HostOptions {
  readonly source: Container;
  readonly leases: Container;
  readonly handle: Handle;
  readonly name?: string;
  /** Hosts with one prefix share its leases. Default: one of its own, which reads from the beginning. */
  readonly prefix?: string;
  readonly pageSize?: number;
  readonly order?: (change: Change) => string;
  readonly concurrency?: number;
  readonly timings?: Partial<Timings>;
}

export interface Host {
  readonly processor: FeedHost;
  /** Of reading the feed. */
  readonly meter: Meter;
  /** Resolves when every range has been read to its end. */
  drained(): Promise<void>;
}

/** A host that reads all documents of a container from the beginning; not started yet. */
export async function openHost(options: HostOptions): Promise<Host> {
  const { source, leases, handle, name = 'bench', prefix = randomUUID(), pageSize = 1_000, timings = {} } = options;
  const meter = new Meter();
  const processor = new FeedHost({
    container: source.id,
    host: name,
    source: (await openSource(source, { meter, pageSize })).source,
    leases: new CosmosLeaseStore({ monitored: source, leases, host: name, prefix }),
    start: 'beginning',
    handle,
    timings: { pollMs: 1, ...timings },
    ...(options.order && { order: options.order }),
    ...(options.concurrency === undefined ? {} : { concurrency: options.concurrency }),
  });
  return {
    processor,
    meter,
    drained: () => drained(processor),
  };
}

/** Resolves once this host has all leases, and each range was read to its end. */
export async function drained(processor: FeedHost): Promise<void> {
  for (;;) {
    const { leases, known } = processor.status();
    if (known > 0 && leases.length === known && leases.every(({ idleSince }) => idleSince !== undefined)) return;
    await delay(1);
  }
}
