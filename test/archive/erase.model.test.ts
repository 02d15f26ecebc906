// Random archives from which one tenant is erased, killed between any two requests, while others archive and restore:
// ERASE-B1 to ERASE-B5.
import { gunzipSync } from 'node:zlib';
import type { Container, Database } from '@azure/cosmos';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ErasableStore } from '../../src/access/blob-store.ts';
import { compactArchive } from '../../src/archive/compact.ts';
import { type ErasedArchive, eraseFromArchive } from '../../src/archive/erase.ts';
import { readHistory } from '../../src/archive/read/history.ts';
import { restoreArchive } from '../../src/archive/restore.ts';
import { sweepArchive } from '../../src/archive/sweep/sweep.ts';
import type { Archive, ReadErased } from '../../src/archive/types.ts';
import { verifyArchive } from '../../src/archive/verify.ts';
import { systemClock } from '../../src/base/clock.ts';
import { canonical } from '../../src/base/json.ts';
import { connect } from '../../src/cosmos/connect.ts';
import { Meter } from '../../src/cosmos/budget/charge-meter.ts';
import { FULL_RANGE } from '../../src/cosmos/ranges.ts';
import type { ArchiveSpec, Doc } from '../../src/pipeline/specs.ts';
import { visible } from '../../src/pipeline/oracle/recompute.ts';
import { MARKS } from '../../src/engine/runners.ts';
import { type Emulator, startEmulator } from '../../src/emulator/index.ts';
import type { SourceContainer } from '../../src/feed/reading/mapper.ts';
import { CosmosChangeSource } from '../../src/feed/reading/source.ts';
import { archiveRunner } from '../../src/kinds/archive/archive-runner.ts';
import { CosmosAccess } from '../../src/access/cosmos-access.ts';
import type { DocumentAccess } from '../../src/access/document-access.ts';
import { Crash, UNFENCED } from '../kinds/history.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';
import { MemoryBlobStore } from './memory-blob-store.ts';
import { NOW, OPEN, RECORD, SIGNAL, SPEC, TENANT } from './stage.ts';

// MILLRACE_SEED repeats a history, MILLRACE_HISTORIES changes how many there are.
const SEED = suiteSeed();
const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 10);
const READ_LAG_MS = 8;
/** `all` is also the folder of archives without tenants; `gone` and `gone~` have folders alike. */
const TENANTS = ['gone', 'gone~', 'all', 'b'] as const;

let emulator: Emulator;
let database: Database;
let close: () => void;

beforeAll(async () => {
  emulator = await startEmulator({ seed: SEED });
  const { httpClient } = emulator.clientOptions;
  const client = connect({ kind: 'key', endpoint: emulator.endpoint, key: emulator.key }, [], { httpClient });
  close = () => client.dispose();
  database = (await client.databases.create({ id: 'model' })).database;
});
afterAll(async () => {
  close();
  await emulator.close();
});

it(`after any history, nothing of the tenant is left and nothing of others is lost (seed ${SEED})`, async () => {
  const total = { traces: 0, lines: 0, rewritten: 0, crashes: 0, compacted: 0 };
  for (let seed = SEED; seed < SEED + HISTORIES; seed++) {
    try {
      const { traces, crashes, compacted, erased } = await live(seed);
      total.compacted += compacted;
      total.traces += traces;
      total.crashes += crashes;
      for (const { lines, rewritten } of erased) {
        total.lines += lines;
        total.rewritten += rewritten;
      }
    } catch (error) {
      throw new Error(`MILLRACE_SEED=${seed} MILLRACE_HISTORIES=1`, { cause: error });
    }
  }
  // A model in which nothing is erased, rewritten or killed would prove nothing. How much it is depends on timing too.
  const { rewritten, ...often } = total;
  for (const count of Object.values(often)) expect(count).toBeGreaterThan(HISTORIES / 10);
  // A compaction leaves few blobs of several tenants.
  expect(rewritten).toBeGreaterThanOrEqual(Math.floor(HISTORIES / 20));
});

