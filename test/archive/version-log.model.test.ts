// The version log while hosts and sweeps are cut off at any request, against an oracle that knows only the application's
// writes and their times. ARC-V1 to ARC-V3, ARC-V6.
import { expect, it } from 'vitest';
import { archiveAgain } from '../../src/archive/again.ts';
import { documentsAsOf } from '../../src/archive/as-of.ts';
import type { BlobStore } from '../../src/archive/blob-store.ts';
import type { Gate } from '../../src/archive/types.ts';
import { verifyArchive } from '../../src/archive/verify.ts';
import { beginLog } from '../../src/archive/log-begin.ts';
import { listLog, versionLog } from '../../src/archive/version-log.ts';
import type { ArchiveSpec, Doc } from '../../src/definition/specs.ts';
import { archiveRunner } from '../../src/projections/archive/archive-runner.ts';
import { liveHalf } from '../../src/projections/archive/live-half.ts';
import type { DocumentAccess } from '../../src/sinks/document-access.ts';
import { Crash } from '../projections/history.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';
import { MemoryBlobStore } from './memory-blob-store.ts';
import { type ArchiveStage, OPEN, SIGNAL, SPEC, archiveStage, collect, order } from './stage.ts';

const SEED = suiteSeed();
const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 10);
const STEPS = 50;
const LOGGED: ArchiveSpec = { ...SPEC, versionLog: true };

interface Written {
  readonly id: string;
  readonly at: number;
  /** Null: a deletion. */
  readonly doc: Doc | null;
}

it(`the log is whole, wherever its writers were cut off (seed ${SEED})`, async () => {
  const totals = { cuts: 0, cold: 0, compared: 0 };
  for (let history = 0; history < HISTORIES; history++) {
    const seed = SEED + history;
    try {
      await live(new Random(seed), totals);
    } catch (error) {
      throw new Error(`MILLRACE_SEED=${seed} MILLRACE_HISTORIES=1`, { cause: error });
    }
  }
  // A model in which nothing is cut off or gets cold would prove nothing.
  expect(totals.cuts).toBeGreaterThanOrEqual(HISTORIES);
  expect(totals.cold).toBeGreaterThanOrEqual(Math.floor(HISTORIES / 20));
  expect(totals.compared).toBeGreaterThanOrEqual(HISTORIES);
});

