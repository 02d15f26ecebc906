// Run as its own process by the processor's end-to-end test: one host, which tells its parent whatever it handles.
import { subscribe } from 'node:diagnostics_channel';
import { CosmosClient } from '@azure/cosmos';
import { ChangeFeedProcessor } from 'millrace/feed';

const [connection = '', instance = ''] = process.argv.slice(2);
const database = new CosmosClient({
  connectionString: connection,
  consistencyLevel: 'Session',
  connectionPolicy: {
    retryOptions: { maxRetryAttemptCount: 0, fixedRetryIntervalInMilliseconds: 0, maxWaitTimeInSeconds: 0 },
  },
}).database('d');

/** Resolves once it is in the pipe, where it outlives this process. */
const tell = (message: object): Promise<void> =>
  new Promise((resolve, reject) => {
    process.send?.(message, (error: Error | null) => (error ? reject(error) : resolve()));
  });

subscribe('millrace:lease:acquired', () => void tell({ acquired: 1 }));

const processor = new ChangeFeedProcessor({
  source: database.container('c'),
  leases: database.container('leases'),
  name: 'e2e',
  instance,
  start: 'beginning',
  maxItems: 1_000,
  targetPageMs: 0,
  timings: { acquireMs: 300, expirationMs: 2_000, renewMs: 500, pollMs: 250 },
  // The clock is one for all processes of a machine.
  handler: (changes) => tell({ at: Number(process.hrtime.bigint()), ids: changes.map(({ id }) => id) }),
});

const stop = async (): Promise<void> => {
  await processor.stop();
  process.exit(0);
};
process.once('SIGTERM', () => void stop());
// Without its parent nobody listens.
process.once('disconnect', () => process.exit(1));
await processor.start();
await tell({ started: 1 });
