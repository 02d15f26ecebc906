// An adverse embedded server for random histories, many at a time: each in partitions of its own, some dozens to a
// database, which goes once they are judged, so that the five-thousandth history costs what the first does.
import { ChangeFeedPolicy, ChangeFeedRetentionTimeSpan, type CosmosClient, type Database } from '@azure/cosmos';
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll } from 'vitest';
import pMap from 'p-map';
import { connect } from '../../src/cosmos/connect.ts';
import type { Doc } from '../../src/pipeline/specs.ts';
import { type Emulator, startEmulator } from '../../src/emulator/index.ts';
import { suiteSeed } from '../support/seed.ts';
import type { Host, ReadFeed } from './history.ts';

export const SEED = suiteSeed();

/** How old a read may be, milliseconds. */
export const READ_LAG_MS = 8;

/** How many histories a test runs: MILLRACE_HISTORIES, or so many. */
export const historiesOr = (usual: number): number => Number(process.env['MILLRACE_HISTORIES'] ?? usual);

const TOGETHER = 60;
const AT_ONCE = 20;

/** Where some histories take place. */
export interface World {
  readonly database: Database;
  /** Two hosts with sessions of their own, so as stale as the server makes them. */
  readonly hosts: readonly Host[];
  readonly feed: ReadFeed;
  /** The application's own write of documents in one partition, in one transaction, repeated until it is known to have happened. */
  write(container: string, key: string, documents: readonly Doc[]): Promise<void>;
  /** Deletes a document for good, if it is there. */
  remove(container: string, key: string, id: string): Promise<void>;
  /** Lets a second pass on the server, for all worlds; `purge`: what has expired is gone at once, not some time later. */
  pass(options: { readonly purge: boolean }): void;
  /** The documents that an application's query without stale reads finds; of all partitions, unless a key is named. */
  documents(container: string, where: string, key?: string): Promise<Doc[]>;
}

/** Looks at what a history left, on a server without faults. */
export type Judge = () => Promise<void> | void;

/** Runs `one` for each seed, then what it returned; a failure names the seed that repeats it. */
export type Histories = (count: number, one: (world: World, seed: number) => Promise<Judge>) => Promise<void>;

/**
 * A test file calls it once, itself: files share a process, so a module that several import is run for the first of them
 * alone, and its server goes with that one. The containers are those of every world.
 */
export function useHistories(containers: Readonly<Record<string, string>>): Histories {
  let emulator: Emulator;
  let clients: CosmosClient[];
  beforeAll(async () => {
    emulator = await startEmulator({ seed: SEED });
    const account = { kind: 'key', endpoint: emulator.endpoint, key: emulator.key } as const;
    const { httpClient } = emulator.clientOptions;
    clients = [1, 2, 3].map(() => connect(account, [], { httpClient }));
  });
  afterAll(async () => {
    for (const client of clients) client.dispose();
    await emulator.close();
  });
  let worlds = 0;
  const batch = async (seeds: readonly number[], one: (world: World, seed: number) => Promise<Judge>) => {
    worlds += 1;
    const world = await worldOf(emulator, clients, `histories-${worlds}`, containers);
    emulator.faults({ replicaLagMs: READ_LAG_MS / 2, failAfterEffect: 0.01, throttle: 0.005 });
    const judges = await pMap(seeds, (seed) => named(seed, () => one(world, seed)), { concurrency: AT_ONCE });
    emulator.faults({});
    await pMap(judges.entries(), ([at, judge]) => named(seeds[at] ?? SEED, judge), { concurrency: AT_ONCE });
    await world.database.delete();
  };
  return async (count, one) => {
    for (let first = 0; first < count; first += TOGETHER) {
      const length = Math.min(TOGETHER, count - first);
      await batch(
        Array.from({ length }, (_, index) => SEED + first + index),
        one,
      );
    }
  };
}

