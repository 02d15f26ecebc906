// `archive lake` on Azurite, read by DuckDB and compared with what the test itself has written. ARC-H66 to ARC-H70.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob';
import { DuckDBInstance, type Json } from '@duckdb/node-api';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { writeLake } from '../../../src/archive/lake.ts';
import { AzureBlobStore } from '../../../src/archive/azure-blob-store.ts';
import type { Doc } from '../../../src/definition/specs.ts';
import { openArchives } from '../../../src/operations/archive/open.ts';
import { erase } from '../../../src/operations/tenants/erase.ts';
import { compose } from '../../../src/runtime/processor-host.ts';
import { cli } from '../../cli/cli.ts';
import { type Azurite, startAzurite } from '../../support/azurite.ts';
import { type Stage, openStage } from '../../support/stage.ts';
import { eraseOptions } from '../tenants/leaving.ts';

const LAKE = new URL('../../fixtures/lake', import.meta.url).pathname;
const SIGNAL = new AbortController().signal;

let azurite: Azurite;
let stage: Stage;
let blobs: ContainerClient;
let folder: string;
let used = 0;

beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(async () => {
  await azurite?.close();
});
beforeEach(async () => {
  const { connectionString } = azurite;
  const container = `lake-${(used += 1)}`;
  stage = await openStage({}, LAKE, { connectionString, container });
  blobs = BlobServiceClient.fromConnectionString(connectionString).getContainerClient(container);
  folder = await mkdtemp(join(tmpdir(), 'lake-'));
  for (const [name, value] of Object.entries({ ...stage.env, MILLRACE_PIPELINE: LAKE })) vi.stubEnv(name, value);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
  await stage[Symbol.asyncDispose]();
});

type Ride = Doc & { readonly id: string; readonly city: string };
const CITIES = ['graz', 'Sankt Pölten', '007'];

const ride = (n: number, more: object = {}): Ride => ({
  id: `r${n}`,
  type: 'ride',
  city: CITIES[n % 3] ?? '',
  endedAt: `${n < 12 ? '2025-12' : '2026-01'}-${String(1 + (n % 28)).padStart(2, '0')}T10:00:00.000Z`,
  cents: 100.5 * n,
  shared: n % 2 === 0,
  year: 1900 + n,
  stops: [{ name: `stop "${n}"`, minute: n }],
  driver: { id: `d${n % 4}`, rating: 4.5 },
  note: n % 5 === 0 ? null : { text: `ü${n}` },
  ...more,
});

/** Stores documents and moves them to the archive. */
async function archived(rides: readonly Ride[]): Promise<readonly Ride[]> {
  for (const one of rides) await stage.container('Rides').items.upsert(one);
  await applied();
  const { code, stderr } = await cli(['archive', 'sweep']);
  if (code !== 0) throw new Error(stderr);
  return rides;
}

async function applied(): Promise<void> {
  const app = await compose({ ...stage, host: 'test', readLagMs: 0, timings: { pollMs: 40 } });
  await app.start();
  await app.drained(AbortSignal.timeout(30_000));
  await app.stop();
}

async function lake(...args: string[]): Promise<{ code: number; value: unknown }> {
  const { code, stdout } = await cli(['archive', 'lake', ...args, '--json']);
  return { code, value: JSON.parse(stdout) };
}

/** The rows of a query of all files, as DuckDB reads them. */
async function query(sql: string): Promise<Record<string, Json>[]> {
  await rm(folder, { recursive: true, force: true });
  for await (const { name } of blobs.listBlobsFlat({ prefix: 'lake/' })) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, await blobs.getBlobClient(name).downloadToBuffer());
  }
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    await connection.run(
      `CREATE VIEW rides AS SELECT * FROM read_parquet('${folder}/**/*.parquet', hive_partitioning = true,
        hive_types = {'tenant': VARCHAR, 'year': INT, 'month': INT}, union_by_name = true)`,
    );
    return (await connection.runAndReadAll(sql)).getRowObjectsJson();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

const files = async (): Promise<string[]> => {
  const names: string[] = [];
  for await (const { name } of blobs.listBlobsFlat({ prefix: 'lake/' })) names.push(name);
  return names;
};
const ids = async (): Promise<Json[]> => (await query('SELECT id FROM rides ORDER BY id')).map(({ id }) => id ?? null);
const idsOf = (rides: readonly Ride[]): string[] => rides.map(({ id }) => id).toSorted();

