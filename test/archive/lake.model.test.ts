// Parquet files while documents are archived, restored, changed, deleted and compacted, and while runs are cut off, against
// an oracle that knows only what was done. ARC-H66, ARC-H68.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, it } from 'vitest';
import type { FileStore, NotedFile } from '../../src/archive/blob-store.ts';
import { compactArchive } from '../../src/archive/compact.ts';
import { type LakeResult, writeLake } from '../../src/archive/lake.ts';
import { restoreArchive } from '../../src/archive/restore.ts';
import type { Doc } from '../../src/definition/specs.ts';
import type { Model } from '../../src/model/model.ts';
import { Crash } from '../projections/history.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';
import { MemoryBlobStore } from './memory-blob-store.ts';
import { SIGNAL, archiveStage, order } from './stage.ts';

const SEED = suiteSeed();
const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 8);
const STEPS = 30;
/** It knows no type, so every field but `id` is in `_rest`. */
const MODEL: Model = { title: 'm', file: 'm.md', containers: [], findings: [] };
const IDS = ['a', 'b', 'c', 'd', 'e'];

/** Blobs in memory, with files that are replaced. */
class MemoryLakeStore extends MemoryBlobStore implements FileStore {
  readonly notes = new Map<string, string>();
  readonly cut: () => void;
  constructor(cut: () => void) {
    super();
    this.cut = cut;
  }

  async *files(prefix: string): AsyncGenerator<NotedFile> {
    for await (const name of this.list(prefix))
      yield { name, etag: this.blobs.get(name)?.etag ?? '', note: this.notes.get(name) };
  }

  async putFile(
    name: string,
    pieces: AsyncIterable<Uint8Array>,
    { ifMatch, note }: { readonly ifMatch: string | null; readonly note: string },
  ): Promise<boolean> {
    const all: Uint8Array[] = [];
    for await (const piece of pieces) {
      this.cut();
      all.push(piece);
    }
    this.cut();
    const done = await this.put(name, Buffer.concat(all), ifMatch);
    if (done) this.notes.set(name, note);
    this.cut();
    return done;
  }
}

it(`the files have what is archived (seed ${SEED})`, async () => {
  const totals = { cuts: 0, rows: 0, unchanged: 0, removed: 0 };
  let read = 0;
  const folder = await mkdtemp(join(tmpdir(), 'lake-model-'));
  const instance = await DuckDBInstance.create(':memory:');
  try {
    for (let history = 0; history < HISTORIES; history++) {
      const seed = SEED + history;
      try {
        await live(new Random(seed), totals, async (file) => {
          // DuckDB keeps what it has read of a path.
          const path = join(folder, `${(read += 1)}.parquet`);
          await writeFile(path, file);
          const connection = await instance.connect();
          const found = await connection.runAndReadAll(`SELECT id, _rest FROM read_parquet('${path}')`);
          connection.closeSync();
          return found.getRowObjectsJson().map(({ id, _rest }) => {
            const rest: unknown = typeof _rest === 'string' ? JSON.parse(_rest) : undefined;
            return { id, ...(rest as Doc) };
          });
        });
      } catch (error) {
        throw new Error(`MILLRACE_SEED=${seed} MILLRACE_HISTORIES=1`, { cause: error });
      }
    }
  } finally {
    instance.closeSync();
    await rm(folder, { recursive: true, force: true });
  }
  expect(totals.rows).toBeGreaterThan(0);
  // A model in which nothing is cut off, left alone or removed would prove nothing. Half of the histories cut nothing off,
  // and more remove nothing, so a few may lack it.
  if (HISTORIES < 50) return;
  expect(totals.rows).toBeGreaterThanOrEqual(HISTORIES);
  expect(totals.cuts).toBeGreaterThanOrEqual(HISTORIES / 8);
  expect(totals.unchanged).toBeGreaterThanOrEqual(HISTORIES / 2);
  expect(totals.removed).toBeGreaterThan(0);
});

const byId = (a: Doc, b: Doc): number => String(a['id']).localeCompare(String(b['id']));