async function named<T>(seed: number, run: () => Promise<T> | T): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof Error) error.message = `MILLRACE_SEED=${seed} MILLRACE_HISTORIES=1: ${error.message}`;
    throw error;
  }
}

async function worldOf(
  emulator: Emulator,
  clients: readonly CosmosClient[],
  name: string,
  containers: Readonly<Record<string, string>>,
): Promise<World> {
  await clients[0]?.databases.create({ id: name });
  const [application, ...others] = clients.map((client) => client.database(name));
  if (!application) throw new Error('The server was not started');
  for (const [id, path] of Object.entries({ ...containers, millrace: '/pk' }))
    await application.containers.create({
      id,
      partitionKey: { paths: [path] },
      defaultTtl: -1,
      // Either feed may be read.
      changeFeedPolicy: new ChangeFeedPolicy(ChangeFeedRetentionTimeSpan.fromMinutes(60)),
    });
  return {
    database: application,
    hosts: others.map((database) => ({ database })),
    feed: feedOf(emulator, name),
    write: async (container, key, documents) => {
      const operations = documents.map((resourceBody) => ({
        operationType: 'Upsert' as const,
        resourceBody: resourceBody as never,
      }));
      await untilAnswered(async () => {
        const { code } = await application.container(container).items.batch(operations, key);
        if (code !== 200) throw new Error(`Answered ${code}`);
      });
    },
    remove: (container, key, id) =>
      untilAnswered(async () => {
        await application
          .container(container)
          .item(id, key)
          .delete()
          .catch((error: unknown) => {
            if ((error as { code?: unknown }).code !== 404) throw error;
          });
      }),
    pass: ({ purge }) => {
      emulator.advance(1_000);
      if (purge) emulator.purge();
    },
    documents: async (container, where, key) => {
      const options = key === undefined ? {} : { partitionKey: key };
      const asked = application.container(container).items.query<Doc>(`SELECT * FROM c WHERE ${where}`, options);
      const found: Doc[] = [];
      // fetchAll() would ask for a plan first.
      while (asked.hasMoreResults()) found.push(...(await asked.fetchNext()).resources);
      return found;
    },
  };
}

/** By hand and without a session: an iterator of the SDK asks for the container first, whenever one goes back. */
function feedOf({ clientOptions }: Emulator, database: string): ReadFeed {
  const { endpoint, key, httpClient } = clientOptions;
  return ({ name, feed }, partition, from, size) =>
    untilAnswered(async () => {
      const link = `dbs/${database}/colls/${name}`;
      const date = new Date().toUTCString().toLowerCase();
      const signature = createHmac('sha256', Buffer.from(key, 'base64'))
        .update(`get\ndocs\n${link}\n${date}\n\n`)
        .digest('base64');
      const headers = {
        authorization: encodeURIComponent(`type=master&ver=1.0&sig=${signature}`),
        'x-ms-date': date,
        'x-ms-version': '2020-07-15',
        'a-im': feed === 'all-versions' ? 'Full-Fidelity Feed' : 'Incremental Feed',
        'x-ms-documentdb-partitionkey': JSON.stringify([partition]),
        'x-ms-max-item-count': String(size),
        ...(from !== '' && { 'if-none-match': from }),
      };
      const request = {
        method: 'GET',
        url: new URL(`${link}/docs`, endpoint).href,
        headers: { toJSON: () => headers },
      };
      const { status, headers: answered, bodyAsText } = await httpClient.sendRequest(request as never);
      if (status !== 200 && status !== 304) throw new Error(`The feed answered ${status}: ${bodyAsText}`);
      const { Documents = [] } = JSON.parse(bodyAsText || '{}') as { readonly Documents?: readonly unknown[] };
      return { documents: Documents, next: answered.get('etag') ?? from };
    });
}

/** Throttled, or the answer was lost: what is asked may be asked again. */
export async function untilAnswered<T>(call: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await call();
    } catch (error) {
      if (tries === 50) throw error;
    }
  }
}
