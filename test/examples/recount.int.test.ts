// The recount must agree with right sinks, and see each kind of wrong one. The right ones come from the oracle.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob';
import { type Container, CosmosClient, type OperationInput } from '@azure/cosmos';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readAirports, readFlights } from '../../examples/flights/input.ts';
import pipeline from '../../examples/flights/pipeline.ts';
import type { Doc } from '../../src/pipeline/specs.ts';
import { recompute } from '../../src/pipeline/oracle/recompute.ts';
import { type Emulator, startEmulator } from '../../src/emulator/index.ts';
import { type Azurite, startAzurite } from '../support/azurite.ts';

const SCRIPT = fileURLToPath(new URL('../../scripts/recount.ts', import.meta.url));
const BLOB = 'flights-cold@1/all/2001/01/blob.jsonl.gz';
const KEYS: Readonly<Record<string, string>> = {
  FlightsByDestination: 'destination',
  OriginDays: 'origin',
  Routes: 'origin',
};

let emulator: Emulator;
let client: CosmosClient;
let azurite: Azurite;
let blobs: ContainerClient;

beforeAll(async () => {
  [emulator, azurite] = await Promise.all([startEmulator(), startAzurite()]);
  blobs = BlobServiceClient.fromConnectionString(azurite.connectionString).getContainerClient('archive');
  client = new CosmosClient({ endpoint: emulator.endpoint, key: emulator.key });
  const { database } = await client.databases.create({ id: 'flights' });
  const sources: Record<string, Doc[]> = {
    Flights: (await readFlights()).map((flight) => ({ ...flight })),
    Airports: (await readAirports()).map((airport) => ({ ...airport })),
  };
  for (const projection of pipeline.projections) {
    const id = projection.into.container;
    const key = KEYS[id] ?? 'id';
    const { container } = await database.containers.create({ id, partitionKey: { paths: [`/${key}`] } });
    const rows = recompute(projection, (of) => sources[of.container] ?? [], pipeline.sources);
    await fill(container, key, [...rows.values()]);
  }
  const isCold = (flight: Doc): boolean => String(flight['date']) < '2001/02/01';
  const flights = sources['Flights'] ?? [];
  const hot = await database.containers.create({ id: 'Flights', partitionKey: { paths: ['/origin'] } });
  await fill(
    hot.container,
    'origin',
    flights.filter((flight) => !isCold(flight)),
  );
  const state = await database.containers.create({ id: 'millrace', partitionKey: { paths: ['/pk'] } });
  const cold = flights.filter(isCold);
  await fill(
    state.container,
    'pk',
    cold.map((_, line) => ({
      id: String(line),
      pk: 'archive',
      type: 'millrace.archived',
      state: 'archived',
      blob: { name: BLOB, line },
    })),
  );
  await blobs.create();
  await upload(cold);
});

/** As a sweep leaves them, in one blob. */
async function upload(docs: readonly Doc[]): Promise<void> {
  const bytes = gzipSync(docs.map((doc) => `${JSON.stringify({ id: doc['id'], doc })}\n`).join(''));
  await blobs.getBlockBlobClient(BLOB).upload(bytes, bytes.length);
}

afterAll(async () => {
  client?.dispose();
  await emulator?.close();
  await azurite?.close();
});

async function fill(container: Container, key: string, rows: readonly Doc[]): Promise<void> {
  for (const [value, group] of Map.groupBy(rows, (row) => String(row[key]))) {
    for (let at = 0; at < group.length; at += 100) {
      const creates = group
        .slice(at, at + 100)
        .map((row): OperationInput => ({ operationType: 'Create', resourceBody: { ...row, id: String(row['id']) } }));
      const { code } = await container.items.batch(creates, value);
      if (code !== 200) throw new Error(`batch ${String(code)}`);
    }
  }
}

/** Exit code and output of the script, which runs by itself as users run it. */
const recount = (...flags: string[]): Promise<{ code: number | string | null | undefined; out: string; err: string }> =>
  new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [SCRIPT, ...flags],
      { env: { PATH: process.env['PATH'], STORAGE: azurite.connectionString } },
      (_error, out, err) => {
        resolve({ code: child.exitCode, out, err });
      },
    );
  });
const account = (): string[] => ['--endpoint', emulator.endpoint, '--key', emulator.key, '--database', 'flights'];

test('right sinks agree, and the figures are the known ones', async () => {
  const { code, out, err } = await recount(...account());
  expect(err).toBe('');
  expect(out.split('\n')).toEqual([
    '20,000 flights',
    '6,937 cold',
    '13,063 hot',
    '4,551 delayed',
    '14,476,934 miles',
    '6,901 origin-days',
    '2,977 routes',
    'Every document agrees.',
    '',
  ]);
  expect(code).toBe(0);
});

test('a wrong measure, a missing document, a surplus one and a stale name are each told', async () => {
  const database = client.database('flights');
  await database
    .container('Routes')
    .item('route|LAS|DTW', 'DTW')
    .patch([{ op: 'incr', path: '/miles', value: 1 }]);
  await database.container('OriginDays').item('originDay|2001~2F01~2F01|DTW', 'DTW').delete();
  await database
    .container('FlightsByDestination')
    .item('1', 'LAS')
    .patch([{ op: 'set', path: '/originName', value: 'Elsewhere' }]);
  await database.container('FlightsByDestination').items.create({ id: '1', type: 'arrival', destination: 'PHX' });
  const { code, out } = await recount(...account(), '--json');
  expect(code).toBe(1);
  expect(JSON.parse(out)).toMatchObject({
    flights: 20_000,
    differences: 4,
    first: [
      'FlightsByDestination: 1 to LAS has originName "Elsewhere", not "Detroit Metropolitan-Wayne County"',
      'FlightsByDestination: 1 to PHX is there and should not be',
      'OriginDays: DTW on 2001/01/01 is missing',
      'Routes: DTW to LAS has miles 12251, not 12250',
    ].toSorted(),
  });
});

test('a flight that is hot and cold at once, one that is neither, and a line that was altered are each told', async () => {
  const flights = client.database('flights').container('Flights');
  const cold = (await readFlights()).filter(({ date }) => date < '2001/02/01');
  const { resources } = await flights.items.query<Doc>('SELECT TOP 1 * FROM c').fetchAll();
  const [gone = {}] = resources;
  await flights.item(String(gone['id']), String(gone['origin'])).delete();
  await flights.items.create({ ...cold[0] });
  await upload(cold.map((flight, at) => (at === 1 ? { ...flight, delay: 1_000 } : { ...flight })));
  const { code, out } = await recount(...account(), '--json');
  expect(code).toBe(1);
  expect((JSON.parse(out) as { first: string[] }).first).toEqual(
    expect.arrayContaining([
      `Flights: ${String(gone['id'])} from ${String(gone['origin'])} is missing`,
      'Flights: 1 from DTW is there twice',
      'Flights: 2 from HNL has delay 1000, not 95',
    ]),
  );
});

test('no account, or one that is not there, is one message and exit code 2', async () => {
  const none = await recount();
  expect(none).toMatchObject({ code: 2, out: '', err: expect.stringMatching(/^No account: give --data.*\n$/) });
  const wrong = await recount('--endpoint', 'http://127.0.0.1:9', '--key', 'a2V5');
  expect(wrong).toMatchObject({ code: 2, out: '', err: expect.stringMatching(/can't be read: .*\n$/) });
});
