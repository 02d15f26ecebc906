// docs/SPEC-erase.md, ERASE-R4 and ERASE-C1 to ERASE-C3.
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { AzureBlobStore } from '../../../src/archive/blobs/azure-blob-store.ts';
import { sharedError } from '../../../src/base/shared-errors.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { ErasureRecords } from '../../../src/engine/erasures/record.ts';
import { offered } from '../../../src/host/http/offered.ts';
import { registry } from '../../../src/host/registry.ts';
import type { Context } from '../../../src/procedures/context.ts';
import { operationName } from '../../../src/verbs/operation.ts';
import type { Certificate } from '../../../src/procedures/erase/certificate.ts';
import { assertMayErase } from '../../../src/procedures/erase/erase-rights.ts';
import { tenantsErase } from '../../../src/verbs/tenants/erase.operation.ts';
import { openWorkspace } from '../../../src/runtime/open-workspace.ts';
import { cli } from '../../cli/cli.ts';
import { type Azurite, startAzurite } from '../../support/azurite.ts';
import { type Stage, openStage } from '../../support/stage.ts';
import { ERASE, GONE, STAYS, eraseOptions, everything, fill, naming } from '../tenants/leaving.ts';

let azurite: Azurite;
let stage: Stage;
let blobs: ContainerClient;
let folder: string;

