// The version log of documents that are in the shards, and `archive as-of` from it.
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { compose } from '../../../src/runtime/processor-host.ts';
import { loadPipeline } from '../../../src/runtime/load-pipeline.ts';
import { type Order, rows } from '../../runtime/application.ts';
import { type Azurite, startAzurite } from '../../support/azurite.ts';
import { fast } from '../projections/versions.ts';
import { coldShop } from './cold-shop.ts';

const fixture = (name: string): string => join(import.meta.dirname, '../../fixtures', name);

let azurite: Azurite;
beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(async () => {
  await azurite?.close();
});

it('the log begins with the documents of every shard, also of a key that moves meanwhile, and orders versions across shards', async (context) => {
  const { stage, application, host, signal, blobs, run, millrace, shardOf, move } = await coldShop(
    context,
    azurite,
    fixture('spread-log'),
  );
  await application.order('s0', 'north', 'o1', 100);
  await application.order('s0', 'north', 'o2', 7, { placedAt: '2026-03-01T10:00:00.000Z' });
  await application.order('s1', 'west', 'o1', 20);
  // Hosts have read all of it before the log was declared.
  const before = await compose({
    ...stage,
    ...fast,
    loaded: await loadPipeline(fixture('spread-side')),
    shardsRefreshMs: 20,
    host: 'before',
  });
  await before.start();
  await before.drained(signal);
  await before.stop();
  const app = await host();
  await app.drained(signal);

  const file = join(tmpdir(), `as-of-shards-${process.pid}.jsonl`);
  context.onTestFinished(() => rm(file, { force: true }));
  const now = (): string => new Date().toISOString();
  const asOf = (...more: string[]) => run('archive', 'as-of', now(), ...more);
  const stated = async (): Promise<Order[]> => {
    const { code, stderr } = await asOf('--into', file, '--force');
    expect([code, stderr]).toEqual([0, expect.any(String)]);
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
    return lines
      .map((line) => JSON.parse(line) as Order)
      .toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
  };
  const nameOf = ({ storeId, id }: Order): string => `${storeId}-${id}`;
  const written = (): Order[] =>
    [...application.orders.values()].toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));

  // West keeps its documents. Then those of s0 come to it, before north has kept any: hosts keep the copies.
  await millrace('archive', 'sweep', '--shard', 'west');
  expect(await asOf('--into', file)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('every shard of the map'),
  });
  await move('s0', 'west');
  await app.drained(signal);
  await millrace('archive', 'sweep', '--shard', 'north');
  expect(await asOf('--into', file)).toMatchObject({ code: 2, stderr: expect.stringContaining('is before') });
  // As if the log had begun long ago.
  const begin = JSON.stringify({ format: 1, from: 0 });
  await blobs.getBlockBlobClient('log~orders-cold@1/begin.json').upload(begin, begin.length);
  expect(await stated()).toEqual(written());

  // A document that the application marked as deleted is one as it was stored.
  // What is written on the second shard, and after the way back on the first, is newer than all before.
  await application.order('s0', 'west', 'o1', 55);
  await application.order('s0', 'west', 'o2', 7, { placedAt: '2026-03-01T10:00:00.000Z', cancelled: true });
  await app.drained(signal);
  await move('s0', 'north');
  await application.order('s0', 'north', 'o3', 3, { placedAt: '2026-03-02T10:00:00.000Z' });
  await app.drained(signal);
  // What a sweep removes is in the log.
  await millrace('archive', 'sweep');
  expect(await stated()).toEqual(written());
  expect((await asOf('--into', file, '--force', '--tenant', 's1')).code).toBe(0);
  expect((await readFile(file, 'utf8')).trimEnd().split('\n')).toHaveLength(1);

  // Into a container of the shards: each document goes where the map has its key.
  const into = async (container: string) => JSON.parse((await asOf('--into', container)).stdout) as object;
  expect(await into('OldOrders')).toMatchObject({ documents: 4, moving: 0 });
  const stores = async (of: ReturnType<typeof stage.at>) =>
    (await rows<{ storeId: string }>(of, 'c.storeId')).map(({ storeId }) => storeId);
  expect([await stores(stage.at('north', 'OldOrders')), await stores(stage.at('west', 'OldOrders'))]).toEqual([
    ['s0', 's0', 's0'],
    ['s1'],
  ]);
  expect(await into('OldOrdersOfAll')).toMatchObject({ documents: 4, moving: 0 });
  expect(await stores(stage.container('OldOrdersOfAll'))).toHaveLength(4);
  await stage.map.lockMapping(await stage.map.mapping('s0'), 'move-1');
  const left = await asOf('--into', 'OldOrders');
  expect([left.code, JSON.parse(left.stdout)]).toMatchObject([1, { documents: 1, moving: 3 }]);
  await stage.map.unlockMapping(await stage.map.mapping('s0'), 'move-1');

  // A shard that is added later changes nothing; one that no host reads does.
  await stage.addShard('east');
  await app.drained(signal);
  expect(await stated()).toEqual(written());
  await app.stop();
  await application.order('s1', 'west', 'o4', 1);
  expect(await asOf('--into', file, '--force')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/have not read range \S+ of west\/Orders/),
  });
  await stage.map.detachShard(shardOf('west'));
  expect(await asOf('--into', file, '--force')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Shard west is detached'),
  });
}, 400_000);
