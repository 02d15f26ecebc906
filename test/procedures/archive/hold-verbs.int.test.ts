// docs/SPEC-archive.md, ARC-H40 and ARC-H41, by the verbs.
import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { registry } from '../../../src/host/registry.ts';
import type { Certificate } from '../../../src/procedures/erase/certificate.ts';
import { openWorkspace } from '../../../src/runtime/open-workspace.ts';
import { cli } from '../../cli/cli.ts';
import { type Azurite, startAzurite } from '../../support/azurite.ts';
import { type HoldingStorage, startHoldingStorage } from '../../support/holding-storage.ts';
import { type Stage, openStage } from '../../support/stage.ts';
import { ERASE, GONE, STAYS, everything, fill, naming } from '../tenants/leaving.ts';

let azurite: Azurite;
let holding: HoldingStorage;
beforeAll(async () => {
  azurite = await startAzurite();
  holding = await startHoldingStorage(azurite.connectionString);
});
afterAll(async () => {
  await holding?.[Symbol.asyncDispose]();
  await azurite?.close();
});
afterEach(() => {
  vi.unstubAllEnvs();
});

async function staged(connectionString: string, container: string): Promise<[Stage, ContainerClient]> {
  const stage = await openStage({}, ERASE, { connectionString, container });
  for (const [name, value] of Object.entries({ ...stage.env, MILLRACE_PIPELINE: ERASE })) vi.stubEnv(name, value);
  return [stage, BlobServiceClient.fromConnectionString(azurite.connectionString).getContainerClient(container)];
}

/** Runs a verb without its waits. */
async function run(verb: string, input: object): Promise<{ value: unknown; text: string; ok: boolean }> {
  let now = 0;
  const clock = { ...systemClock, monotonic: () => now, sleep: async (ms: number): Promise<void> => void (now += ms) };
  const workspace = openWorkspace({ directory: ERASE, pipeline: ERASE });
  const screen = { live: false, line: () => undefined, draw: () => undefined, progress: () => undefined };
  const { signal } = new AbortController();
  try {
    const outcome = await registry.get(verb)?.run(input, { workspace, actor: 'test', signal, screen, clock });
    return outcome as { value: unknown; text: string; ok: boolean };
  } finally {
    await workspace.close();
  }
}

const json = async (...args: string[]): Promise<{ code: number; value: unknown }> => {
  const { code, stdout } = await cli([...args, '--json']);
  return { code, value: JSON.parse(stdout) };
};
const blobsOf = (all: ReadonlyMap<string, string>, tenant: string): string[] =>
  [...all.keys()].filter((place) => place.includes(`/${tenant}/`) && place.endsWith('.gz'));

it('an erasure leaves what a hold keeps, and the release removes it', async () => {
  const [stage, blobs] = await staged(holding.connectionString, 'held');
  await using _ = stage;
  await fill(stage, [GONE, STAYS]);
  const kept = blobsOf(await everything(stage, blobs), GONE);
  expect(kept).toHaveLength(1);

  const { value, text } = await run('archive hold add', { tenant: GONE, reason: 'case 17' });
  expect(value).toMatchObject({ tenant: GONE, reason: 'case 17', actor: 'test', blobs: kept.length });
  expect(text).toContain('under a legal hold');
  expect(await json('archive', 'hold', 'list')).toMatchObject({
    code: 0,
    value: [{ tenant: GONE, reason: 'case 17' }],
  });
  expect((await cli(['archive', 'hold', 'list'])).stdout).toMatch(/leaving-store .* case 17/);

  const erased = await run('tenants erase', { tenant: GONE });
  const certificate = erased.value as Certificate;
  expect(erased.ok).toBe(false);
  expect(certificate.held).toHaveLength(kept.length);
  expect(erased.text).toContain('`millrace archive hold end` removes them');
  // The record of the hold needs the tenant, so the certificate says it, and counts it as no one's document.
  expect(certificate.mentions).toEqual({});
  expect(certificate.stays.map(({ what }) => what)).toContain(
    'the record of the legal hold, with the name of the tenant',
  );
  expect(erased.text).not.toContain(GONE);
  expect(blobsOf(await everything(stage, blobs), GONE)).toEqual(kept);
  const { erasure } = certificate;
  expect(await json('archive', 'hold', 'list')).toMatchObject({ value: [{ tenant: GONE, erasure }] });
  expect((await json('archive', 'verify')).code).toBe(0);

  expect(await json('archive', 'hold', 'end', '--tenant', GONE, '--dry-run')).toMatchObject({
    code: 0,
    value: { steps: [`take the legal hold from 1 blob`, `remove what erasure ${erasure} had to leave`] },
  });
  expect(await cli(['archive', 'hold', 'end', '--tenant', GONE])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--yes'),
  });
  expect(await json('archive', 'hold', 'end', '--tenant', GONE, '--yes')).toEqual({
    code: 0,
    value: { released: kept.length, removed: kept.length, held: 0, erasure },
  });
  expect(naming(await everything(stage, blobs), GONE)).toEqual([]);
  expect(blobsOf(await everything(stage, blobs), STAYS).length).toBeGreaterThan(0);
  expect((await cli(['archive', 'hold', 'list'])).stdout).toContain('No tenant is under a legal hold.');
  expect(await cli(['archive', 'hold', 'end', '--tenant', GONE, '--yes'])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/under no legal hold[^]*`millrace archive hold list`/),
  });
});

