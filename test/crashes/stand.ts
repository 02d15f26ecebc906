// The account of crash points: one embedded server for all runs of a scenario, a database for each.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Container } from '@azure/cosmos';
import type { ContainerClient } from '@azure/storage-blob';
import { MillraceError } from '../../src/base/errors.ts';
import type { Settings } from '../../src/base/settings.ts';
import { fetchAll } from '../../src/cosmos/fetch-all.ts';
import { type Emulator, startEmulator } from '../../src/emulator/index.ts';
import { DeadLetters } from '../../src/engine/dead-letters/dead-letters.ts';
import { Views } from '../../src/engine/views/views.ts';
import type { Doc, Pipeline } from '../../src/pipeline/specs.ts';
import { planModel } from '../../src/procedures/apply/apply.ts';
import { readInProgress } from '../../src/procedures/status/in-progress.ts';
import { verify } from '../../src/procedures/verify/verify.ts';
import { type App, compose } from '../../src/runtime/hosts/processor-host.ts';
import { loadPipeline } from '../../src/runtime/pipeline/load-pipeline.ts';
import { type OpenServices, openServices } from '../../src/runtime/services.ts';
import type { Tables } from '../../src/testing/tables.ts';
import { type LoadedPipeline, changedWorkspace } from '../../src/runtime/workspace.ts';
import { registry } from '../../src/host/registry.ts';
import { openWorkspace } from '../../src/runtime/open-workspace.ts';
import type { OperationResult } from '../../src/verbs/operation.ts';
import type { Mortal, Scenario, World } from '../support/crashes.ts';
import { blobsOf } from '../support/azurite.ts';
import { openMap } from '../support/spread-stage.ts';
import { MemoryBlobs } from './memory-blobs.ts';
import type { MemoryHub } from './memory-hub.ts';
import { Life, type ProcessTime } from '../support/process-time.ts';

export const { signal: NEVER } = new AbortController();
const SILENT = { live: false, line: () => undefined, draw: () => undefined, progress: () => undefined };

/** What a process of a scenario works with. */
export interface Ground {
  readonly settings: Settings;
  readonly services: OpenServices;
  readonly loaded: LoadedPipeline;
}

/** The application and the judge: what they send is no boundary. */
export interface Shop extends Ground {
  readonly emulator: Emulator;
  readonly blobs: MemoryBlobs;
  readonly tables?: Tables;
  readonly time: ProcessTime;
  container(name: string): Container;
  put(container: string, ...documents: readonly Doc[]): Promise<void>;
  /** As a process of its own, until `work` ends. */
  as<T>(process: Mortal, work: (ground: Ground) => Promise<T>): Promise<T>;
  /** The process is a host from now on; resolves once it has processed everything. */
  derive(process: Mortal): Promise<void>;
  /** It is a host no more. */
  stop(process: Mortal): Promise<void>;
  /** By a process that doesn't die. */
  derived(): Promise<void>;
  /** A host that doesn't die, beside all that follows. */
  live(): Promise<void>;
  /** Writes by an application, one after the other, beside all that follows. */
  writes(...writes: readonly (() => Promise<unknown>)[]): void;
  /** Runs a verb, as a command line does. */
  run(process: Mortal, verb: string, input?: Readonly<Record<string, unknown>>): Promise<OperationResult>;
  /** The same by a process that doesn't die. */
  plainly(verb: string, input?: Readonly<Record<string, unknown>>): Promise<OperationResult>;
  /** The same by a process that dies after so many requests. */
  until(requests: number, verb: string, input?: Readonly<Record<string, unknown>>): Promise<void>;
  /** Resolves once everything is written. */
  written(): Promise<unknown>;
  /** Resolves once everything is written and derived; nothing runs any more. */
  rest(): Promise<void>;
}

/** Done again where a process died in it. */
export type Step = (process: Mortal) => Promise<unknown>;

export interface Steps {
  readonly steps: readonly Step[];
  /** What an operator does once all is done. */
  readonly after?: () => Promise<unknown>;
  /** Beside the comparison of all that is derived, and what is in progress. */
  readonly judge?: () => Promise<void>;
  /** False: nothing is derived, so that nothing is compared. */
  readonly derives?: boolean;
  /** `projection: container/id` of the letters that are there in the end. */
  readonly letters?: readonly string[];
}

export interface ShopScenario {
  readonly name: string;
  readonly folder: string;
  readonly pipeline?: (pipeline: Pipeline) => Pipeline;
  readonly settings?: Partial<Settings>;
  /** Takes what is published, and has what is ingested. */
  readonly hub?: MemoryHub;
  /** Binds the tables of the pipeline to a database. */
  readonly bind?: (loaded: LoadedPipeline) => Promise<{ readonly loaded: LoadedPipeline; readonly tables: Tables }>;
  /** Over the shards `west` and `east` of a map of this kind. */
  readonly shards?: 'list' | 'range';
  readonly steps: (shop: Shop) => Promise<Steps> | Steps;
}

