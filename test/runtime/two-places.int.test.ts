// One pipeline over two databases: what belongs to one of them, and what there is once.
import { type TestContext, expect, it } from 'vitest';
import { DeadLetters } from '../../src/engine/dead-letters/dead-letters.ts';
import { ridOf } from '../../src/cosmos/rid.ts';
import { Views } from '../../src/engine/views/views.ts';
import { currentEpoch, raiseEpoch } from '../../src/feed/reading/epochs.ts';
import { planModel } from '../../src/procedures/apply/apply.ts';
import { compose } from '../../src/runtime/hosts/processor-host.ts';
import type { Place } from '../../src/runtime/workspace.ts';
import { decideGate, gateTarget } from '../../src/shards/gate/write-gate.ts';
import { type Stage, openStage } from '../support/stage.ts';
import { compare, fast } from '../verbs/projections/versions.ts';

const { signal } = new AbortController();
const order = (id: string, cents: number, more: Readonly<Record<string, unknown>> = {}) => ({
  id,
  type: 'order',
  storeId: 's1',
  customerId: 'c1',
  placedAt: '2026-01-01T10:00:00Z',
  cents,
  ...more,
});

/** The stage of the shop, and its twin in another database of the account. */
async function twoPlaces({ onTestFinished }: Pick<TestContext, 'onTestFinished'>) {
  const home = await openStage();
  onTestFinished(() => home[Symbol.asyncDispose]());
  const services = await home.services.at({ database: 'east' });
  for (const step of await planModel(home.loaded, services)) await step.apply();
  const east: Stage = {
    ...home,
    services: { ...services, close: () => undefined },
    container: (name) => services.place.database.container(name),
  };
  const derive = async (): Promise<void> => {
    const apps = [await compose({ ...home, ...fast, host: 'home' }), await compose({ ...east, ...fast, host: 'east' })];
    await Promise.all(apps.map((app) => app.start()));
    await Promise.all(apps.map((app) => app.drained(signal)));
    await Promise.all(apps.map((app) => app.stop()));
  };
  return { home, east, derive };
}

const assertExact = async (stage: Stage, orders: number): Promise<void> => {
  for (const name of ['summaries@1', 'days@1']) {
    const { expected, found } = await compare(stage, name);
    expect(found).toEqual(expected);
    if (name === 'summaries@1') expect(found.size).toBe(orders);
  }
};

const typesIn = async ({ state }: Pick<Place, 'state'>): Promise<string[]> => {
  const query = 'SELECT DISTINCT VALUE c.type ?? c.pk FROM c';
  return (await state.items.query<string>(query).fetchAll()).resources.toSorted();
};

it('two places have their own sinks from documents of one id, and begin and continue apart', async (context) => {
  const { home, east, derive } = await twoPlaces(context);
  await home.container('Customers').items.create({ id: 'c1', type: 'customer', storeId: 's1', name: 'Home' });
  await east.container('Customers').items.create({ id: 'c1', type: 'customer', storeId: 's1', name: 'East' });
  await home.container('Orders').items.create(order('o1', 100));
  await east.container('Orders').items.create(order('o1', 7));
  await east.container('Orders').items.create(order('o2', 8));
  await derive();
  await assertExact(home, 1);
  await assertExact(east, 2);
  await home.container('Orders').items.upsert(order('o1', 50));
  await east.container('Orders').items.upsert(order('o2', 8, { cancelled: true }));
  await derive();
  await assertExact(home, 1);
  await assertExact(east, 1);
  const leases = await home.services.global.leases.items.query<string>('SELECT VALUE c.id FROM c').fetchAll();
  const rids = await Promise.all([home, east].map(({ services }) => ridOf(services.place.database)));
  for (const rid of rids) expect(leases.resources.filter((id) => id.includes(`_${rid}_`))).not.toEqual([]);
});

it('two places have their own epochs, gates and dead letters; the views are there once', async (context) => {
  const { home, east, derive } = await twoPlaces(context);
  await home.container('Orders').items.create(order('o1', 100));
  // No handler can compute with this time, so the change is parked.
  await east.container('Orders').items.create(order('o1', 7, { placedAt: 5 }));
  await derive();
  const [there, here] = [east.services.place, home.services.place];
  const letters = async ({ state }: Pick<Place, 'state'>) =>
    (await new DeadLetters(state).list()).map(({ projection, id }) => [projection, id]);
  expect(await letters(here)).toEqual([]);
  expect(await letters(there)).not.toEqual([]);

  const epochOf = async ({ database, state }: Place): Promise<number> =>
    currentEpoch(state, 'Orders', await ridOf(database.container('Orders')));
  const before = await epochOf(here);
  await raiseEpoch(there.state, 'Orders', await ridOf(there.database.container('Orders')), 41);
  expect([await epochOf(here), await epochOf(there)]).toEqual([before, 42]);
  for (const stage of [home, east]) await stage.container('Orders').items.create(order('o2', 8));
  await derive();
  const derivedIn = async ({ database }: Place): Promise<number | undefined> =>
    (await database.container('Summaries').item('o2', 's1').read<{ _src: { epoch: number } }>()).resource?._src.epoch;
  expect([await derivedIn(here), await derivedIn(there)]).toEqual([before, 42]);

  await decideGate(there.state, 'Orders', { container: 'OrdersToo' }, 1);
  expect([await gateTarget(here.state, 'Orders'), await gateTarget(there.state, 'Orders')]).toEqual([
    { container: 'Orders' },
    { container: 'OrdersToo' },
  ]);

  expect(await new Views(home.services.global.state, home.loaded.pipeline.name).read()).toMatchObject({
    days: { current: { version: 1 } },
    summaries: { current: { version: 1 } },
  });
  expect(await typesIn(here)).toEqual(expect.arrayContaining(['millrace.views', 'millrace.fingerprint']));
  expect(await typesIn(there)).toEqual(expect.arrayContaining(['epochs', 'millrace.locator', 'millrace.starts']));
  expect((await typesIn(there)).filter((type) => /views|fingerprint|audit|erasure/.test(type))).toEqual([]);
});
