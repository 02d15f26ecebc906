// Access tiers and rehydration by the command line, on Azurite with a server before it. ARC-H60 to ARC-H64.
import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import type { Doc } from '../../../src/definition/specs.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { BlobOffline, openHistory } from '../../../src/client.ts';
import { filesOf } from '../../../src/operations/model/infra.ts';
import { compose } from '../../../src/runtime/processor-host.ts';
import { cli } from '../../cli/cli.ts';
import { type Azurite, startAzurite } from '../../support/azurite.ts';
import { type Stage, openStage } from '../../support/stage.ts';
import { type TieringStorage, startTieringStorage } from '../../support/tiering-storage.ts';

const TIERS = new URL('../../fixtures/cold-tiers', import.meta.url).pathname;
const DAY = 86_400_000;

let azurite: Azurite;
let storage: TieringStorage;
let stage: Stage;
let blobs: ContainerClient;
let used = 0;
/** How many days the commands believe that have passed. */
let days = 0;

beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(async () => {
  await azurite?.close();
});
beforeEach(async () => {
  days = 0;
  storage = await startTieringStorage(azurite.connectionString);
  const container = `tiers-${(used += 1)}`;
  stage = await openStage({}, TIERS, { connectionString: storage.connectionString, container });
  blobs = BlobServiceClient.fromConnectionString(azurite.connectionString).getContainerClient(container);
  for (const [name, value] of Object.entries({ ...stage.env, MILLRACE_PIPELINE: TIERS })) vi.stubEnv(name, value);
  for (let n = 0; n < 6; n++) await stage.container('Orders').items.create(order(n));
  const app = await compose({ ...stage, host: 'test', readLagMs: 0, timings: { pollMs: 40 } });
  await app.start();
  await app.drained(AbortSignal.timeout(30_000));
  await app.stop();
  const { code, stderr } = await run('sweep');
  if (code !== 0) throw new Error(stderr);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await stage[Symbol.asyncDispose]();
  await storage[Symbol.asyncDispose]();
});

/** Two tenants and two months: four blobs. */
const order = (n: number): Doc & { id: string } => ({
  id: `o${n}`,
  type: 'order',
  storeId: `s${n % 2}`,
  customerId: 'c1',
  placedAt: `${n < 4 ? '2025-12' : '2026-01'}-05T10:00:00.000Z`,
  cents: 100 + n,
});

const blobsOfStorage = (): ContainerClient =>
  BlobServiceClient.fromConnectionString(storage.connectionString).getContainerClient(blobs.containerName);
/** The blobs of a tenant. */
async function named(tenant: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of blobs.listBlobsFlat({ prefix: `orders-cold@1/${tenant}/` }))
    if (name.endsWith('.gz')) names.push(name);
  return names;
}

const clock = { ...systemClock, now: () => Date.now() + days * DAY };
const run = (...args: string[]) => cli(['archive', ...args], { clock });
async function json(...args: string[]): Promise<{ code: number; value: unknown }> {
  const { code, stdout } = await run(...args, '--json');
  return { code, value: JSON.parse(stdout) };
}

/** The tier of each blob, by tenant and month. */
async function tiers(): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const { name, properties } of blobs.listBlobsFlat()) {
    const [, tenant, year, month, file] = name.split('/');
    found[`${tenant} ${year}-${month}${file === 'manifest.json' ? ' manifest' : ''}`] = String(properties.accessTier);
  }
  return found;
}
/** Those that aren't where they were written. */
const moved = async (): Promise<Record<string, string>> =>
  Object.fromEntries(Object.entries(await tiers()).filter(([, tier]) => tier !== 'Hot'));