it('DuckDB reads the files as one table, with the types of the model', async () => {
  const strange = [
    ride(20, { cents: 'a lot', surcharge: 7, shared: null }),
    ride(21, { note: [1, null, 'x'], driver: undefined }),
  ];
  const rides = await archived([...Array.from({ length: 20 }, (_, n) => ride(n)), ...strange]);
  expect(await lake('--dry-run')).toEqual({
    code: 0,
    value: { steps: ['rides-cold: write 6 files with 22 documents'], ru: 0 },
  });
  expect(await files()).toEqual([]);
  expect(await lake()).toMatchObject({
    code: 0,
    value: [{ archive: 'rides-cold', folder: 'lake/rides-cold/', written: 6, documents: 22, faults: [] }],
  });
  expect((await files()).map((name) => name.slice('lake/rides-cold/'.length))).toContain(
    'tenant=Sankt%20P%C3%B6lten/year=2025/month=12/documents.parquet',
  );

  const described = await query('DESCRIBE rides');
  expect(described.map((of) => [of['column_name'], of['column_type']])).toEqual([
    ['id', 'VARCHAR'],
    ['type', 'VARCHAR'],
    ['city', 'VARCHAR'],
    ['endedAt', 'VARCHAR'],
    ['cents', 'DOUBLE'],
    ['shared', 'BOOLEAN'],
    ['_year', 'DOUBLE'],
    ['stops', 'JSON'],
    ['driver', 'JSON'],
    ['note', 'JSON'],
    ['_changed_at', 'TIMESTAMP'],
    ['_rest', 'JSON'],
    ['month', 'INTEGER'],
    ['tenant', 'VARCHAR'],
    ['year', 'INTEGER'],
  ]);

  // The oracle: the same sums by plain JavaScript over what was written.
  const sums = Object.entries(
    Object.groupBy(rides, ({ city, endedAt }) => `${city}|${String(endedAt).slice(0, 7)}`),
  ).map(([place, of = []]) => ({
    place,
    documents: of.length,
    cents: of.reduce((sum, { cents }) => sum + (typeof cents === 'number' ? cents : 0), 0),
    shared: of.filter(({ shared }) => shared === true).length,
  }));
  const found = await query(
    `SELECT tenant || '|' || year || '-' || lpad(month::VARCHAR, 2, '0') AS place, count(*)::INT AS documents,
      sum(cents) AS cents, count(*) FILTER (shared)::INT AS shared FROM rides GROUP BY ALL ORDER BY place`,
  );
  expect(found).toEqual(sums.toSorted((a, b) => (a.place < b.place ? -1 : 1)));

  // Every document comes back from its row.
  const rows = await query('SELECT *, epoch_ms(_changed_at)::DOUBLE AS at FROM rides');
  const back = rows.map((row) => {
    const parsed = (name: string): unknown => (typeof row[name] === 'string' ? JSON.parse(row[name]) : row[name]);
    const { id, type, city, endedAt, cents, shared } = row;
    const fields = { id, type, city, endedAt, cents, shared, year: row['_year'] };
    const whole = { ...fields, ...Object.fromEntries(['stops', 'driver', 'note'].map((name) => [name, parsed(name)])) };
    return withoutNulls({ ...withoutNulls(whole), ...(parsed('_rest') as object) });
  });
  const byId = (of: readonly object[]) => Object.fromEntries(of.map((one) => [(one as Ride).id, one]));
  expect(byId(back)).toEqual(byId(rides.map(withoutNulls)));
  expect(Math.abs(Number(rows[0]?.['at']) - Date.now())).toBeLessThan(600_000);
});

/** An absent field and one that is null are the same in a row. */
const withoutNulls = (document: object): object =>
  Object.fromEntries(Object.entries(document).filter(([, value]) => value !== null && value !== undefined));

