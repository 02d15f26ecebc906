import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import pMap from 'p-map';
import type { Doc, ReferenceSpec } from '../../src/pipeline/specs.ts';
import type { SourceContainer } from '../../src/feed/reading/mapper.ts';
import { referenceRunner } from '../../src/kinds/reference/reference-runner.ts';
import { Poison, type Runner } from '../../src/kinds/runner.ts';
import { type TwoHosts, openTwoHosts } from './two-hosts.ts';

const source = (name: string, type: string): SourceContainer => ({
  name,
  keyPaths: [['world']],
  types: new Map([[type, {}]]),
});
const RATES = source('Rates', 'rate');
const STORES = source('Stores', 'store');
const SPEC: ReferenceSpec = {
  kind: 'reference',
  name: 'rates',
  version: 1,
  from: { container: 'Rates', type: 'rate' },
  into: { container: 'StoreRates', type: 'storeRate' },
  tenants: { container: 'Stores', type: 'store' },
  key: { store: 'store' },
  onDelete: 'remove',
  stable: true,
  map: (rate) => ({ id: rate['as'] ?? rate['id'], percent: rate['percent'] }),
};

let hosts: TwoHosts;
beforeAll(async () => {
  hosts = await openTwoHosts({ Rates: '/world', Stores: '/world', StoreRates: '/store' });
});
afterEach(() => hosts.emulator.faults({}));
afterAll(() => hosts[Symbol.asyncDispose]());

const runner = (name: string, readLagMs = 0): Runner =>
  referenceRunner(
    { ...SPEC, name },
    { name: 'StoreRates', keyPaths: [['store']] },
    { stateContainer: 'millrace', readLagMs },
  );
const rate = (id: string, more: Doc = {}) => hosts.write(RATES, { id, world: 'w', type: 'rate', percent: 1, ...more });
const store = (id: string, more: Doc = {}) =>
  hosts.write(STORES, { id, world: 'w', type: 'store', store: id, ...more });

async function refusals(work: Promise<unknown>): Promise<Record<string, string>> {
  try {
    await work;
    return {};
  } catch (error) {
    if (!(error instanceof Poison)) throw error;
    return Object.fromEntries(error.refusals.map(({ change, error: { code } }) => [change.id, code]));
  }
}

/** Data and a tenant that come at once, to two hosts that both read too old; whether the tenant has the data afterwards. */
async function atOnce(name: string, readLagMs: number): Promise<boolean> {
  const [data, tenant] = await Promise.all([rate(name), store(name)]);
  await Promise.all([
    runner(name, readLagMs).apply([data], hosts.access(0)),
    runner(name, readLagMs).apply([tenant], hosts.access(1)),
  ]);
  return (await hosts.read('StoreRates', name, name)) !== undefined;
}

test('data and tenant that come at once find each other, though both lists are read too old', async () => {
  hosts.emulator.faults({ replicaLagMs: 200 });
  // Without the second look: else nothing here would show that it is needed.
  let missed = false;
  for (let at = 0; !missed && at < 60; at++) missed = !(await atOnce(`control-${at}`, 0));
  expect(missed).toBe(true);
  const names = Array.from({ length: 24 }, (_, at) => `pair-${at}`);
  const found = await pMap(names, async (name) => [name, await atOnce(name, 250)], { concurrency: 6 });
  expect(found.filter(([, there]) => there !== true)).toEqual([]);
});

test('data that would lie elsewhere, and a tenant that would, are refused; what there is stays', async () => {
  const one = runner('moving');
  await one.apply([await store('here')], hosts.access(0));
  await one.apply([await rate('moved')], hosts.access(0));
  expect(await refusals(one.apply([await rate('moved', { as: 'other' })], hosts.access(0)))).toEqual({
    moved: 'place-changed',
  });
  expect(await refusals(one.apply([await store('here', { store: 'there' })], hosts.access(0)))).toEqual({
    here: 'place-changed',
  });
  expect(await refusals(one.apply([await store('nowhere', { store: null })], hosts.access(0)))).toEqual({
    nowhere: 'key-missing',
  });
  expect(await hosts.read('StoreRates', 'moved', 'here')).toMatchObject({ percent: 1 });
});

test('two documents, or two tenants, that want one place are refused, and so is a place of somebody else', async () => {
  const one = runner('clashing');
  await one.apply([await store('twin')], hosts.access(0));
  await one.apply([await rate('a', { as: 'same' })], hosts.access(0));
  expect(await refusals(one.apply([await rate('b', { as: 'same' })], hosts.access(0)))).toEqual({
    b: 'collision',
  });
  expect(await refusals(one.apply([await store('twin2', { store: 'twin' })], hosts.access(0)))).toEqual({
    twin2: 'collision',
  });
  await hosts.database.container('StoreRates').items.create({ id: 'theirs', store: 'twin', type: 'storeRate' });
  expect(await refusals(one.apply([await rate('theirs')], hosts.access(0)))).toEqual({ theirs: 'sink-occupied' });
  expect(await hosts.read('StoreRates', 'same', 'twin')).toMatchObject({ _src: { id: 'a' } });
});

test('two tenants of one key: the second is refused, data goes on to the first, and once that is gone the second has its place', async () => {
  const one = runner('twins');
  const [first, second] = [await store('t1', { store: 'shared' }), await store('t2', { store: 'shared' })];
  await one.apply([await rate('before')], hosts.access(0));
  const refused = await refusals(one.apply([first, second], hosts.access(0)));
  const [loser = ''] = Object.keys(refused);
  expect(Object.values(refused)).toEqual(['collision']);
  await one.apply([await rate('after')], hosts.access(0));
  for (const id of ['before', 'after'])
    expect(await hosts.read('StoreRates', id, 'shared')).toMatchObject({ percent: 1 });
  const winner = loser === 't1' ? 't2' : 't1';
  const gone = await store(winner, { store: 'shared' });
  await one.apply([{ ...gone, op: 'delete' }], hosts.access(0));
  expect(await hosts.read('StoreRates', 'after', 'shared')).toMatchObject({ type: 'millrace.tombstone' });
  // As a redrive would.
  await one.apply([loser === 't1' ? first : second], hosts.access(0));
  for (const id of ['before', 'after'])
    expect(await hosts.read('StoreRates', id, 'shared')).toMatchObject({ percent: 1 });
});

test('two documents of one id that come at once: one is refused, and a tenant that comes later has the other', async () => {
  const one = runner('same');
  const pair = [await rate('c', { as: 'same' }), await rate('d', { as: 'same' })];
  await one.apply([await store('early')], hosts.access(0));
  expect(Object.values(await refusals(one.apply(pair, hosts.access(0))))).toEqual(['collision']);
  await one.apply([await store('late')], hosts.access(0));
  const [early, late] = [
    await hosts.read('StoreRates', 'same', 'early'),
    await hosts.read('StoreRates', 'same', 'late'),
  ];
  expect(early).toBeDefined();
  expect(late).toMatchObject({ _src: { id: early && (early['_src'] as Doc)['id'] } });
});
