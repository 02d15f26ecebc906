import { randomUUID } from 'node:crypto';
import type { Container } from '@azure/cosmos';
import type { Runner } from '../../src/kinds/runner.ts';
import { aggregateRunner } from '../../src/kinds/aggregate/aggregate-runner.ts';
import { copyRunner } from '../../src/kinds/copy/copy-runner.ts';
import { prepareShards } from '../../src/host/dev/shards.ts';
import { compose } from '../../src/runtime/hosts/processor-host.ts';
import { readAll } from '../support/reader.ts';
import { openShards } from '../support/shards.ts';
import { type Stage, fill } from '../support/stage.ts';

/** What was done for one n, in units of its work: a change of a projection, a kilobyte, a shard. */
export interface Point {
  readonly n: number;
  readonly cpuMs: number;
  readonly requests: number;
  readonly charge: number;
}

export interface Series {
  readonly name: string;
  /** What grows, and the unit of work where it isn't a change. */
  readonly title: string;
  readonly from: readonly number[];
  readonly measure: (stage: Stage, n: number) => Promise<Point>;
}

const CHANGES = 4_000;

interface Scene {
  readonly changes: number;
  readonly ranges?: number;
  readonly keys?: number;
  readonly bytes?: number;
  readonly groups?: number;
  /** By their sinks. */
  readonly runners: (source: Container, n: number, sink: (key: string) => Promise<Container>) => Promise<Runner>[];
}

/** Of a length up to a few numbers. */
const steps = (most: number, ...of: number[]): number[] => of.filter((n) => n <= most);

export function allSeries(most: number): readonly Series[] {
  return [
    {
      name: 'changes',
      title: 'changes',
      from: steps(most, 2_500, 10_000, 40_000, 160_000, 600_000),
      measure: (stage, n) => read(stage, n, n, { changes: n, runners: copies(1) }),
    },
    {
      name: 'ranges',
      title: 'ranges',
      from: [1, 4, 16, 64],
      measure: (stage, n) =>
        read(stage, n, 1_000 * n, { changes: 1_000 * n, ranges: n, keys: 50 * n, runners: copies(1) }),
    },
    {
      name: 'projections',
      title: 'projections; a change of each',
      from: [1, 2, 4, 8, 16],
      measure: (stage, n) => read(stage, n, (CHANGES / 2) * n, { changes: CHANGES / 2, runners: copies(n) }),
    },
    {
      name: 'bytes',
      title: 'KB a document; a KB',
      from: [1, 4, 16, 64, 256],
      measure: (stage, n) => read(stage, n, 200 * n, { changes: 200, bytes: n * 1_000, runners: copies(1) }),
    },
    {
      name: 'groups',
      title: 'groups of an aggregate',
      from: steps(most, 1, 10, 100, 1_000, 10_000, 100_000),
      measure: (stage, n) => {
        const changes = Math.max(n, CHANGES);
        return read(stage, n, changes, { changes, groups: n, runners: aggregates });
      },
    },
    {
      name: 'tenants',
      title: 'tenants',
      from: steps(most, 1, 10, 100, 1_000, 10_000),
      measure: (stage, n) => {
        const changes = Math.max(n, CHANGES);
        return read(stage, n, changes, { changes, keys: n, runners: copies(1) });
      },
    },
    { name: 'shards', title: 'shards; the start of one', from: [1, 2, 5, 10, 20], measure: startShards },
  ];
}

const copies =
  (count: number): Scene['runners'] =>
  (source, _n, sink) =>
    Array.from({ length: count }, async (_, index) => {
      const { id } = await sink('key');
      return copyRunner(
        {
          kind: 'copy',
          name: `copied${index}`,
          version: 1,
          from: { container: source.id, type: 'thing' },
          into: { container: id, type: 'copied' },
          onDelete: 'remove',
          stable: true,
          joins: [],
          map: (doc) => ({ id: doc['id'], key: doc['key'], text: doc['text'] }),
        },
        { name: id, keyPaths: [['key']] },
        { stateContainer: 'millrace', sources: new Map(), readLagMs: 0 },
      );
    });

const aggregates: Scene['runners'] = (source, _n, sink) => [
  (async () => {
    const { id } = await sink('key');
    return aggregateRunner(
      {
        kind: 'aggregate',
        name: 'counted',
        version: 1,
        from: { container: source.id, type: 'thing' },
        into: { container: id, type: 'total' },
        onDelete: 'remove',
        stable: true,
        groupBy: (_row, doc) => ({ key: doc['key'], group: doc['group'] }),
        measures: { things: { kind: 'count' } },
      },
      { name: id, keyPaths: [['key']] },
      { stateContainer: 'millrace' },
    );
  })(),
];

/** Reads a filled container to its end with a host and the engine. */
async function read(stage: Stage, n: number, work: number, scene: Scene): Promise<Point> {
  const { changes, ranges = 1, keys = 200, bytes = 700, groups = 1 } = scene;
  const name = (of: string): string => `${of}-${randomUUID().slice(0, 8)}`;
  const source = await stage.container(name('source'), '/key', 6_000 * ranges);
  const leases = await stage.container(name('leases'), '/id');
  const state = stage.database.container('millrace');
  const text = 'x'.repeat(bytes);
  const documents = Array.from({ length: changes }, (_, index) => ({
    id: `${index}`,
    key: `k${index % keys}`,
    type: 'thing',
    // A group is one of its key's.
    group: `g${index % groups}`,
    text,
  }));
  // A batch has 2 MB at most.
  if (bytes > 10_000) for (const document of documents) await source.items.create(document);
  else await fill(source, documents, ({ key }) => String(key));
  const runners = await Promise.all(scene.runners(source, n, (key) => stage.container(name('sink'), `/${key}`)));
  return measured(stage, n, work, async () => {
    await readAll({ source, keyPath: 'key', type: 'thing', leases, state, database: stage.database, runners });
  });
}

async function measured(stage: Stage, n: number, work: number, run: () => Promise<void>): Promise<Point> {
  const before = (await stage.usage()).stats;
  const used = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(used);
  const { charge, requests } = (await stage.usage()).stats;
  const sum = (of: Readonly<Record<string, number>>): number => Object.values(of).reduce((all, each) => all + each, 0);
  return {
    n,
    cpuMs: (user + system) / 1_000 / work,
    requests: (sum(requests) - sum(before.requests)) / work,
    charge: (charge - before.charge) / work,
  };
}

async function startShards(stage: Stage, n: number): Promise<Point> {
  const { settings, services, loaded } = await openShards(stage);
  await prepareShards(n, { settings, services, loaded });
  const start = async (): Promise<void> => {
    const app = await compose({ settings, services, loaded, host: 'growth', readLagMs: 0 });
    await app.start();
    await app.drained(new AbortController().signal);
    await app.stop();
  };
  // The first start makes the leases.
  await start();
  const point = await measured(stage, n, n, start);
  services.close();
  return point;
}