async function live(
  random: Random,
  totals: { cuts: number; rows: number; unchanged: number; removed: number },
  rowsOf: (file: Uint8Array) => Promise<Doc[]>,
): Promise<void> {
  let cutting = true;
  const store = new MemoryLakeStore(() => {
    if (!cutting || !random.chance(0.08)) return;
    totals.cuts += 1;
    throw new Crash();
  });
  const stage = await archiveStage(store);
  const archive = { ...stage.archive, store };
  /** The oracle: what was done to each document last. */
  const docs = new Map<string, { readonly doc: Doc; readonly state: 'hot' | 'cold' | 'restored' | 'deleted' }>();
  let version = 0;
  const lake = (): Promise<LakeResult> => writeLake(archive, { model: MODEL, selection: {}, signal: SIGNAL });
  let runs: Promise<void>[] = [];
  const ended = async (): Promise<void> => {
    await Promise.all(runs);
    runs = [];
  };
  /** All rows of all files, with the files in which they should be, and are. */
  const rows = async (): Promise<{ readonly all: Doc[]; readonly due: string[]; readonly there: string[] }> => {
    const [all, due, there]: [Doc[], string[], string[]] = [[], [], []];
    for (const [name, { bytes }] of store.blobs)
      if (name.startsWith('lake/'))
        for (const row of await rowsOf(bytes)) {
          const [year, month] = String(row['date']).split('-');
          due.push(`lake/cold/tenant=${String(row['tenant'])}/year=${year}/month=${month}/documents.parquet`);
          there.push(name);
          all.push(row);
        }
    return { all: all.toSorted(byId), due, there };
  };

  const write = async (id: string, more: Doc = {}): Promise<void> => {
    const date = random.pick(['2000-05-06', '2000-06-07', '2000-06-08']);
    // A tenant is the key, and with another one it is another document.
    const doc = order(id, { tenant: id < 'd' ? 't' : 'u', date, cents: (version += 1), ...more });
    await stage.orders.items.upsert(doc);
    await stage.live();
    docs.set(id, { doc, state: more['deletedAt'] === undefined ? 'hot' : 'deleted' });
  };

  const steps: readonly (readonly [number, () => Promise<void>])[] = [
    [8, () => write(random.pick(IDS))],
    [1, () => write(random.pick(IDS), { deletedAt: 'now' })],
    [
      6,
      async () => {
        await stage.sweep();
        for (const [id, { doc, state }] of docs) if (state === 'hot') docs.set(id, { doc, state: 'cold' });
      },
    ],
    [
      4,
      async () => {
        const id = random.pick(IDS);
        const key = [id < 'd' ? 't' : 'u'];
        await restoreArchive(archive, { documents: [{ key, id }] }, { signal: SIGNAL });
        await stage.live();
        const known = docs.get(id);
        if (known?.state === 'cold') docs.set(id, { ...known, state: 'restored' });
      },
    ],
    [1, async () => void (await compactArchive(archive, { signal: SIGNAL, grace: async () => undefined }))],
    [
      5,
      async () => {
        // It runs beside the next steps.
        runs.push(
          lake().then(
            () => undefined,
            (error: unknown) => {
              if (!(error instanceof Crash)) throw error;
            },
          ),
        );
        if (random.chance(0.3)) await ended();
      },
    ],
  ];
  const deck = steps.flatMap(([weight, step]) => Array.from({ length: weight }, () => step));
  for (let n = 0; n < STEPS; n++) {
    await random.pick(deck)();
    if (!random.chance(0.15)) continue;
    await ended();
    cutting = false;
    const { faults, unchanged, removed } = await lake();
    expect(faults).toEqual([]);
    totals.unchanged += unchanged;
    totals.removed += removed;
    const { all, due, there } = await rows();
    const cold = [...docs.values()].flatMap(({ doc, state }) => (state === 'cold' ? [doc] : []));
    expect(all).toEqual(cold.toSorted(byId));
    expect(there).toEqual(due);
    totals.rows += all.length;
    cutting = true;
  }
  await ended();
}
