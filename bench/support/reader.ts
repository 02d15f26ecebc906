import { randomUUID } from 'node:crypto';
import type { Container, Database } from '@azure/cosmos';
import { DeadLetters } from '../../src/engine/dead-letters/dead-letters.ts';
import { Engine } from '../../src/engine/engine.ts';
import { CosmosLeaseStore } from '../../src/feed/leases/cosmos-lease-store.ts';
import { FeedHost } from '../../src/feed/sharing/feed-host.ts';
import { openSource } from '../../src/feed/reading/open-source.ts';
import type { Runner } from '../../src/kinds/runner.ts';
import { drained } from './host.ts';

export interface Read {
  readonly source: Container;
  readonly keyPath: string;
  readonly type: string;
  readonly leases: Container;
  readonly state: Container;
  readonly database: Database;
  readonly runners: readonly Runner[];
  /** Least time between two checkpoints. Default 0: one a page. */
  readonly checkpointMs?: number;
}

/** Reads a whole feed with the processor and the engine, leases and checkpoints included; resolves at its end. */
export async function readAll(read: Read): Promise<Engine> {
  const { source, keyPath, type, leases, state, database, runners, checkpointMs = 0 } = read;
  const engine = new Engine({ database, runners, deadLetters: new DeadLetters(state) });
  const map = { name: source.id, keyPaths: [[keyPath]], types: new Map([[type, {}]]) };
  const { source: feed, rid } = await openSource(source, { map });
  const processor = new FeedHost({
    container: source.id,
    host: 'bench',
    source: feed,
    leases: new CosmosLeaseStore({ monitored: source, leases, host: 'bench', prefix: `${randomUUID()}_${rid}` }),
    start: 'beginning',
    handle: async (page, fence) => {
      await engine.consume(page, fence);
    },
    timings: { pollMs: 1, checkpointMs },
  });
  await processor.start();
  await drained(processor);
  await processor.stop();
  return engine;
}
