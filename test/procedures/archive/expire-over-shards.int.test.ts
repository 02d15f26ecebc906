// The rule `keep` of an archive whose documents are in the shards.
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WRITE_GRACE_MS } from '../../../src/base/bounds.ts';
import type { ArchiveVerification } from '../../../src/archive/types.ts';
import type { ExpireResult } from '../../../src/archive/expire.ts';
import { RESTORING } from '../../../src/feed/reading/mapper.ts';
import { expireTogether } from '../../../src/verbs/archive/expire.operation.ts';
import { openTogether } from '../../../src/procedures/archive/open-together.ts';
import { type Azurite, startAzurite } from '../../support/azurite.ts';
import { coldShop } from '../move/cold-shop.ts';

const FOLDER = join(import.meta.dirname, '../../fixtures/spread-keep');
const OVER = { placedAt: '1990-01-01T10:00:00.000Z' };

let azurite: Azurite;
beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(async () => {
  await azurite?.close();
});

it('what is over goes from every shard, also after a move, and what moves or stands waits', async (context) => {
  const { stage, application, host, signal, blobs, run, millrace, move } = await coldShop(context, azurite, FOLDER);
  await application.order('s0', 'north', 'o1', 100, OVER);
  await application.order('s0', 'north', 'o2', 7);
  await application.order('s1', 'west', 'o1', 20, OVER);
  const app = await host();
  await app.drained(signal);
  await millrace('archive', 'sweep');
  await move('s0', 'west');
  await app.drained(signal);
  await millrace('archive', 'sweep');
  const { settings, services, loaded } = stage;
  const expire = async (now = Date.now()): Promise<ExpireResult> => {
    const [work] = await openTogether({ settings, services, loaded }, { signal, screen: { line: () => undefined } });
    return expireTogether(work!, { now, signal });
  };
  const cold = async (): Promise<unknown> => {
    const { code, places } = await millrace<ArchiveVerification[]>('archive', 'verify');
    return [code, places.map(({ value }) => value.map(({ archived, faults }) => [archived, faults]))];
  };
  expect(await cold()).toEqual([0, [[], [[0, []]], [[3, []]]]]);
  const planned = await run('archive', 'expire', '--dry-run');
  expect([planned.code, planned.stdout]).toEqual([0, expect.stringContaining('delete 2 documents')]);

  await stage.map.lockMapping(await stage.map.mapping('s0'), 'move-1');
  expect(await expire()).toMatchObject({ documents: 1, waiting: 1, left: 1 });
  await stage.map.unlockMapping(await stage.map.mapping('s0'), 'move-1');
  // A restore is bringing it back, in the shard that has it now.
  await stage.at('west', 'Orders').items.upsert({ id: 'o1', storeId: 's0', type: RESTORING });
  expect(await expire()).toMatchObject({ documents: 0, waiting: 1, left: 1 });
  await stage.at('west', 'Orders').item('o1', 's0').delete();
  const said = JSON.parse((await run('archive', 'expire')).stdout) as ExpireResult[];
  expect(said).toMatchObject([{ documents: 1, waiting: 2, left: 0, faults: [] }]);
  expect(await cold()).toEqual([0, [[], [[0, []]], [[1, []]]]]);

  const names = async (): Promise<number> => {
    const found: string[] = [];
    for await (const { name } of blobs.listBlobsFlat()) if (name.endsWith('.gz')) found.push(name);
    return found.length;
  };
  expect(await names()).toBe(3);
  expect(await expire(Date.now() + WRITE_GRACE_MS)).toMatchObject({ documents: 0, waiting: 0, removed: 2 });
  expect(await names()).toBe(1);
  expect(await cold()).toEqual([0, [[], [[0, []]], [[1, []]]]]);
  // No record is left that a move would wait for.
  for (const shard of ['north', 'west'])
    expect(
      (await stage.at(shard, 'millrace').items.query("SELECT * FROM c WHERE c.pk = 'sweeping'").fetchAll()).resources,
    ).toEqual([]);
}, 400_000);
