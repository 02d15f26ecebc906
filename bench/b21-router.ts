import { setTimeout as delay } from 'node:timers/promises';
import { CosmosClient, type Database } from '@azure/cosmos';
import { systemClock } from '../src/base/clock.ts';
import { startEmulator } from '../src/emulator/index.ts';
import { type KeyTypeName, type KeyValue, encodeKey } from '../src/shards/keys/key-type.ts';
import type { LocalHeader, MapHeader, MapKind, MappingDocument, ShardDocument } from '../src/shards/map/documents.ts';
import { KnownShard } from '../src/shards/routing/known-shard.ts';
import { Router } from '../src/shards/routing/router.ts';
import { Routes } from '../src/shards/routing/routes.ts';
import { type Benchmark, type Figure, atMost, median, plain, sized } from './support/measure.ts';

const SIZES = [10, 1_000, sized(100_000, 2_000)];
/** How an application chooses keys: all alike, or some much more often than others. */
const CHOICES: Readonly<Record<string, (size: number) => number>> = {
  random: (size) => Math.floor(Math.random() * size),
  // The n-th most frequent key comes 1/n times as often as the first: Zipf's law, nearly.
  Zipf: (size) => scattered(Math.floor((size + 1) ** Math.random()) - 1, size),
};
/** Keys that are used often aren't neighbours. */
const scattered = (rank: number, size: number): number => (rank * 7_919) % size;

const ROUNDS = sized(7, 1);
const CALLS = sized(50_000, 500);
const SHARDS = 10;

const uuid = (at: number): string => (at * 2_654_435_761).toString(16).padStart(12, '0').slice(-12);

/** The keys of the mappings, and how a key in one of them is written. */
const KINDS: readonly {
  readonly kind: MapKind;
  readonly keyType: KeyTypeName;
  readonly key: (at: number) => KeyValue;
}[] = [
  { kind: 'range', keyType: 'int32', key: (at) => at * 1_000 },
  { kind: 'range', keyType: 'int64', key: (at) => BigInt(at) * 1_000_000n },
  { kind: 'list', keyType: 'guid', key: (at) => `00000000-0000-4000-8000-${uuid(at)}` },
  { kind: 'list', keyType: 'text', key: (at) => `tenant-${at}` },
];

/** Passes in memory, encoding of the key included, for maps of different sizes. The gates are real, the maps lists. */
export const b21: Benchmark = {
  id: 'B21',
  title: 'a pass of a router from a warm cache',
  run: async () => {
    const emulator = await startEmulator({ seed: 1 });
    const client = new CosmosClient(emulator.clientOptions);
    const { database } = await client.databases.create({ id: 'maps' });
    await database.containers.create({ id: 'routers', partitionKey: '/pk', defaultTtl: -1 });
    const figures: Figure[] = [];
    for (const of of KINDS) {
      const taken: Record<string, number[]> = {};
      for (const size of SIZES) {
        await using router = await warm(database, of, size);
        for (let at = 0; at < size; at++) (await router.enter(of.key(at)))[Symbol.dispose]();
        for (const [name, choose] of Object.entries(CHOICES)) {
          const rounds: number[] = [];
          for (let round = 0; round <= ROUNDS; round++) {
            const keys = Array.from({ length: CALLS }, () => fresh(of.key(choose(size))));
            rounds.push(await enterAll(router, keys));
            // The gates send their heartbeats.
            await delay(10);
          }
          (taken[name] ??= []).push((median(rounds.slice(1)) / CALLS) * 1e9);
        }
      }
      for (const [choice, nanoseconds] of Object.entries(taken)) {
        const name = `${of.kind} map, ${of.keyType}, ${choice}`;
        for (const [at, size] of SIZES.entries())
          figures.push(atMost(`${name}: ${size.toLocaleString('en-US')} mappings`, nanoseconds[at]!, 1_000, 'ns'));
        figures.push(plain(`${name}: 100,000 ÷ 10`, nanoseconds.at(-1)! / nanoseconds[0]!, '×'));
      }
    }
    client.dispose();
    await emulator.close();
    return figures;
  },
};

/** A key as a request brings it: its text is in no table yet, and in one piece. */
const fresh = (key: KeyValue): KeyValue => (typeof key === 'string' ? Buffer.from(key).toString('latin1') : key);

/** Seconds of processor time: other work on the machine counts less. */
async function enterAll(router: Router, keys: readonly KeyValue[]): Promise<number> {
  const before = process.cpuUsage();
  for (const key of keys) (await router.enter(key))[Symbol.dispose]();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

async function warm(database: Database, { kind, keyType, key }: (typeof KINDS)[number], size: number): Promise<Router> {
  const name = `${kind}-${keyType}-${size}`;
  const shards = Array.from({ length: SHARDS }, (_, at) => ({
    type: 'millrace.shard',
    shard: String(at),
    version: '1',
    location: { database: 'd' },
  })) as ShardDocument[];
  const lows = Array.from({ length: size }, (_, at) => encodeKey(keyType, key(at))).toSorted();
  const mappings = lows.map((low, at) => ({
    id: `mapping|${at}`,
    type: 'millrace.mapping',
    shard: String(at % SHARDS),
    low,
    ...(kind === 'list' ? { high: low } : lows[at + 1] !== undefined && { high: lows[at + 1] }),
    status: 'online',
  })) as MappingDocument[];
  const header = { name, kind, keyType, schema: { sharded: { Orders: '/tenantId' } } } as unknown as MapHeader;
  const clock = systemClock;
  const local = {
    header: { generation: 1, digest: 'd' } as LocalHeader,
    found: new Map(mappings.map((one) => [one.id, one])),
  };
  const open = (shard: ShardDocument): KnownShard =>
    new KnownShard(
      shard,
      database,
      {
        validations: 0,
        header: () => Promise.resolve(local.header),
        find: () => Promise.resolve(local),
        whole: () => Promise.resolve({ ...local, etag: '', entries: local.found }),
      },
      { clock, validForMs: 600_000 },
    );
  const lookups = {
    header,
    mapping: (code: string) => Promise.resolve(mappings.findLast(({ low }) => low <= code)),
    mappings: () => Promise.resolve(mappings),
    mappingIds: () => Promise.resolve(new Set<string>()),
    shard: (id: string) => Promise.resolve(shards[Number(id)]),
    shards: () => Promise.resolve(shards),
  };
  const routes = new Routes(lookups, open, { clock, validForMs: 600_000 });
  await routes.fill();
  const reader = { header, lookups: 0 };
  const list = () => Promise.resolve([]);
  return new Router({ reader, list, routes, clock, shardWithinMs: 0, waitMs: 0 }, database.container('routers'));
}
