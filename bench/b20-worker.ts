// The host of B20, which reads as `millrace run` does, and copies each change.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from '../src/cosmos/connect.ts';
import { limitSpending } from '../src/cosmos/budget/meter.ts';
import type { CopySpec } from '../src/pipeline/specs.ts';
import { DeadLetters } from '../src/engine/dead-letters/dead-letters.ts';
import { Engine } from '../src/engine/engine.ts';
import { copyRunner } from '../src/kinds/copy/copy-runner.ts';
import type { Parts } from '../src/runtime/open-feed.ts';
import { openReading } from '../src/runtime/source-reading.ts';
import { FLOODING, type Seen, type Setup } from './b20-fair-turns.ts';

const REPORT_MS = 100;
const READERS = { archives: [], embeds: [], effects: [], publishes: [], ingests: [], findings: [] };

const setup = JSON.parse(process.argv[2] ?? '') as Setup;
const { pollMs, workMs, ruPerSecond, source: name, sink } = setup;
const client = connect({ kind: 'key', ...setup.account });
if (ruPerSecond !== undefined) limitSpending(client, ruPerSecond);
const database = client.database('bench');
const leases = database.container('leases');
const state = database.container('millrace');
const place = { endpoint: setup.account.endpoint, database, state };
const global = { state, leases };
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
const loop = monitorEventLoopDelay({ resolution: 5 });
loop.enable();
const seen: Seen = { flood: 0, others: [], stoodMs: 0 };
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
const settings = { cosmos: { kind: 'key', ...setup.account }, database: database.id, stateContainer: state.id };
const pipeline = { name: 'bench', tenant: 'storeId', sources: [], ...READERS, projections: [spec] };
const model = { file: '', containers: [{ name, partitionKey: ['/storeId'], types: [] }] };
const parts = { settings, services: { place, global }, loaded: { pipeline, model } };
const { processor } = await openReading({ ...(parts as unknown as Parts), host: 'bench', timings: { pollMs } }, map, {
  engine,
  cold: () => Promise.resolve(undefined),
});
setInterval(() => {
  seen.stoodMs = loop.max / 1e6;
  loop.reset();
  process.send?.(seen);
  seen.others = [];
}, REPORT_MS);
process.on('disconnect', () => process.exit(0));
await processor.start();