it('moves blobs by the rules, never manifests, and says the price first', async () => {
  expect(await json('tier', '--dry-run')).toEqual({ code: 0, value: { steps: [], ru: 0 } });
  expect((await run('tier')).stdout).toContain('orders-cold@1: no blob to move');
  days = 31;
  expect((await json('tier', '--dry-run')).value).toEqual({
    steps: [
      expect.stringMatching(
        /^orders-cold@1: move 4 blobs to Cool \(\d+ B\): less than \$0.01 for the moves, which then saves less/,
      ),
    ],
    ru: 0,
  });
  expect(await moved()).toEqual({});
  expect((await json('tiers')).value).toMatchObject([
    {
      projection: 'orders-cold@1',
      rules: [{ tier: 'cool', days: 30 }, { tier: 'cold' }, { tier: 'archive' }],
      tiers: [{ tier: 'Hot', blobs: 4, due: 4, rehydrating: 0 }],
    },
  ]);
  expect(await json('tier', '--tenant', 's0', '--to', '2025')).toMatchObject({
    code: 0,
    value: [{ moved: { Cool: 1 }, early: 0, offline: 0, complete: true }],
  });
  expect(await moved()).toEqual({ 's0 2025-12': 'Cool' });
  // By the clock of the command it was in Cool for 31 of 30 days, then for 15: the rest is billed.
  expect((await json('tier', '--tenant', 's0', '--set', 'Cold', '--dry-run')).value).toEqual({
    steps: [expect.not.stringContaining('early')],
    ru: 0,
  });
  days = 15;
  const early = await run('tier', '--tenant', 's0', '--to', '2025', '--set', 'Hot', '--dry-run');
  expect(early.stdout).toMatch(/for early deletion of 1 blob, which then costs/);
  expect(await moved()).toEqual({ 's0 2025-12': 'Cool' });
  days = 400;
  expect((await json('tier', '--from', '2026')).value).toMatchObject([{ moved: { Archive: 2 } }]);
  const all = { 's0 2025-12': 'Cool', 's0 2026-01': 'Archive', 's1 2026-01': 'Archive' };
  expect(await moved()).toEqual(all);
  // Only a rehydration takes a blob out of the Archive tier.
  expect((await json('tier', '--set', 'Hot', '--from', '2026')).value).toMatchObject([{ moved: {}, offline: 2 }]);
  expect((await run('tier', '--set', 'Hot', '--older', '500d')).stdout).toContain('no blob to move');
  expect(await moved()).toEqual(all);
});

it('a sweep applies the rules once a day, and a refusal does not fail it', async () => {
  storage.redundancy = 'Standard_ZRS';
  expect((await json('tiers')).value).toMatchObject([{ applied: { at: expect.any(String) } }]);
  const later = (n: number): string => new Date(Date.now() + n * DAY).toISOString().slice(0, 10);
  await blobs.getBlobClient((await named('s0')).at(0) ?? '').setAccessTier('Cold');
  expect((await run('sweep', '--now', later(400))).code).toBe(0);
  expect((await run('tiers')).stdout).toContain('no blob was moved: The storage account has no Archive tier');
  storage.redundancy = 'Standard_LRS';
  expect((await run('sweep', '--now', later(400))).code).toBe(0);
  expect(Object.keys(await moved())).toHaveLength(1);
  expect((await run('sweep', '--now', later(402))).code).toBe(0);
  expect(Object.values(await moved())).toEqual(['Archive', 'Archive', 'Archive', 'Archive']);
  expect((await json('list', '--tiers')).value).toMatchObject([
    { tiers: ['Archive'] },
    { tiers: ['Archive'] },
    { tiers: ['Archive'] },
    { tiers: ['Archive'] },
  ]);
});

