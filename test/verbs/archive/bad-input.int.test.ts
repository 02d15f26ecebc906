// What a storage account, a clock and a newer Millrace may do to the verbs of the archive.
import type { ContainerClient } from '@azure/storage-blob';
import { expect, it, vi } from 'vitest';
import { openHistory } from '../../../src/client.ts';
import { collect } from '../../archive/stage.ts';
import { cli } from '../../cli/cli.ts';
import { useArchiveStage } from '../../support/each-stage.ts';
import { COLD, type Stage } from '../../support/stage.ts';
import { derive } from '../../procedures/recover/recovery.ts';

let stage: Stage;
let blobs: ContainerClient;
useArchiveStage(COLD, async (opened) => {
  ({ stage, blobs } = opened);
  await write('a', 's0', '2025-01-01T10:00:00.000Z');
  await write('b', 's1', '2025-02-01T10:00:00.000Z');
  await derive(stage);
  const { code, stderr } = await cli(['archive', 'sweep']);
  if (code !== 0) throw new Error(stderr);
});

const write = (id: string, storeId: string, placedAt: string): Promise<unknown> =>
  stage.container('Orders').items.create({ id, type: 'order', storeId, customerId: 'c1', placedAt, cents: 1 });
async function hot(): Promise<string[]> {
  const { resources } = await stage.container('Orders').items.query<string>('SELECT VALUE c.id FROM c').fetchAll();
  return resources.toSorted();
}
const run = async (...args: string[]) => cli(['archive', ...args]);

it('a container that was emptied by hand is damage for each reader, and no empty archive', async () => {
  for await (const { name } of blobs.listBlobsFlat()) await blobs.deleteBlob(name);
  expect(await run('verify')).toMatchObject({ code: 1, stdout: expect.stringContaining('blob-missing') });
  expect(await run('restore')).toMatchObject({ code: 1, stderr: expect.stringContaining('is gone') });
  expect(await run('restore', '--skip-damaged')).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('blob-missing'),
  });
  expect(await run('restore', '--from', '2026')).toMatchObject({ code: 0 });
  expect(await run('restore', '--dry-run')).toMatchObject({ code: 1, stderr: expect.stringContaining('is gone') });
  expect(await run('restore', '--dry-run', '--skip-damaged')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('skip orders-cold@1/s0/2025/01/'),
  });
  expect(await run('list')).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('entries name 1 document in its folder'),
  });
  const history = openHistory({ state: stage.container('millrace'), storage: blobs });
  await expect(history.coldRead('Orders', 's0', 'a')).rejects.toThrow('is gone');
  for (const months of [{}, { tenant: 's0' }, { from: '2025-02' }])
    await expect(collect(history.archived('Orders', months))).rejects.toThrow('is gone');
  expect(await collect(history.archived('Orders', { tenant: 's2' }))).toEqual([]);
  // Without this, a rebuild would take everything back that these documents had given.
  expect(await cli(['projections', 'verify'])).toMatchObject({ code: 1, stderr: expect.stringContaining('is gone') });
  await write('c', 's0', '2025-01-02T10:00:00.000Z');
  expect(await hot()).toEqual(['c']);
});

it('a date that the container doesn’t index is named with the remedy', async () => {
  const doctor = async () => JSON.parse((await cli(['doctor', '--json'])).stdout) as unknown[];
  const about = (verdict: string, what: string) => expect.objectContaining({ check: 'archive', verdict, what });
  expect(await doctor()).toContainEqual(about('good', expect.stringContaining('by an index')));
  const { resource } = await stage.container('Orders').read();
  await stage.container('Orders').replace({
    ...resource,
    id: 'Orders',
    indexingPolicy: { includedPaths: [{ path: '/*' }], excludedPaths: [{ path: '/placedAt/?' }] },
  });
  expect(await doctor()).toContainEqual(about('doubtful', expect.stringContaining('has no index of placedAt')));
  expect((await cli(['doctor'])).stdout).toContain('Include `/placedAt/?` in the indexing policy of Orders');
});

it('a lost manifest hides no blob that is there', async () => {
  for await (const { name } of blobs.listBlobsFlat()) if (name.endsWith('.json')) await blobs.deleteBlob(name);
  expect(await run('restore')).toMatchObject({ code: 0 });
  expect(await hot()).toEqual(['a', 'b']);
});

it('a manifest of a newer format ends each verb with the remedy, before anything leaves', async () => {
  for await (const { name } of blobs.listBlobsFlat()) {
    if (!name.includes('/s0/') || !name.endsWith('manifest.json')) continue;
    const blob = blobs.getBlockBlobClient(name);
    const manifest = JSON.parse((await blob.downloadToBuffer()).toString()) as object;
    const text = JSON.stringify({ ...manifest, format: 2 });
    await blob.upload(text, Buffer.byteLength(text));
  }
  const examined = JSON.parse((await cli(['doctor', '--json'])).stdout) as { check: string; verdict: string }[];
  expect(examined).toContainEqual({
    check: 'formats',
    verdict: 'bad',
    what: expect.stringMatching(/^The manifest document .* has format 2; this version of Millrace reads format 1$/),
    hint: expect.stringContaining('docs/upgrading.md'),
  });
  await write('c', 's0', '2025-01-02T10:00:00.000Z');
  await derive(stage);
  const verbs = [['list'], ['verify'], ['verify', '--sample', '2'], ['sweep'], ['compact'], ['restore']];
  for (const verb of [...verbs, ['restore', '--into', 'Customers'], ['restore', '--skip-damaged']]) {
    const { code, stderr } = await run(...verb);
    expect({ verb, code, stderr }).toEqual({
      verb,
      code: 1,
      stderr: expect.stringContaining('has format 2; this version of Millrace reads format 1'),
    });
    expect(stderr).toContain('docs/upgrading.md');
  }
  expect(await hot()).toEqual(['c']);
  // Entries alone say where a named document is.
  expect(await run('restore', '--key', '["s0"]', '--id', 'a', '--dry-run')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('size unknown'),
  });
  expect(await run('restore', '--key', '["s0"]', '--id', 'a')).toMatchObject({ code: 0 });
});

it('a clock that went back archives later, and loses nothing', async () => {
  await write('c', 's0', '2025-01-02T10:00:00.000Z');
  await derive(stage);
  vi.useFakeTimers({ now: Date.parse('2020-01-01T00:00:00.000Z'), toFake: ['Date'] });
  try {
    expect(await run('sweep')).toMatchObject({ code: 0, stdout: expect.stringContaining('0 archived') });
    expect((await run('verify')).code).toBe(0);
  } finally {
    vi.useRealTimers();
  }
  expect(await hot()).toEqual(['c']);
  expect((await run('sweep')).code).toBe(0);
  expect(await hot()).toEqual([]);
  expect((await run('verify')).code).toBe(0);
});
