// The host of B20, with the timings of a host: copies each change, and sets floods aside.
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from '../src/cosmos/connect.ts';
import { effectivePartitionKey } from '../src/cosmos/epk.ts';
import { Meter } from '../src/cosmos/meter.ts';
import { limitSpending, spendingOf } from '../src/cosmos/spending.ts';
import type { CopySpec } from '../src/definition/specs.ts';
import { DeadLetters } from '../src/engine/dead-letters/dead-letters.ts';
import { Engine } from '../src/engine/engine.ts';
import { openAside } from '../src/engine/open-aside.ts';
import { CosmosLeaseStore } from '../src/feed/leases/cosmos-lease-store.ts';
import { openSource } from '../src/feed/reading/open-source.ts';
import { FeedHost } from '../src/feed/sharing/feed-host.ts';
import { copyRunner } from '../src/projections/copy/copy-runner.ts';
import { CHECKPOINT_MS } from '../src/runtime/source-reading.ts';
import { FLOODING, type Seen, type Setup } from './b20-fair-turns.ts';

const REPORT_MS = 100;

const setup = JSON.parse(process.argv[2] ?? '') as Setup;
const { pollMs, workMs, ruPerSecond, source: name, sink } = setup;
const client = await connect({ kind: 'key', ...setup.account });
if (ruPerSecond !== undefined) limitSpending(client, ruPerSecond);
const database = client.database('bench');
const leases = database.container('leases');
const state = database.container('millrace');
const spec: CopySpec = {
  kind: 'copy',
  name: 'copied',
  version: 1,
  from: { container: name, type: 'thing' },
  into: { container: sink, type: 'copied' },
  onDelete: 'remove',
  stable: true,
  joins: [],
  map: (doc) => ({ id: doc['id'], storeId: doc['storeId'], text: doc['text'] }),
};
const sources = { stateContainer: state.id, sources: new Map(), readLagMs: 0 };
const copy = copyRunner(spec, { name: sink, keyPaths: [['storeId']] }, sources);
const seen: Seen = { flood: 0, others: [] };
const runner = {
  ...copy,
  apply: async (...[changes, access]: Parameters<typeof copy.apply>) => {
    if (workMs > 0) await delay(workMs * changes.length);
    await copy.apply(changes, access);
    const now = Date.now();
    for (const { id, tenant } of changes)
      if (tenant === FLOODING) seen.flood += 1;
      else seen.others.push([id, now]);
  },
};
const engine = new Engine({ database, runners: [runner], deadLetters: new DeadLetters(state) });
const map = {
  name,
  keyPaths: [['storeId']],
  types: new Map([['thing', {}]]),
  tenant: { field: 'storeId', of: (doc: Record<string, unknown>) => String(doc['storeId']) },
};
const meter = new Meter();
const opened = await openSource(database.container(name), { map, meter });
const budget = spendingOf(database, 'live')?.reading(name);
const host = new FeedHost({
  container: name,
  host: 'bench',
  source: opened.source,
  leases: new CosmosLeaseStore({ monitored: opened.container, leases, host: 'bench', prefix: `b20_${opened.rid}` }),
  start: 'beginning',
  handle: engine.handle,
  order: ({ tenant }) => tenant ?? '',
  aside: openAside({
    pipeline: 'bench',
    source: name,
    database,
    state,
    hashOf: (key) => effectivePartitionKey(key, 'Hash', 2),
    engine,
    meter,
    sources: new Map([[name, map]]),
    cold: () => Promise.resolve(undefined),
    readLagMs: 5_000,
  }),
  ...(budget && { budget }),
  timings: { pollMs, checkpointMs: CHECKPOINT_MS },
});
setInterval(() => {
  process.send?.(seen);
  seen.others = [];
}, REPORT_MS);
process.on('disconnect', () => process.exit(0));
await host.start();