async function live(
  seed: number,
): Promise<{ traces: number; crashes: number; compacted: number; erased: ErasedArchive[] }> {
  const random = new Random(seed);
  const world = await worldOf(`e${seed}`);
  const tenant = random.pick(TENANTS);
  let compacted = 0;
  for (let step = 0; step < 14; step++) {
    const kind = random.unit();
    if (kind < 0.5) for (let n = 1 + random.int(4); n > 0; n--) await world.write(random, random.pick(TENANTS));
    else if (kind < 0.75) await world.sweep(random.chance(0.5));
    else if (kind < 0.82) compacted += await world.compact();
    else await world.restore(random.pick(TENANTS));
  }
  await world.write(random, tenant);
  await world.sweep(true);
  // What the caller owes.
  await world.leave(tenant);
  const { length: traces } = await world.traces(tenant);
  const lined = world.lined(tenant);

  const erased: ErasedArchive[] = [];
  let crashes = 0;
  for (let clean = false; !clean;) {
    // The later attempts live longer, so that one of them ends.
    const killed = mortal(random.int(12 + 6 * crashes));
    const beside = random.chance(0.5)
      ? [world.others(random, tenant)]
      : random.chance(0.3)
        ? [world.restore(random.pick(TENANTS.filter((one) => one !== tenant)))]
        : [];
    const attempt = world.erase(tenant, killed).catch((error: unknown) => {
      if (!(error instanceof Crash)) throw error;
      crashes += 1;
    });
    // Its grace outlasts what the erasure decides.
    if (random.chance(0.5)) beside.push(world.compact(tenant, attempt).then((removed) => void (compacted += removed)));
    const [result] = await Promise.all([attempt, ...beside]);
    if (result) erased.push(result);
    clean = result?.removed.length === 0;
    // Whatever a crash leaves, others read a whole archive.
    await world.holds(tenant);
  }
  expect(erased.flatMap(({ held, faults }) => [...held, ...faults])).toEqual([]);
  expect(await world.traces(tenant, lined)).toEqual([]);
  return { traces, crashes, compacted, erased };
}

type Kill = <T>(call: () => Promise<T>) => Promise<T>;

/** A process that dies before or after its nth request. */
function mortal(requests: number): Kill {
  let left = requests;
  return async (call) => {
    if (left-- <= 0) throw new Crash();
    const result = await call();
    if (left < 0) throw new Crash();
    return result;
  };
}