beforeAll(async () => {
  azurite = await startAzurite();
  const { connectionString } = azurite;
  stage = await openStage({}, ERASE, { connectionString, container: 'erase' });
  blobs = BlobServiceClient.fromConnectionString(connectionString).getContainerClient('erase');
  folder = await mkdtemp(join(tmpdir(), 'erase-'));
});
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
  await azurite?.close();
  await rm(folder, { recursive: true });
});
beforeEach(() => {
  for (const [name, value] of Object.entries({ ...stage.env, MILLRACE_PIPELINE: ERASE })) vi.stubEnv(name, value);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

/** Runs the verb without its waits. */
async function erased(input: object): Promise<{ value: Certificate; text: string; ok: boolean; waited: number }> {
  let now = 0;
  const sleep = async (ms: number): Promise<void> => void (now += ms);
  const clock = { ...systemClock, monotonic: () => now, sleep };
  const workspace = openWorkspace({ directory: folder, pipeline: ERASE });
  const screen = { live: false, line: () => undefined, draw: () => undefined, progress: () => undefined };
  const context: Context = { workspace, actor: 'test', signal: new AbortController().signal, screen, clock };
  try {
    return {
      ...((await tenantsErase.run(input, context)) as { value: Certificate; text: string; ok: boolean }),
      waited: now,
    };
  } finally {
    await workspace.close();
  }
}

it('`tenants erase` refuses what is no tenant of the pipeline', async () => {
  await fill(stage);
  const refused = async (...given: string[]): Promise<string[]> => {
    const { code, stderr } = await cli(['tenants', 'erase', '--yes', ...given]);
    return [String(code), stderr.split('\n')[0]!];
  };
  const unknown = (tenant: string, more = ''): string[] => [
    '2',
    expect.stringContaining(`There is no tenant ${tenant}${more}`),
  ];
  expect(await refused('leaving-stor')).toEqual(unknown('leaving-stor', `: did you mean ${GONE}?`));
  // Ids that differ by case are two tenants.
  expect(await refused(GONE.toUpperCase())).toEqual(unknown(GONE.toUpperCase(), `: did you mean ${GONE}?`));
  expect(await refused('null')).toEqual(unknown('null'));
  expect(await refused('x'.repeat(1_000))).toEqual(unknown('xxx'));
  expect(await refused(' ')).toEqual(['2', expect.stringContaining('which is only white space')]);
  const { code, stderr } = await cli(['tenants', 'erase', GONE]);
  expect([code, stderr]).toEqual([2, expect.stringContaining('--yes')]);
  expect(naming(await everything(stage, blobs), 'millrace.erasures')).toEqual([]);
});

it('an erasure begins nothing without the right to delete', async () => {
  for (const container of ['Customers', 'millrace']) {
    stage.emulator.faults({ rules: [{ operation: 'delete', container, status: 403 }] });
    const { code, stderr } = await cli(['tenants', 'erase', GONE, '--yes']);
    stage.emulator.faults({});
    expect([code, stderr]).toEqual([2, expect.stringContaining(`may not delete in container ${container}`)]);
  }
  const store = new AzureBlobStore(blobs);
  store.remove = () => Promise.reject(sharedError('denied', 'The storage account refused access'));
  const parts = { ...(await eraseOptions(stage, undefined, 'open-store')), store };
  await expect(assertMayErase(parts)).rejects.toMatchObject({ code: 'erase-denied' });
  await parts.records.remove(parts.record.id);
  for await (const { name } of blobs.listBlobsFlat({ prefix: 'erase-probe/' })) await blobs.deleteBlob(name);
  expect(await parts.records.read()).toEqual([]);
});

it('plans in counts, and changes nothing', async () => {
  const before = await everything(stage, blobs);
  const { code, stdout } = await cli(['tenants', 'erase', GONE, '--dry-run']);
  expect(code).toBe(0);
  expect(stdout).toContain('hold back every change of the tenant');
  expect(stdout).toContain('wait 197 s, until no host applies what it read before');
  expect(stdout).toContain('remove 5 from Orders');
  expect(stdout).toContain('search everything, and certify');
  expect(await everything(stage, blobs)).toEqual(before);
});

it('an erasure erases, certifies in a file and in the state container, and names the tenant nowhere', async () => {
  const { value, text, ok, waited } = await erased({ tenant: GONE, out: 'erased.json' });
  expect(ok).toBe(true);
  expect(waited).toBeGreaterThanOrEqual(2 * 197_000);
  expect(JSON.parse(await readFile(join(folder, 'erased.json'), 'utf8'))).toEqual(value);
  expect((await stat(join(folder, 'erased.json'))).mode & 0o777).toBe(0o600);
  expect(text).not.toContain(GONE);
  // Who knows the tenant can check the digest, without Millrace.
  const digest = createHash('sha256')
    .update(JSON.stringify([value.salt, GONE]))
    .digest('hex');
  expect(value.digest).toBe(digest);
  expect(value.stays.map(({ what }) => what)).toEqual([
    'backups of the Cosmos DB account',
    'files that operators exported',
  ]);
  expect(naming(await everything(stage, blobs), GONE)).toEqual([]);
  const { resources } = await stage.services.place.state.items
    .query<object>("SELECT * FROM c WHERE c.kept AND c.verb = 'tenants erase'")
    .fetchAll();
  expect(resources).toMatchObject([{ arguments: { erasure: value.erasure, digest }, outcome: 'done' }]);
  // The same file isn't written again, and nothing begins.
  await expect(erased({ tenant: GONE, out: 'erased.json' })).rejects.toMatchObject({ code: 'exists' });
  expect(await readdir(folder)).toEqual(['erased.json']);
  // A run that goes on doesn't wait for the stop again.
  expect((await erased({ tenant: GONE })).waited).toBeLessThan(2 * 197_000);
});

it('`tenants admit` admits the tenant again, but not while it is removed', async () => {
  const records = new ErasureRecords(stage.services.place.state, 'erase');
  const { id } = await records.begin('open-store', 0);
  await records.update(id, (one) => ({ ...one, state: 'removing' }));
  expect(await cli(['tenants', 'admit', 'open-store'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('The erasure of the tenant open-store is removing'),
  });
  await records.update(id, (one) => ({ ...one, state: 'stopping' }));
  expect(await cli(['tenants', 'admit', 'open-store'])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Those since 1970-01-01T00:00:00.000Z were dropped.'),
  });
  expect(await cli(['tenants', 'admit', STAYS])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('has no record of an erasure'),
  });
  expect(await cli(['tenants', 'admit', GONE])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('are applied again'),
  });
  expect(await cli(['tenants', 'admit', GONE])).toMatchObject({ code: 2 });
  await fill(stage, [GONE]);
  expect(naming(await everything(stage, blobs), GONE).length).toBeGreaterThan(90);
});

it('`tenants erase` is not offered over HTTP, where the tenant would stand in logs', () => {
  const names = offered(registry).map(operationName);
  expect(names).not.toContain('tenants erase');
  expect(names).toContain('tenants admit');
});