it('brings blobs back as a job that is continued, and reads say meanwhile that they are on their way', async () => {
  expect((await json('tier', '--set', 'Archive')).value).toMatchObject([{ moved: { Archive: 4 } }]);
  const restore = await run('restore', '--tenant', 's0');
  expect(restore).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/Blob orders-cold@1\/s0\/.* is in the Archive tier/),
  });
  expect(restore.stderr).toContain('`millrace archive rehydrate`');
  const history = openHistory({ state: stage.container('millrace'), storage: blobsOfStorage() });
  const cold = () => history.coldRead('Orders', 's0', 'o0').catch((error: unknown) => error);
  expect(await cold()).toMatchObject({ code: 'blob-offline', rehydrating: false, blob: (await named('s0'))[0] });

  // The price comes first, with the charge for leaving the tier before 180 days.
  const ask = ['rehydrate', '--tenant', 's0'];
  expect((await json(...ask, '--dry-run')).value).toEqual({
    steps: [
      expect.stringMatching(
        /^orders-cold: bring 2 blobs \(\d+ B\) to the Hot tier: less than \$0.01 for the reading, less than \$0.01 for early deletion, then/,
      ),
    ],
    ru: 0,
  });
  expect(storage.begun()).toBe(0);
  // It dies after the first request.
  storage.failAfter = 1;
  expect((await run(...ask)).code).not.toBe(0);
  expect(storage.begun()).toBe(1);
  expect((await json('rehydrations')).value).toMatchObject([
    { archive: 'orders-cold', blobs: 2, pending: 1, offline: 1 },
  ]);
  storage.failAfter = Infinity;
  const begun = await json(...ask);
  expect(begun).toMatchObject({ code: 0, value: [{ blobs: 2, readable: 0, pending: 2, offline: 0, tier: 'Hot' }] });
  // No blob was asked for twice, and no second job is listed.
  expect(storage.begun()).toBe(2);
  expect((await run(...ask)).stdout).toContain('0 of 2 blobs can be read, 2 on their way');
  expect((await run('rehydrations')).stdout.trim().split('\n')).toHaveLength(1);
  const waiting = await cold();
  expect(waiting).toBeInstanceOf(BlobOffline);
  expect(waiting).toMatchObject({
    rehydrating: true,
    message: expect.stringContaining('until its rehydration has ended'),
  });

  await storage.finish();
  expect((await json('rehydrations')).value).toMatchObject([{ readable: 2, pending: 0, offline: 0 }]);
  expect(await cold()).toMatchObject({ cold: true, doc: { id: 'o0' } });
  expect((await json('restore', '--tenant', 's0')).value).toMatchObject([{ restored: 3 }]);
});

it('waits until all can be read, for the blobs of named documents', async () => {
  await json('tier', '--set', 'Archive');
  let asked = 0;
  const waiting = {
    ...clock,
    sleep: async (ms: number): Promise<void> => {
      expect(ms).toBe(60_000);
      if ((asked += 1) === 2) await storage.finish();
    },
  };
  const ask = [
    'rehydrate',
    '--key',
    '["s1"]',
    '--id',
    'o1',
    '--tier',
    'Cool',
    '--priority',
    'High',
    '--wait',
    '--json',
  ];
  const { code, stdout } = await cli(['archive', ...ask], { clock: waiting });
  expect([code, JSON.parse(stdout)]).toMatchObject([0, [{ blobs: 1, readable: 1, priority: 'High' }]]);
  expect([asked, await tiers()]).toMatchObject([2, { 's1 2025-12': 'Cool', 's1 2026-01': 'Archive' }]);
  expect(await run('rehydrate', '--key', '["s1"]', '--id', 'o2')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('never had a document'),
  });
});

it('`model infra` gives Bicep the tiers of a lifecycle policy', async () => {
  const files = await filesOf(stage.loaded, { leases: 'leases', state: 'millrace' });
  const facts: unknown = JSON.parse(files.find(({ file }) => file === 'pipeline.json')?.text ?? '');
  expect(facts).toMatchObject({ tiers: [{ archive: 'orders-cold', cool: 30, cold: 90 }] });
});

it('an account with zones has no Archive tier', async () => {
  storage.redundancy = 'Standard_RAGZRS';
  const refused = await run('tier', '--set', 'Archive');
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('its redundancy is Standard_RAGZRS') });
  expect(refused.stderr).toContain('use LRS, GRS or RA-GRS');
  expect((await run('tier', '--set', 'Archive', '--dry-run')).code).toBe(2);
  expect(await moved()).toEqual({});
  // An identity that may not ask learns it by the first move.
  storage.redundancy = undefined;
  expect(await run('tier', '--set', 'Archive')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('refused to move a blob to the Archive tier: InvalidBlobTier'),
  });
  expect((await run('tier', '--set', 'Cool')).code).toBe(0);
});