async function worldOf(container: string) {
  const stateContainer = `s${container}`;
  const definition = { partitionKey: { paths: ['/tenant'] }, defaultTtl: -1 };
  const { resource } = await database.containers.create({ id: container, ...definition });
  await database.containers.create({ id: stateContainer, partitionKey: { paths: ['/pk'] }, defaultTtl: -1 });
  emulator.faults({ replicaLagMs: READ_LAG_MS / 2 });
  const rid = String((resource as { _rid?: string })._rid);
  const source: SourceContainer = {
    name: container,
    keyPaths: [['tenant']],
    types: new Map([['order', {}]]),
    marks: MARKS,
  };
  const store = new MemoryBlobStore();
  const truth = new Map<string, Doc>();
  const docs: Container = database.container(container);
  const access = (): DocumentAccess => new CosmosAccess(database, UNFENCED, new Meter());
  const feed = new CosmosChangeSource(docs, rid, source, { epoch: 1 });
  const byTenant: ArchiveSpec = { ...SPEC, from: { container, type: 'order' } };
  const { tenantField: _, ...together } = byTenant;
  const archiveOf = (spec: ArchiveSpec): Archive => ({
    spec,
    source,
    feed: { source: feed, ranges: async () => [FULL_RANGE], container: docs, hashOf: () => '' },
    access: (fence) => new CosmosAccess(database, fence, new Meter()),
    stateContainer,
    store,
    mode: 'latest-version',
  });
  const derive = async (): Promise<void> => {
    await systemClock.sleep(READ_LAG_MS);
    await archiveRunner(byTenant, { stateContainer }).apply(
      (await feed.read(FULL_RANGE, '', SIGNAL)).changes,
      access(),
    );
  };
  const sweep = async (shared: boolean): Promise<void> => {
    await derive();
    const spec = shared ? together : byTenant;
    await sweepArchive(archiveOf(spec), { now: NOW, gate: async () => OPEN, signal: SIGNAL });
  };
  const write = async (random: Random, tenant: string): Promise<void> => {
    const id = `d${random.int(3)}`;
    const date = random.chance(0.8) ? `2000-0${1 + random.int(2)}-05` : '2002-01-01';
    const doc = { id, tenant, type: 'order', date, cents: random.int(1_000) };
    await docs.items.upsert(doc);
    truth.set(`${tenant}/${id}`, doc);
  };
  const restore = async (tenant: string): Promise<void> => {
    await restoreArchive(archiveOf(together), { tenant }, { signal: SIGNAL });
    await derive();
  };
  const owns = (tenant: string) => (_container: string, document: object) =>
    (document as { tenant?: unknown }).tenant === tenant;
  return {
    write,
    sweep,
    restore,
    /** Another tenant goes on: it writes, archives, and what is archived is read. */
    others: async (random: Random, gone: string): Promise<void> => {
      await write(random, random.pick(TENANTS.filter((one) => one !== gone)));
      await sweep(random.chance(0.7));
    },
    /** Leaves the blobs of the tenant that is erased. Returns how many blobs it has removed. */
    compact: async (gone?: string, until?: Promise<unknown>): Promise<number> => {
      const grace = async (): Promise<void> => {
        await until;
        await systemClock.sleep(READ_LAG_MS);
      };
      const archive = { ...archiveOf(byTenant), store, source: { ...source, tenant: TENANT } };
      const erased: ReadErased = async () => (tenant) => (tenant === gone ? RECORD : undefined);
      return (await compactArchive(archive, { signal: SIGNAL, erased, grace })).removed;
    },
    leave: async (tenant: string): Promise<void> => {
      const { resources } = await docs.items
        .query<{ id: string }>({
          query: 'SELECT c.id FROM c WHERE c.tenant = @tenant',
          parameters: [{ name: '@tenant', value: tenant }],
        })
        .fetchAll();
      for (const { id } of resources) await docs.item(id, tenant).delete();
      await systemClock.sleep(READ_LAG_MS);
    },
    erase: (tenant: string, kill: Kill): Promise<ErasedArchive> => {
      const inner = access();
      const dying: ErasableStore = {
        put: (...of) => kill(() => store.put(...of)),
        read: (...of) => kill(() => store.read(...of)),
        list: (prefix) => store.list(prefix),
        listEver: (prefix) => store.listEver(prefix),
        readEver: (...of) => kill(() => store.readEver(...of)),
        remove: (...of) => kill(() => store.remove(...of)),
      };
      const dyingAccess: DocumentAccess = {
        fence: inner.fence,
        read: (...of) => kill(() => inner.read(...of)),
        commit: (...of) => kill(() => inner.commit(...of)),
        query: (...of) => kill(() => inner.query(...of)),
      };
      return eraseFromArchive({
        store: dying,
        stateContainer,
        accesses: [dyingAccess],
        tenant,
        owns: owns(tenant),
        settleMs: READ_LAG_MS,
        clock: systemClock,
        signal: SIGNAL,
      });
    },
    /** What others have written is there once, and the archive is whole. */
    holds: async (gone: string): Promise<void> => {
      await derive();
      const found: string[] = [];
      const history = { ...archiveOf(byTenant), access: access(), readLagMs: READ_LAG_MS, signal: SIGNAL };
      for await (const { doc } of readHistory(history)) if (doc?.['tenant'] !== gone) found.push(textOf(doc ?? {}));
      const written = [...truth.values()].filter((doc) => doc['tenant'] !== gone);
      expect(found.toSorted()).toEqual(written.map(textOf).toSorted());
      expect((await verifyArchive(archiveOf(byTenant), { signal: SIGNAL })).faults).toEqual([]);
    },
    /** The ids of documents of which a blob has a line; read without Millrace. */
    lined: (tenant: string): Set<string> =>
      new Set(
        linesIn(store)
          .filter((line) => line.doc?.tenant === tenant)
          .map(({ id }) => id),
      ),
    /**
     * Everything in blobs, their names and the state container that names the tenant; read without Millrace. A compaction may
     * have left out the line of a void entry: such an entry goes with the other records of the state container (ERASE-R1).
     */
    traces: async (tenant: string, lined?: ReadonlySet<string>): Promise<string[]> => {
      await systemClock.sleep(READ_LAG_MS);
      const marker = `"tenant":${JSON.stringify(tenant)}`;
      const blobs = [...store.blobs].filter(([name, { bytes }]) =>
        name.endsWith('.gz') ? gunzipSync(bytes).toString().includes(marker) : false,
      );
      const folder = `cold@1/${tenant.replace('~', '~7E')}/`;
      const folders = tenant === 'all' ? [] : [...store.blobs.keys()].filter((name) => name.startsWith(folder));
      const { resources } = await database.container(stateContainer).items.query<Found>('SELECT * FROM c').fetchAll();
      const entries = resources.filter(
        (entry) =>
          entry.source?.key[0] === tenant && (entry.state === 'archived' || !lined || lined.has(entry.source.id)),
      );
      return [...blobs.map(([name]) => name), ...folders, ...entries.map((entry) => JSON.stringify(entry))];
    },
  };
}

/** An entry, as it is stored. */
interface Found {
  readonly source?: { readonly key: readonly string[]; readonly id: string };
  readonly state?: string;
}

const linesIn = ({ blobs }: MemoryBlobStore): { readonly id: string; readonly doc?: { readonly tenant?: string } }[] =>
  [...blobs]
    .filter(([name]) => name.endsWith('.gz'))
    .flatMap(([, { bytes }]) => gunzipSync(bytes).toString().split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { readonly id: string });

const textOf = (doc: Doc): string => canonical(visible(doc));
