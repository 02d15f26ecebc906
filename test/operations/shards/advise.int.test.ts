import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { measureShard } from '../../../src/operations/shards/advice/measure.ts';
import { clientInside } from '../../emulator/emulate.ts';
import { VerbStage } from './shards-stage.ts';

const STOREFRONT = join(import.meta.dirname, '../../../examples/storefront');

let stage: VerbStage;
beforeAll(async () => {
  stage = await VerbStage.open();
  const client = clientInside(stage.emulator);
  const { database: north } = await client.databases.create({ id: 'north' });
  await north.containers.create({ id: 'Orders', partitionKey: '/tenantId' });
  await told('init');
  await told('map create tenants --kind range --key-type int32 --sharded Orders=/tenantId');
  for (const shard of ['west', 'east', 'north']) {
    await told(`init --shard ${shard}`);
    await told(`add tenants --shard ${shard}`);
  }
  await told('keys map tenants --shard west --low -10 --high 100');
  await told('keys map tenants --shard east --low 100 --high 200');
  await told('keys map tenants --shard east --low 200 --high 300');
  const write = async (shard: string, tenantId: unknown, documents: number): Promise<void> => {
    const orders = client.database(shard).container('Orders');
    for (let n = 0; n < documents; n += 1)
      await orders.items.create({ id: `o${n}`, type: 'order', tenantId, note: 'x' });
  };
  for (const [tenantId, documents] of [
    [-5, 12],
    [10, 9],
    [20, 80],
    [30, 15],
  ] as const)
    await write('west', tenantId, documents);
  for (const tenantId of [100, 150, 250]) await write('east', tenantId, 4);
  await write('east', 50, 3);
  await write('east', 'none', 2);
  client.dispose();
});
afterAll(() => stage[Symbol.asyncDispose]());

/** The lines of a successful command. */
async function told(line: string): Promise<string> {
  const { code, stdout, stderr } = await stage.run(line);
  expect(`${code} ${stderr}`).toBe('0 ');
  return stdout.trimEnd();
}

interface Result {
  readonly shards: readonly { readonly shard: string; readonly documents: number; readonly bytes: number }[];
  readonly advice: readonly { readonly kind: string; readonly keys: string; readonly commands: readonly string[] }[];
}

async function advised(more = ''): Promise<Result> {
  const { code, value } = await stage.json(`advise tenants${more}`);
  expect(code).toBe(0);
  return value as Result;
}

it('says which key to isolate and which keys to move, each with its command', async () => {
  const before = await advised();
  expect(before).toMatchObject({
    map: 'tenants',
    shards: [
      { shard: 'west', keys: 4, documents: 116, strays: 0, withoutKey: 0 },
      { shard: 'east', keys: 3, documents: 12, strays: 3, withoutKey: 2 },
      { shard: 'north', keys: 0, documents: 0 },
    ],
    nearlyFull: [],
    pastRouter: { keys: 1, most: [{ shard: 'east', key: 50, documents: 3, home: 'west' }] },
    notMeasured: [expect.stringContaining('RU/s: no pipeline')],
  });
  expect(before.advice.map(({ kind, keys, commands }) => [kind, keys, commands])).toEqual([
    ['isolate', '[20, 30)', ['millrace shards move tenants --low 20 --high 30 --to north']],
    ['move', '[-10, 10)', ['millrace shards move tenants --low=-10 --high 10 --to east']],
    ['merge', '[100, 200) and [200, 300)', ['millrace shards merge tenants --at 200']],
  ]);
  const shown = await told('advise tenants');
  expect(shown).toMatch(
    /isolate \[20, 30\): west has .* in the key 20; north has 0 B\. Afterwards west has .*, and north/,
  );
  expect(shown).toContain('east also has 3 documents of keys that the map doesn’t give to it');
  const [isolate, move, merge] = before.advice.map(({ commands }) => commands[0]!.replace('millrace shards ', ''));
  expect(await told(`${isolate} --dry-run`)).toContain('copy 80 documents (80 of Orders) from west to north');
  expect(await told(`${move} --dry-run`)).toContain('copy 12 documents (12 of Orders) from west to east');
  expect(await told(merge!)).toBe('[100, 300) on east is one mapping.');
  expect((await advised()).advice.map(({ kind }) => kind)).toEqual(['isolate', 'move']);
});

