import { fork } from 'node:child_process';
import { once } from 'node:events';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { type Container, type Database, PartitionKeyDefinitionVersion } from '@azure/cosmos';
import pMap from 'p-map';
import { connect } from '../../src/cosmos/connect.ts';
import type { EmulatorStats, Faults } from '../../src/emulator/index.ts';

/** Of the server. */
export interface Usage {
  /** Microseconds of processor time so far. */
  readonly cpu: number;
  /** Bytes that are resident. */
  readonly rss: number;
  readonly stats: EmulatorStats;
}

export interface Stage extends AsyncDisposable {
  readonly endpoint: string;
  readonly key: string;
  /** Only with `tls`. */
  readonly certificate?: string;
  readonly database: Database;
  faults(faults: Faults): Promise<void>;
  usage(): Promise<Usage>;
  /** A container of its own, one physical partition unless said otherwise. */
  container(id: string, path: string, throughput?: number): Promise<Container>;
}

/**
 * The embedded server as a child process, and a client to it as Millrace makes one.
 *
 * `heapMb`: of the server, at most. `tls`: it speaks TLS, as Azure does, and this process trusts its certificate.
 */
export async function openStage({ heapMb = 4096, tls = false } = {}): Promise<Stage> {
  const child = fork(new URL('../server.ts', import.meta.url), tls ? ['--tls'] : [], {
    execArgv: ['--conditions=millrace-source', `--max-old-space-size=${heapMb}`],
  });
  const [{ certificate, ...account }] = (await once(child, 'message')) as [
    { endpoint: string; key: string; certificate?: string },
  ];
  if (certificate !== undefined) setDefaultCACertificates([...getCACertificates(), certificate]);
  const client = connect({ kind: 'key', ...account });
  const { database } = await client.databases.create({ id: 'bench' });
  return {
    ...account,
    ...(certificate === undefined ? {} : { certificate }),
    database,
    faults: async (faults) => {
      child.send(faults);
      await once(child, 'message');
    },
    usage: async () => {
      child.send('usage');
      const [usage] = (await once(child, 'message')) as [Usage];
      return usage;
    },
    container: async (id, path, throughput = 6_000) => {
      const { container } = await database.containers.create(
        { id, partitionKey: { paths: [path], version: PartitionKeyDefinitionVersion.V2 }, defaultTtl: -1 },
        { offerThroughput: throughput },
      );
      return container;
    },
    [Symbol.asyncDispose]: async () => {
      client.dispose();
      child.disconnect();
      await once(child, 'exit');
    },
  };
}

/** Creates documents by batches of one key. */
export async function fill(
  container: Container,
  documents: readonly Record<string, unknown>[],
  keyOf: (document: Record<string, unknown>) => string | number,
): Promise<void> {
  const byKey = Map.groupBy(documents, keyOf);
  const batches = [...byKey].flatMap(([key, of]) =>
    Array.from({ length: Math.ceil(of.length / 100) }, (_, index) => ({
      key,
      of: of.slice(index * 100, index * 100 + 100),
    })),
  );
  await pMap(
    batches,
    async ({ key, of }) => {
      const answer = await container.items.batch(
        of.map((resourceBody) => ({ operationType: 'Upsert', resourceBody: resourceBody as never })),
        key,
      );
      if (answer.code !== 200) throw new Error(`Filling ${container.id} failed with ${answer.code}`);
    },
    { concurrency: 8 },
  );
}