export function shopScenario({
  name: scenario,
  folder,
  pipeline = (of) => of,
  settings: own = {},
  hub,
  bind,
  shards,
  steps,
}: ShopScenario): Scenario {
  return {
    name: scenario,
    open: async (time) => {
      const { pipeline: whole, ...rest } = await loadPipeline(folder);
      const unbound = { ...rest, pipeline: pipeline(whole) };
      const { loaded, tables } = bind ? await bind(unbound) : { loaded: unbound, tables: undefined };
      const emulator = await startEmulator({ seed: 1, faults: { historyMs: 3_600_000 } });
      const { httpClient } = emulator.clientOptions;
      const account = { kind: 'key', endpoint: emulator.endpoint, key: emulator.key } as const;
      return {
        world: async (run) => {
          const database = `run-${run}`;
          const settings: Settings = {
            cosmos: account,
            database,
            leases: { account, database, container: 'leases' },
            stateContainer: 'millrace',
            preferredRegions: [],
            ...own,
            ...(shards && { shardMaps: { endpoint: emulator.endpoint, database: `maps-${run}` } }),
          };
          const services = await openServices(settings, {
            httpClient: { sendRequest: (of) => time.request(() => httpClient.sendRequest(of)) },
          });
          const ground = { settings, services, loaded };
          if (shards) {
            const { addShard } = await openMap(ground, shards);
            for (const name of ['west', 'east']) await addShard(`${name}-${run}`);
          } else for (const step of await planModel(loaded, services)) await step.apply();
          const shop = { ...shopOf(ground, time, emulator, hub), ...(tables && { tables }) };
          return worldOf(shop, await steps(shop));
        },
        [Symbol.asyncDispose]: async () => {
          await tables?.[Symbol.asyncDispose]();
          await emulator.close();
        },
      };
    },
  };
}

function shopOf(ground: Ground, time: ProcessTime, emulator: Emulator, hub: MemoryHub | undefined): Shop {
  const { httpClient } = emulator.clientOptions;
  const container = (name: string): Container => ground.services.place.database.container(name);
  const blobs = new MemoryBlobs();
  const open = async (process: Mortal): Promise<OpenServices> => {
    const services = await openServices(ground.settings, { httpClient: process.transport(httpClient) });
    const hubs = { ...services.hubs, ...hub?.clients };
    const archives = ground.loaded.pipeline.archives.length > 0;
    const instead = { hubs, ...(archives && { blobs: async () => blobsOf(blobs as unknown as ContainerClient) }) };
    return { ...services, ...instead, inBulk: async () => ({ ...(await services.inBulk()), ...instead }) };
  };
  const as: Shop['as'] = async (process, work) => {
    const services = await open(process);
    try {
      return await work({ ...ground, services });
    } finally {
      services.close();
    }
  };
  const hosts = new Map<Mortal, { readonly own: Ground; readonly app: App }>();
  const plain = plainProcess(time);
  let written: Promise<unknown> = Promise.resolve();
  const shop: Shop = {
    ...ground,
    time,
    emulator,
    blobs,
    container,
    as,
    put: async (name, ...documents) => {
      for (const document of documents) await container(name).items.upsert(document);
    },
    derive: async (process) => {
      let host = hosts.get(process);
      if (!host) {
        const own = { ...ground, services: await open(process) };
        const timings = process === plain ? {} : SOON;
        const app = await compose({
          ...own,
          readLagMs: 0,
          timings,
          host: process.name,
          ...(hub && { instead: { hub: hub.sink } }),
        });
        host = { own, app };
        hosts.set(process, host);
        await host.app.start();
      }
      await drained(host.app);
    },
    stop: async (process) => {
      const host = hosts.get(process);
      hosts.delete(process);
      await host?.app.stop();
      host?.own.services.close();
    },
    derived: async () => {
      const first = plainProcess(time);
      await shop.derive(first);
      await shop.stop(first);
    },
    live: () => shop.derive(plain),
    writes: (...writes) => {
      written = (async () => {
        for (const write of writes) {
          await delay(EVERY_MS);
          await write();
        }
      })();
    },
    run: (process, verb, input = {}) =>
      as(process, async (own) => {
        const operation = registry.get(verb);
        if (!operation) throw new Error(`No ${verb}`);
        const opened = openWorkspace({ directory: import.meta.dirname, pipeline: ground.loaded.folder });
        const workspace = changedWorkspace(opened, {
          settings: () => own.settings,
          services: () => Promise.resolve(own.services),
          pipeline: () => Promise.resolve(own.loaded),
        });
        return operation.run(input, { workspace, actor: process.name, signal: NEVER, screen: SILENT });
      }),
    plainly: (verb, input) => shop.run(plainProcess(time), verb, input),
    until: async (requests, verb, input) => {
      const dying = new Life();
      const { promise: dead, resolve: die } = Promise.withResolvers<void>();
      let sent = 0;
      const dies = plainProcess(time);
      const transport: Mortal['transport'] = ({ sendRequest }) => ({
        sendRequest: (of) =>
          time.request(async () => {
            const answer = await sendRequest(of);
            if ((sent += 1) === requests) {
              dying.over = true;
              die();
            }
            return answer;
          }),
      });
      const work = time.live(dying, () => shop.run({ ...dies, transport }, verb, input));
      await Promise.race([dead, work]);
      if (sent < requests) throw new Error(`${verb} sent ${sent} requests, and so did not die`);
    },
    written: () => written,
    rest: async () => {
      await written;
      if (!hosts.has(plain)) return;
      await shop.derive(plain);
      await shop.stop(plain);
    },
  };
  return shop;
}

