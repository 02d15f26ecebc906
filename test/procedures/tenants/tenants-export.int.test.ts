// docs/SPEC-tenants.md, TEN-X1.
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { openArchive } from '../../../src/archive/open.ts';
import { sweepArchive } from '../../../src/archive/sweep/sweep.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { MillraceError } from '../../../src/base/errors.ts';
import { runCli } from '../../../src/cli/run.ts';
import type { Doc } from '../../../src/pipeline/specs.ts';
import { DeadLetters } from '../../../src/engine/dead-letters/dead-letters.ts';
import { letterBodies } from '../../../src/engine/dead-letters/letter-bodies.ts';
import { offered } from '../../../src/host/http/offered.ts';
import { registry } from '../../../src/host/registry.ts';
import { operationName } from '../../../src/verbs/operation.ts';
import { askedTenant } from '../../../src/procedures/tenants/tenant-flag.ts';
import { exported } from '../../../src/procedures/export/export.ts';
import { openStore } from '../../../src/runtime/archives.ts';
import { compose } from '../../../src/runtime/hosts/processor-host.ts';
import { cli } from '../../cli/cli.ts';
import { type Azurite, startAzurite } from '../../support/azurite.ts';
import { COLD, type Stage, openStage } from '../../support/stage.ts';

let azurite: Azurite;
let stage: Stage;
let blobs: ContainerClient;
let folder: string;
let used = 0;
const { signal } = new AbortController();

beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(async () => {
  await azurite?.close();
});
beforeEach(async () => {
  const { connectionString } = azurite;
  const container = `export-${(used += 1)}`;
  folder = await mkdtemp(join(tmpdir(), 'export-'));
  stage = await openStage({}, COLD, { connectionString, container });
  blobs = BlobServiceClient.fromConnectionString(connectionString).getContainerClient(container);
  for (const [name, value] of Object.entries({ ...stage.env, MILLRACE_PIPELINE: COLD })) vi.stubEnv(name, value);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await stage[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const order = (n: number, more: Doc = {}): Doc & { id: string } => ({
  id: `o${n}`,
  type: 'order',
  storeId: `s${n % 2}`,
  customerId: 'c1',
  placedAt: `2026-0${1 + (n % 3)}-01T10:00:00.000Z`,
  cents: 100 + n,
  ...more,
});

async function derive(...orders: Doc[]): Promise<void> {
  for (const one of orders) await stage.container('Orders').items.upsert(one);
  const app = await compose({ ...stage, host: 'test', readLagMs: 0, timings: { pollMs: 40 } });
  await app.start();
  await app.drained(AbortSignal.timeout(30_000));
  await app.stop();
}

interface Line {
  readonly container: string;
  readonly type: string;
  readonly cold?: boolean;
  readonly derivedBy?: string[];
  readonly document: Doc;
}

/** What the procedure yields; `meanwhile` runs between its read of the container and its read of the archive. */
async function everything(tenant: string, meanwhile: () => Promise<unknown> = async () => 0): Promise<Line[]> {
  const { loaded, services } = stage;
  let once = true;
  const clock = {
    ...systemClock,
    sleep: async () => {
      if (once) await meanwhile();
      once = false;
    },
  };
  const asked = askedTenant(loaded, tenant);
  const store = await openStore(services, signal);
  const lines: Line[] = [];
  for await (const part of exported({
    loaded,
    places: [{ services, containers: loaded.model.containers }],
    asked,
    store,
    signal,
    clock,
  }))
    if ('document' in part) lines.push(part as Line);
  return lines;
}

const orders = (lines: readonly Line[]): [string, unknown, boolean][] =>
  lines
    .filter(({ type }) => type === 'order')
    .map(({ document, cold }): [string, unknown, boolean] => [String(document['id']), document['cents'], cold ?? false])
    .toSorted(([a], [b]) => (a < b ? -1 : 1));

const swept = async (): Promise<void> => {
  const { code, stderr } = await cli(['archive', 'sweep']);
  expect([code, stderr]).toEqual([0, '']);
};

it('an export writes every document of the tenant, hot, cold and derived, and nothing of another’s', async () => {
  const all = Array.from({ length: 12 }, (_, n) => order(n));
  await stage.container('Customers').items.upsert({ id: 'c1', type: 'customer', storeId: 's1', name: 'Ada' });
  await stage.container('Customers').items.upsert({ id: 'c1', type: 'customer', storeId: 's0', name: 'Bob' });
  await derive(...all);
  await swept();
  const file = join(folder, 's1.jsonl');
  const { code, stdout } = await cli(['tenants', 'export', 's1', '--out', file]);
  expect(code).toBe(0);
  expect(stdout).toContain(`10 documents (2 of the archive, 3 derived) and 0 dead letters written to ${file}.`);
  expect((await stat(file)).mode & 0o777).toBe(0o600);

  const text = await readFile(file, 'utf8');
  const [header, ...rest] = text.trimEnd().split('\n');
  const end = rest.pop()!;
  expect(JSON.parse(header!)).toEqual({
    export: { format: 1, pipeline: 'cold', field: 'storeId', tenant: 's1', at: expect.any(String) as string },
  });
  expect(JSON.parse(end)).toEqual({
    end: {
      documents: 10,
      cold: 2,
      derived: 3,
      deadLetters: 0,
      unreadable: 0,
      containers: { Orders: 6, Customers: 1, Days: 3 },
      lines: 11,
      sha256: createHash('sha256')
        .update(text.slice(0, text.lastIndexOf(end)))
        .digest('hex'),
    },
  });
  const lines = rest.map((line) => JSON.parse(line) as Line);
  const own = all.filter(({ storeId }) => storeId === 's1');
  expect(lines.filter(({ container }) => container === 'Orders').map(({ document }) => document)).toEqual(
    expect.arrayContaining(own),
  );
  expect(orders(lines)).toEqual(
    own
      .map(({ id, cents, placedAt }) => [id, cents, String(placedAt) < '2026-02'])
      .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
  );
  const days = lines.filter(({ container }) => container === 'Days');
  const sums = Object.groupBy(own, ({ placedAt }) => String(placedAt).slice(0, 10));
  expect(
    Object.fromEntries(days.map(({ document: { day, orders: count, cents } }) => [String(day), [count, cents]])),
  ).toEqual(
    Object.fromEntries(
      Object.entries(sums).map(([day, of]) => [
        day,
        [of!.length, of!.reduce((sum, { cents }) => sum + Number(cents), 0)],
      ]),
    ),
  );
  expect(days.every(({ derivedBy }) => derivedBy?.join() === 'days@1')).toBe(true);
  expect(text).toContain('Ada');
  expect(text).not.toMatch(/s0|Bob|_etag|_lsn/);
});

it('an export writes a document once, in its newest version, wherever it moves meanwhile', async () => {
  await derive(...Array.from({ length: 8 }, (_, n) => order(n, { placedAt: `2026-01-0${n + 1}T00:00:00.000Z` })));
  await swept();
  // Restored and changed: the archive keeps the old line.
  await cli(['archive', 'restore', '--key', '["s1"]', '--id', 'o1']);
  await derive(order(1, { placedAt: '2026-03-01T00:00:00.000Z', cents: 7 }));
  // Restored and archived again: two lines.
  await cli(['archive', 'restore', '--key', '["s1"]', '--id', 'o3']);
  await derive(order(3, { cents: 8, placedAt: '2026-01-04T00:00:00.000Z' }));
  await swept();
  const before = await everything('s1');
  expect(orders(before)).toEqual([
    ['o1', 7, false],
    ['o3', 8, true],
    ['o5', 105, true],
    ['o7', 107, true],
  ]);
  const during = await everything('s1', async () => {
    await cli(['archive', 'restore', '--key', '["s1"]', '--id', 'o5']);
    await derive();
    await stage.container('Orders').items.upsert(order(1, { placedAt: '2026-01-05T00:00:00.000Z', cents: 9 }));
    await derive();
    await swept();
    await cli(['archive', 'restore', '--key', '["s1"]', '--id', 'o7']);
    await derive(order(7, { cents: 10, placedAt: '2026-03-01T00:00:00.000Z' }));
  });
  // Each is in a version that it had during the export.
  expect(orders(during).map(([id, cents]) => [id, cents])).toEqual([
    ['o1', 7],
    ['o3', 8],
    ['o5', 105],
    ['o7', 10],
  ]);
  await stage.container('Orders').item('o7', 's1').delete();
  expect(orders(await everything('s1')).map(([id]) => id)).toEqual(['o1', 'o3', 'o5']);
});

it('an export finds the tenant’s documents in blobs that it shares with others', async () => {
  await derive(...Array.from({ length: 4 }, (_, n) => order(n, { placedAt: '2026-01-05T00:00:00.000Z' })));
  const { loaded, services } = stage;
  const { tenantField: _, ...together } = loaded.pipeline.archives[0]!;
  const store = await openStore(services, signal);
  const archive = await openArchive(together, loaded.pipeline, loaded.model, { ...services.place, store });
  const open = { acknowledged: () => Number.MAX_SAFE_INTEGER, parked: () => false, waits: () => false };
  expect(await sweepArchive(archive, { now: Date.now(), gate: async () => open, signal })).toMatchObject({
    removed: 4,
  });
  expect(orders(await everything('s1'))).toEqual([
    ['o1', 101, true],
    ['o3', 103, true],
  ]);
});

it('an export writes the dead letters with their changes, and names a change that is missing', async () => {
  await stage.container('Customers').items.upsert({ id: 'c1', type: 'customer', storeId: 's1', name: 'Ada' });
  const letters = new DeadLetters(stage.services.place.state, letterBodies(stage.services));
  const park = (storeId: string, id: string, pad: number) =>
    letters.park(
      'days@1',
      [
        {
          change: {
            container: 'Orders',
            type: 'order',
            key: [storeId],
            id,
            tenant: storeId,
            version: { epoch: 1, lsn: 5, etag: id },
            at: 0,
            op: 'upsert',
            doc: { id, text: `${storeId} ${'x'.repeat(pad)}` },
          },
          error: new MillraceError('projection-threw', 'no'),
        },
      ],
      new Date(),
      { whole: true },
    );
  await park('s1', 'small', 10);
  await park('s0', 'other', 10);
  await park('s1', 'large', 1_200_000);
  const file = join(folder, 's1.jsonl');
  const read = async () =>
    (await readFile(file, 'utf8'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { deadLetter?: { id: string }; change?: { doc: { text: string } } });
  expect((await cli(['tenants', 'export', 's1', '--out', file])).code).toBe(0);
  const found = (await read()).filter(({ deadLetter }) => deadLetter);
  expect(Object.fromEntries(found.map(({ deadLetter, change }) => [deadLetter!.id, change!.doc.text.length]))).toEqual({
    large: 1_200_003,
    small: 13,
  });
  for await (const { name } of blobs.listBlobsFlat({ prefix: 'dead-letters/' })) await blobs.deleteBlob(name);
  const again = await cli(['tenants', 'export', 's1', '--out', file, '--force']);
  expect(again.code).toBe(1);
  expect(again.stdout).toContain("The stored change of 1 dead letter can't be read");
  expect((await read()).at(-1)).toMatchObject({ end: { deadLetters: 2, unreadable: 1 } });
});

it('an export leaves no file behind that isn’t complete, and replaces none without --force', async () => {
  await derive(order(1, { placedAt: '2026-01-01T00:00:00.000Z' }), order(3));
  await swept();
  const file = join(folder, 's1.jsonl');
  await writeFile(file, 'mine');
  expect(await cli(['tenants', 'export', 's1', '--out', file])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`${file} exists already`) as string,
  });
  for await (const { name } of blobs.listBlobsFlat()) if (name.endsWith('.gz')) await blobs.deleteBlob(name);
  const damaged = await cli(['tenants', 'export', 's1', '--out', file, '--force', '--json']);
  expect(damaged.code).toBe(1);
  expect(JSON.parse(damaged.stdout)).toMatchObject({ error: { code: 'archive-damaged' } });
  expect(await cli(['tenants', 'export', 's1', '--out', join(folder, 'no/such/file')])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("can't be written") as string,
  });
  expect(await readFile(file, 'utf8')).toBe('mine');
  expect(await readdir(folder)).toEqual(['s1.jsonl']);
});

it('an export writes to standard output, with and without --json alike', async () => {
  await derive(order(1), order(2));
  const out = async (...flags: string[]): Promise<unknown[]> =>
    (await cli(['tenants', 'export', 's1', ...flags])).stdout
      .trimEnd()
      .split('\n')
      .slice(1, -1)
      .map((line) => JSON.parse(line) as unknown);
  const lines = await out();
  expect(lines).toMatchObject([{ document: order(1) }, { container: 'Days', document: { orders: 1, cents: 101 } }]);
  expect(await out('--json')).toEqual(lines);
});

it('an export waits for a slow reader of standard output', async () => {
  await derive(...Array.from({ length: 30 }, (_, n) => order(n)));
  const expected = (await cli(['tenants', 'export', 's1'])).stdout.split('\n').slice(1, -2);
  let text = '';
  let most = 0;
  const later = (turns: number, then: () => void): void =>
    turns === 0 ? then() : void setImmediate(() => later(turns - 1, then));
  const slow = new Writable({
    highWaterMark: 1_000,
    write: (chunk: Buffer, _encoding, done) => {
      most = Math.max(most, slow.writableLength);
      later(500, () => {
        text += chunk.toString();
        done();
      });
    },
  });
  const io = { stdout: slow, stderr: new PassThrough(), directory: folder, signal };
  expect(await runCli(registry, '0.0.0-test', ['tenants', 'export', 's1'], io)).toBe(0);
  expect(text.split('\n').slice(1, -2)).toEqual(expected);
  // No line is written while the buffer is full, and none is left in it.
  expect(most).toBeLessThan(1_000 + Math.max(...expected.map((line) => line.length + 1)));
  expect(slow.writableLength).toBe(0);
});

it('an export refuses a tenant that has nothing', async () => {
  await derive(order(1));
  expect(await cli(['tenants', 'export', 'S1', '--out', join(folder, 'f')])).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('There is no tenant S1: did you mean s1?') as string,
  });
  expect(await readdir(folder)).toEqual([]);
});

it('`tenants export` is not offered over HTTP, where it would write files of the host', () => {
  const names = offered(registry).map(operationName);
  expect(names).toContain('tenants list');
  expect(names).not.toContain('tenants export');
});