it('an account without holds refuses, and nothing is noted', async () => {
  const [stage, blobs] = await staged(azurite.connectionString, 'unheld');
  await using _ = stage;
  await fill(stage, [STAYS]);
  const before = blobsOf(await everything(stage, blobs), STAYS);
  const { code, stderr } = await cli(['archive', 'hold', 'add', '--tenant', STAYS, '--reason', 'case 17']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('refused to set a legal hold')]);
  expect(stderr).toContain('Azurite has no holds');
  // Of a tenant that has nothing archived yet, whose next sweep would be the first to fail.
  const unseen = await cli(['archive', 'hold', 'add', '--tenant', GONE, '--reason', 'case 17']);
  expect([unseen.code, unseen.stderr]).toEqual([2, expect.stringContaining('no version-level immutability')]);
  expect(await json('archive', 'hold', 'list')).toEqual({ code: 0, value: [] });
  // A record that stayed would stop every sweep of the tenant.
  await stage.container('Orders').items.create({
    id: 'late',
    type: 'order',
    storeId: STAYS,
    customerId: 'c1',
    placedAt: '2026-01-03T10:00:00.000Z',
    cents: 1,
  });
  expect((await cli(['archive', 'sweep'])).code).toBe(0);
  expect(blobsOf(await everything(stage, blobs), STAYS).length).toBeGreaterThanOrEqual(before.length);
});

it('a tenant that has nothing archived yet is held where the account can', async () => {
  const [stage, blobs] = await staged(holding.connectionString, 'early');
  await using _ = stage;
  await fill(stage, [STAYS]);
  expect((await run('archive hold add', { tenant: GONE, reason: 'case 18' })).value).toMatchObject({ blobs: 0 });
  expect(await json('archive', 'hold', 'list')).toMatchObject({ value: [{ tenant: GONE }] });
  await fill(stage, [GONE]);
  expect((await run('archive hold end', { tenant: GONE })).value).toMatchObject({
    released: blobsOf(await everything(stage, blobs), GONE).length,
  });
});

it('a hold refuses what no hold can cover', async () => {
  const [stage] = await staged(holding.connectionString, 'refused');
  await using _ = stage;
  const hold = (...more: string[]) => cli(['archive', 'hold', 'add', ...more]);
  expect(await hold('--tenant', GONE, '--reason', ' ')).toMatchObject({ code: 2 });
  expect(await hold('--reason', 'case 17')).toMatchObject({ code: 2, stderr: expect.stringContaining('--tenant') });
  expect(await hold('--tenant', 'all', '--reason', 'case 17')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('all'),
  });
  expect(await json('archive', 'hold', 'list')).toEqual({ code: 0, value: [] });
});