/** What a process that died has left ends by then, if it ever does. */
const ENDED_MS = 600_000;
/** A host that has died is missed soon. One that doesn't die has the usual timings: each look of it costs a test time. */
const SOON = { pollMs: 500, acquireMs: 500, expirationMs: 2_000, renewMs: 800, stopMs: 1_000 };
/** Between two writes of an application. */
const EVERY_MS = 3_000;

const plainProcess = (time: ProcessTime): Mortal => ({
  name: 'first',
  transport: (httpClient) => ({ sendRequest: (of) => time.request(() => httpClient.sendRequest(of)) }),
  request: (_what, _writes, send) => time.request(send),
});

/** @throws Error if it takes longer than anything here may */
const drained = (app: App): Promise<void> => app.drained(AbortSignal.timeout(3_600_000));

function worldOf(shop: Shop, { steps, after, judge, derives = true, letters = [] }: Steps): World {
  let next = 0;
  return {
    work: async (process) => {
      for (; next < steps.length; next++) await steps[next]?.(process);
      await shop.stop(process);
    },
    judge: async () => {
      await shop.written();
      await after?.();
      await shop.rest();
      await delay(ENDED_MS);
      await shop.as(plainProcess(shop.time), (ground) => settled(ground, letters, derives));
      await judge?.();
    },
    [Symbol.asyncDispose]: async () => {
      const { database } = shop.services.place;
      const own = database.id.replace('run', '');
      for (const { id } of (await database.client.databases.readAll().fetchAll()).resources)
        if (id.endsWith(own)) await database.client.database(id).delete();
      shop.services.close();
    },
  };
}

/** Everything is derived as the oracle says, parked where it must be, and nothing is in progress. */
async function settled({ loaded, services }: Ground, letters: readonly string[], derives: boolean): Promise<void> {
  const parked = await new DeadLetters(services.place.state).list();
  const listed = parked.map(({ projection, container, id }) => `${projection}: ${container}/${id}`).toSorted();
  assert.deepEqual(listed, letters, `${JSON.stringify(listed)}: ${parked.map(({ message }) => message).join(', ')}`);
  if (derives) {
    const { differences } = await verify(loaded, services, { signal: NEVER, screen: SILENT, readLagMs: 0 });
    assert.deepEqual(differences, [], JSON.stringify(differences).slice(0, 1_000));
  }
  const views = await new Views(services.global.state, loaded.pipeline.name).read();
  assert.deepEqual(await readInProgress(services, views, NEVER), []);
  assert.deepEqual(
    Object.entries(views ?? {}).filter(([, { rewriting = [] }]) => rewriting.length > 0),
    [],
  );
  const { place, global } = services;
  assert.deepEqual(await found(place.state, "SELECT * FROM c WHERE c.pk = 'locks'"), []);
  // Of what is read beside the hosts: its name has a version.
  assert.deepEqual(await found(global.leases, "SELECT VALUE c.id FROM c WHERE CONTAINS(c.id, '@')"), []);
}

async function found(container: Container, query: string): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const one of fetchAll<Doc>(container, query, NEVER, { anyFormat: true })) all.push(one);
  return all;
}

/** Every kind of derived document. */
export const ERASE = join(import.meta.dirname, '../fixtures/erase');

/** The shop with two versions of each projection, of all versions of its documents. */
export const VERSIONS_ALL = join(import.meta.dirname, '../fixtures/versions-all');

export const orderOf = (id: string, more: Doc = {}): Doc => ({
  id,
  type: 'order',
  storeId: 's1',
  customerId: 'c1',
  placedAt: '2026-01-01T10:00:00.000Z',
  cents: 10,
  ...more,
});
/** Into which a name is embedded. */
export const order = (id: string, customerId: string, more: Doc = {}): Doc =>
  orderOf(id, { customerId, customerName: '', ...more });
export const customer = (id: string, name: string): Doc => ({ id, type: 'customer', storeId: 's1', name });

/** Each page is there once the one before is derived. */
export const inPages = (shop: Shop, pages: readonly Step[]): Step[] =>
  pages.flatMap((write) => [write, (process: Mortal) => shop.derive(process)]);

/** Done by a process that died after its last request. */
export const unlessDone =
  (step: Step, code: string): Step =>
  (process) =>
    step(process).catch((error: unknown) => {
      if (!(error instanceof MillraceError && error.code === code)) throw error;
    });
