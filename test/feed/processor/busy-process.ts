// Run as its own process by busy-handler.e2e.test.ts: a host whose handler leaves the event loop no turn of its own accord.
import { subscribe } from 'node:diagnostics_channel';
import { CosmosClient } from '@azure/cosmos';
import { ChangeFeedProcessor } from 'millrace/feed';

const [connectionString = '', timings = '{}', blockMs = '0'] = process.argv.slice(2);
const database = new CosmosClient({ connectionString, consistencyLevel: 'Session' }).database('d');
const nothing = new Int32Array(new SharedArrayBuffer(4));

const processor = new ChangeFeedProcessor({
  source: database.container('c'),
  leases: database.container('leases'),
  name: 'P',
  instance: 'busy',
  start: 'beginning',
  order: 'document',
  timings: JSON.parse(timings) as object,
  handler: (changes) => {
    // As if it computed.
    Atomics.wait(nothing, 0, 0, Number(blockMs));
    process.send?.(changes.map(({ id }) => id));
  },
});
subscribe('millrace:lease:acquired', () => void process.send?.([]));
process.once('disconnect', () => process.exit(1));
await processor.start();
