// Run as its own process by the processor's end-to-end test and by scripts/soak.ts: one host, which tells its parent what
// it handles, or writes it to a log that outlives it.
import { openSync, writeSync } from 'node:fs';
import { subscribe } from 'node:diagnostics_channel';
import { setTimeout as delay } from 'node:timers/promises';
import { CosmosClient } from '@azure/cosmos';
import { type ChangeContext, ChangeFeedProcessor, type ChangeFeedProcessorOptions } from 'millrace/feed';
import type { SoakLine } from '../../scripts/soak/lines.ts';

const [connection = '', instance = '', log] = process.argv.slice(2);
const database = new CosmosClient({
  connectionString: connection,
  consistencyLevel: 'Session',
  connectionPolicy: {
    retryOptions: { maxRetryAttemptCount: 0, fixedRetryIntervalInMilliseconds: 0, maxWaitTimeInSeconds: 0 },
  },
}).database('d');

/** One clock for all processes of a machine, milliseconds. */
const now = (): number => Number(process.hrtime.bigint() / 1_000n) / 1_000;

/** Resolves once it is in the pipe, where it outlives this process. */
const tell = (message: object): Promise<void> =>
  new Promise((resolve, reject) => {
    process.send?.(message, (error: Error | null) => (error ? reject(error) : resolve()));
  });

const COMMON = {
  source: database.container('c'),
  leases: database.container('leases'),
  instance,
  start: 'beginning',
  maxItems: 1_000,
  targetPageMs: 0,
} as const;

const options = log === undefined ? tellingOptions() : soakOptions(log);

/** Each page is told as a whole. */
function tellingOptions(): ChangeFeedProcessorOptions {
  subscribe('millrace:lease:acquired', () => void tell({ acquired: 1 }));
  return {
    ...COMMON,
    name: 'e2e',
    timings: { acquireMs: 300, expirationMs: 2_000, renewMs: 500, pollMs: 250 },
    handler: (changes) => tell({ at: now(), ids: changes.map(({ id }) => id) }),
  };
}

/** A handler that takes its time: it asks before each few changes, and logs them at the time when it asked. */
function soakOptions(file: string): ChangeFeedProcessorOptions {
  const fd = openSync(file, 'a');
  const write = (line: SoakLine): void => void writeSync(fd, `${JSON.stringify(line)}\n`);
  const life = `${instance}/${process.pid}`;
  let tenures = 0;
  const current = new Map<string, string>();
  const known = new WeakMap<AbortSignal, string>();
  subscribe('millrace:lease:acquired', (event) => {
    const { lease } = event as { lease: string };
    tenures += 1;
    const tenure = `${life}/${tenures}`;
    current.set(lease.slice(lease.lastIndexOf('..') + 2), tenure);
    write({ kind: 'acquired', at: now(), tenure, lease });
  });
  for (const name of ['lease:released', 'lease:handover'])
    subscribe(`millrace:${name}`, (event) =>
      write({ kind: 'event', at: now(), name, event: { ...(event as object) } }),
    );
  const tenureOf = ({ leaseToken, signal }: ChangeContext): string => {
    const tenure = known.get(signal) ?? current.get(leaseToken) ?? '';
    known.set(signal, tenure);
    return tenure;
  };
  return {
    ...COMMON,
    name: 'soak',
    maxItems: 100,
    timings: { acquireMs: 1_300, expirationMs: 6_000, renewMs: 1_700, pollMs: 300, stopMs: 10_000 },
    handler: async (changes, context) => {
      const tenure = tenureOf(context);
      const { min, max } = context.range;
      for (let from = 0; from < changes.length; from += 10) {
        const some = changes.slice(from, from + 10);
        const at = now();
        // What stands still between this question and the next line is not counted at the time when it woke up.
        context.assertOwned();
        write({ kind: 'delivered', at, tenure, min, max, changes: some.map(({ id, version }) => [id, version.lsn]) });
        await delay(20);
      }
    },
  };
}

const processor = new ChangeFeedProcessor(options);
const stop = async (): Promise<void> => {
  await processor.stop();
  process.exit(0);
};
process.once('SIGTERM', () => void stop());
// Without its parent no one listens.
process.once('disconnect', () => process.exit(1));
await processor.start();
await tell({ started: 1 });