async function live(random: Random, totals: { cuts: number; cold: number; compared: number }): Promise<void> {
  const store = new MemoryBlobStore();
  const stage = await archiveStage(store, 'all-versions');
  /** Crashes before a request, or when it has had its effect. */
  const cut = async <T>(request: () => Promise<T>): Promise<T> => {
    const point = (): void => {
      if (!random.chance(0.06)) return;
      totals.cuts += 1;
      throw new Crash();
    };
    point();
    const answer = await request();
    point();
    return answer;
  };
  const cutStore: BlobStore = {
    list: (prefix) => store.list(prefix),
    read: (name) => cut(() => store.read(name)),
    // The answer of a write may be lost, and a repetition of the request finds the blob.
    put: (...args) => cut(async () => (await store.put(...args)) && !random.chance(0.1)),
  };
  const cutAccess = (): DocumentAccess => {
    const access = stage.access();
    return {
      fence: access.fence,
      read: (...args) => cut(() => access.read(...args)),
      commit: (...args) => cut(() => access.commit(...args)),
      query: (...args) => cut(() => access.query(...args)),
    };
  };
  const open = async (): Promise<BlobStore> => cutStore;
  const sift = liveHalf({ specs: [LOGGED], stateContainer: 'millrace', defaultTtl: -1, again: archiveAgain(open) });
  const runner = archiveRunner(LOGGED, { stateContainer: 'millrace', logVersions: versionLog(open) });
  const writes: Written[] = [];
  let position: number | undefined;
  let began: number | undefined;

  /** One page from a checkpoint, or from before it: another host had a part of it. */
  const host = async (): Promise<void> => {
    const changes = await stage.changes();
    const checkpoint = (position ??= changes.length);
    const to = Math.min(changes.length, checkpoint + 1 + random.int(6));
    const page = changes.slice(Math.max(0, checkpoint - random.int(3)), to);
    const access = cutAccess();
    await runner.apply(await sift(page, access), access);
    position = to;
  };
  const begin = async (): Promise<void> => {
    if (position === undefined || began !== undefined) return;
    // Mostly in slices: each ends after what it has in hand.
    const until = random.chance(0.7) ? 0 : Infinity;
    const archive = { ...stage.archive, spec: LOGGED, store: cutStore, access: cutAccess };
    if ((await beginLog(archive, { until, readLagMs: 0, signal: SIGNAL })) === undefined) return;
    began = (await stage.changes()).at(-1)?.at ?? 0;
  };
  const sweep = async (): Promise<void> => {
    if (position === undefined) return;
    await begin();
    const lsn = (await stage.changes())[position - 1]?.version.lsn ?? 0;
    // Only what hosts have read leaves.
    const gate = async (): Promise<Gate> => ({ ...OPEN, acknowledged: () => lsn });
    await stage.sweep({ gate }, { spec: LOGGED, store: cutStore, access: cutAccess });
    await listLog(LOGGED, { store: cutStore, signal: SIGNAL });
  };
  const steps = [
    () => write(stage, random, writes),
    () => write(stage, random, writes),
    () => unlessCut(host),
    () => unlessCut(sweep),
    async () => void (totals.cold += await expire(stage, random)),
  ];
  for (let step = 0; step < STEPS; step++) await random.pick(steps)();
  const hasBegun = async (): Promise<boolean> => {
    await unlessCut(host);
    await unlessCut(begin);
    return began !== undefined;
  };
  for (let tries = 0; !(await hasBegun()); tries++) expect(tries).toBeLessThan(200);
  await write(stage, random, writes);
  while ((position ?? 0) < (await stage.changes()).length) await unlessCut(host);
  await listLog(LOGGED, { store, signal: SIGNAL });

  const archive = { ...stage.archive, spec: LOGGED };
  for (const at of new Set(writes.map((written) => written.at).filter((time) => time >= Number(began)))) {
    const wanted = new Map<string, Doc>();
    for (const written of writes.filter((one) => one.at <= at))
      if (written.doc) wanted.set(written.id, written.doc);
      else wanted.delete(written.id);
    for (const tenant of [undefined, 't0']) {
      const found = await collect(documentsAsOf(archive, { at, tenant, signal: SIGNAL }));
      const of = [...wanted.values()].filter((doc) => tenant === undefined || doc['tenant'] === tenant);
      expect(sorted(found.map(({ doc }) => doc))).toEqual(sorted(of));
      totals.compared += 1;
    }
  }
  const { log, faults } = await verifyArchive(archive, { signal: SIGNAL });
  expect(faults).toEqual([]);
  expect(log).toMatchObject({ from: expect.any(Number), unlisted: 0 });
}

async function write(stage: ArchiveStage, random: Random, writes: Written[]): Promise<void> {
  const { emulator, orders } = stage;
  const number = random.int(4);
  const doc = order(`d${number}`, { cents: random.int(1_000), tenant: `t${number % 2}` });
  if (random.chance(0.6)) emulator.advance(1_000 * (1 + random.int(4)));
  const gone = random.chance(0.3);
  if (gone) {
    const { statusCode } = await orders
      .item(doc.id, String(doc['tenant']))
      .delete()
      .catch((error: unknown) => ({ statusCode: Number((error as { code: unknown }).code) }));
    if (statusCode === 404) return;
  } else await orders.items.upsert(doc);
  writes.push({ id: doc.id, at: (await stage.changes()).at(-1)?.at ?? NaN, doc: gone ? null : doc });
}

/** The service lets a document expire that a sweep has marked. Returns how many. */
async function expire({ emulator, orders }: ArchiveStage, random: Random): Promise<number> {
  const { resources } = await orders.items.query<{ id: string; ttl?: number }>('SELECT * FROM c').fetchAll();
  const marked = resources.filter(({ ttl }) => ttl !== undefined && random.chance(0.7));
  for (const { id } of marked) emulator.expire('d/Orders', id);
  return marked.length;
}

async function unlessCut(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) if (cause instanceof Crash) return;
    throw error;
  }
}

const sorted = (docs: readonly Doc[]): Doc[] => docs.toSorted((a, b) => (String(a['id']) < String(b['id']) ? -1 : 1));