it('writes changed months only, and shows nothing that no entry names', async () => {
  const rides = await archived(Array.from({ length: 18 }, (_, n) => ride(n)));
  await lake();
  expect(await lake()).toMatchObject({ value: [{ written: 0, unchanged: 6, bytes: 0 }] });

  // A restored document, one that was changed after, and a month that has none any more.
  const restored = async (...args: string[]) => expect((await cli(['archive', 'restore', ...args])).code).toBe(0);
  await restored('--key', '["graz"]', '--id', 'r0', '--id', 'r3');
  await restored('--tenant', '007', '--from', '2026');
  await stage.container('Rides').items.upsert(ride(0, { cents: 1 }));
  await applied();
  const left = rides.filter(({ id, city, endedAt }) => {
    const back = city === '007' && String(endedAt).startsWith('2026');
    return id !== 'r0' && id !== 'r3' && !back;
  });
  expect((await lake('--dry-run')).value).toMatchObject({
    steps: ['rides-cold: write 1 file with 2 documents', 'rides-cold: remove 1 file'],
  });
  expect(await lake()).toMatchObject({ value: [{ written: 1, unchanged: 4, removed: 1 }] });
  expect(await ids()).toEqual(idsOf(left));

  // Archived again, in its new version: the line of before stays in its blob, and is in no row.
  expect((await cli(['archive', 'sweep'])).code).toBe(0);
  expect(await lake('--tenant', 'graz')).toMatchObject({ value: [{ written: 1, unchanged: 1 }] });
  expect(await ids()).toEqual(idsOf([...left, ride(0)]));
  expect(await query("SELECT cents FROM rides WHERE id = 'r0'")).toEqual([{ cents: 1 }]);
});

it('an erasure of a tenant covers its files', async () => {
  const rides = await archived(Array.from({ length: 18 }, (_, n) => ride(n)));
  await lake();
  await erase(await eraseOptions(stage, undefined, 'graz'));
  expect((await files()).filter((name) => name.includes('graz'))).toEqual([]);
  expect(await ids()).toEqual(idsOf(rides.filter(({ city }) => city !== 'graz')));
  expect(await lake()).toMatchObject({ code: 0, value: [{ written: 0, unchanged: 4 }] });
});

it('a run that has read older entries cannot write over the file of a newer one', async () => {
  await archived([ride(0), ride(3)]);
  const [archive] = await openArchives(stage.loaded, stage.services, {
    signal: SIGNAL,
    screen: { line: () => undefined },
  });
  if (!archive) throw new Error('no archive');
  const options = { model: stage.loaded.model, selection: {}, signal: SIGNAL };
  const began = Promise.withResolvers<void>();
  const goes = Promise.withResolvers<void>();
  // The first run has read the entries and waits before it commits.
  const slow = new AzureBlobStore(blobs);
  const put = slow.putFile.bind(slow);
  slow.putFile = async (name, pieces, how) =>
    put(
      name,
      (async function* () {
        yield* pieces;
        began.resolve();
        await goes.promise;
      })(),
      how,
    );
  const first = writeLake({ ...archive, store: slow }, options);
  await began.promise;
  expect((await cli(['archive', 'restore', '--key', '["graz"]', '--id', 'r0'])).code).toBe(0);
  await applied();
  expect(await writeLake(archive, options)).toMatchObject({ written: 1, documents: 1 });
  goes.resolve();
  expect(await first).toMatchObject({ written: 0, left: 1 });
  expect(await ids()).toEqual(['r3']);
});

it('a blob that is damaged or offline leaves the file of its month as it is', async () => {
  const rides = await archived([ride(0), ride(1), ride(3)]);
  await lake();
  expect((await cli(['archive', 'restore', '--key', '["graz"]', '--id', 'r0'])).code).toBe(0);
  await applied();
  for await (const { name } of blobs.listBlobsFlat({ prefix: 'rides-cold@1/graz/' }))
    if (name.endsWith('.gz')) await blobs.getBlobClient(name).setAccessTier('Archive');
  expect(await lake()).toMatchObject({ code: 1, value: [{ written: 0, unchanged: 1, offline: 1, faults: [] }] });
  for await (const { name } of blobs.listBlobsFlat({ prefix: 'rides-cold@1/graz/' }))
    if (name.endsWith('.gz')) {
      await blobs.getBlobClient(name).setAccessTier('Hot');
      await blobs.getBlockBlobClient(name).upload('x', 1);
    }
  expect(await lake()).toMatchObject({ code: 1, value: [{ unchanged: 1, faults: [{ code: 'blob-changed' }] }] });
  expect(await ids()).toEqual(idsOf(rides));
});