it('evens out the RU/s that hosts report, where the tenant of the pipeline is the key, and says what they don’t name', async () => {
  const client = clientInside(stage.emulator);
  for (const shard of ['west', 'east']) {
    const { container } = await client.database(shard).containers.create({ id: 'Carts', partitionKey: '/storeId' });
    if (shard === 'west')
      for (const storeId of ['a', 'b', 'c']) await container.items.create({ id: 'cart', type: 'cart', storeId });
  }
  await told('map create stores --kind list --key-type text --sharded Carts=/storeId');
  for (const shard of ['west', 'east']) await told(`add stores --shard ${shard}`);
  for (const key of ['a', 'b', 'c']) await told(`keys map stores --shard west --key ${key}`);
  const at = Date.now();
  const spent = (tenant: string, charge: number) => ({ tenant, changes: 1, parked: 0, charge, delayMs: 0 });
  const status = {
    id: 'host',
    pk: 'status',
    type: 'millrace.status',
    at: new Date(at).toISOString(),
    startedAt: new Date(at - 100_000).toISOString(),
    version: '0.1.0',
    projections: [],
    sources: [],
    ranges: [],
    tenants: { tenants: [spent('a', 500), spent('b', 300)], others: spent('', 50) },
  };
  await client.database('shop').container('millrace').items.create(status);
  client.dispose();
  const { value } = await stage.json('advise stores --by ru', ['--pipeline', STOREFRONT]);
  expect(value).toMatchObject({
    shards: [
      { shard: 'west', keys: 3, ruPerSecond: 8 },
      { shard: 'east', keys: 0, ruPerSecond: 0 },
    ],
    advice: [{ kind: 'isolate', keys: '"a"', commands: ['millrace shards move stores --key a --to east'] }],
    notMeasured: ['which keys take 0.5 RU/s that hosts report without naming their tenants.'],
  });
});

it('counts keys beyond those that are read by the mean of these', async () => {
  const client = clientInside(stage.emulator);
  const map = { keyType: 'int32', schema: { sharded: { Orders: '/tenantId' } } } as const;
  const options = { signal: new AbortController().signal, most: 1 };
  const { keys, byMean } = await measureShard(map, client.database('west'), options);
  client.dispose();
  expect(byMean).toBe(3);
  expect(keys.map(({ documents }) => documents)).toEqual([12, 9, 80, 15]);
  for (const { documents, bytes } of keys) expect(bytes / keys[2]!.bytes).toBeCloseTo(documents / 80, 2);
});

it('says that RU is not measured, and advises nothing by it', async () => {
  expect(await told('advise stores --by ru')).toMatch(/Not measured: RU\/s: no pipeline[^]*No advice: without RU\/s/);
});

it('names keys that were written past the router, and none that a move or a mapping has left', async () => {
  const past = '1 document of the key 999 was written into west past the router: no mapping has it';
  const client = clientInside(stage.emulator);
  const orders = client.database('west').container('Orders');
  for (const tenantId of [999, 998]) await orders.items.create({ id: 'o', type: 'order', tenantId });
  await told('keys map tenants --shard west --low 998 --high 999');
  await told('keys offline tenants --low 998 --high 999');
  await told('keys unmap tenants --low 998 --high 999');
  const { value } = await stage.json('advise tenants');
  expect((value as { pastRouter: unknown }).pastRouter).toEqual({
    keys: 2,
    most: [
      { shard: 'east', key: 50, documents: 3, home: 'west' },
      { shard: 'west', key: 999, documents: 1, home: null },
    ],
  });
  expect(await told('advise tenants')).toContain(past);
  for (const tenantId of [999, 998]) await orders.item('o', tenantId).delete();
  client.dispose();
});

it('names a container that was dropped since its shard is in the map, as check does', async () => {
  expect(await told('check tenants')).toBe('tenants: no differences.');
  const client = clientInside(stage.emulator);
  await client.database('north').container('Orders').delete();
  const { code, value } = await stage.json('check tenants');
  expect({ code, value }).toMatchObject({
    code: 1,
    value: [
      {
        map: 'tenants',
        differences: [],
        unfit: [{ shard: 'north', what: expect.stringContaining('no container Orders') }],
      },
    ],
  });
  expect((await stage.run('check tenants')).stdout).toContain('millrace shards init --shard');
  expect(await told('check tenants --shard west')).toBe('tenants: no differences.');
  const { notMeasured } = (await stage.json('advise tenants')).value as { notMeasured: string[] };
  expect(notMeasured).toContain('north: it has no container Orders.');
  // With another key it is another container.
  await client.database('north').containers.create({ id: 'Orders', partitionKey: '/other' });
  expect((await stage.run('check tenants')).stdout).toContain('begins with /other, not with /tenantId');
  client.dispose();
});
