// A pipeline over shards on the embedded server, against what the application wrote.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Container } from '@azure/cosmos';
import { expect, it, vi } from 'vitest';
import { startEmulator } from '../../src/emulator/index.ts';
import { DeadLetters } from '../../src/engine/dead-letters/dead-letters.ts';
import { compose } from '../../src/runtime/hosts/processor-host.ts';
import { openServices } from '../../src/runtime/services.ts';
import { fast } from '../verbs/projections/versions.ts';
import { rows } from './application.ts';
import { Application, assertExact, given } from './spread-world.ts';

const { signal } = new AbortController();
const PATIENCE = { timeout: 60_000, interval: 50 };

it('a host of all shards derives in each shard, and the totals of all shards in the global place', async (context) => {
  const { stage, application, host } = await given(context);
  await application.order('s0', 'north', 'o1', 100);
  await application.order('s1', 'west', 'o1', 20, { countryId: 'DE' });
  await application.order('s2', 'east', 'o1', 3, { placedAt: '2026-01-02T10:00:00.000Z' });
  const app = await host();
  await app.drained(signal);
  await assertExact(stage, application);
  expect(await rows(stage.at('west', 'Summaries'), 'c.id, c.storeId, c.customerName, c.countryName, c.cents')).toEqual([
    { id: 'o1', storeId: 's1', customerName: 'Ada of s1', countryName: 'Germany', cents: 20 },
  ]);
  for (const [at, shard] of ['north', 'west', 'east'].entries()) {
    const countries = rows<{ id: string }>(stage.at(shard, 'ShardCountries'), 'c.id');
    expect((await countries).map(({ id }) => id).toSorted()).toEqual(['AT', 'DE']);
    const own = await rows<{ storeId: string }>(stage.at(shard, 'StoreCountries'), 'c.storeId');
    expect(own).toEqual([{ storeId: `s${at}` }, { storeId: `s${at}` }]);
  }
  await application.order('s0', 'north', 'o1', 100, { cancelled: true });
  await application.order('s1', 'west', 'o1', 25, { placedAt: '2026-01-02T10:00:00.000Z' });
  await app.drained(signal);
  await assertExact(stage, application);
});

it('a host of all shards reads a shard that is added and deleted while hosts run', async (context) => {
  const { stage, application, host } = await given(context, ['north']);
  await application.order('s0', 'north', 'o1', 100);
  const [one, two] = [await host('one'), await host('two')];
  await one.drained(signal);
  await stage.addShard('south');
  await application.open('s7', 'south');
  await application.order('s7', 'south', 'o1', 7);
  await vi.waitFor(() => assertExact(stage, application), PATIENCE);
  await two.drained(signal);
  expect(new Set([one, two].flatMap((app) => app.sources()).map(({ container }) => container))).toContain(
    'south/Orders',
  );
  await stage.map.deleteShard(await stage.map.shard({ database: 'south' }));
  await vi.waitFor(() => {
    for (const app of [one, two]) expect(app.sources().map(({ container }) => container)).not.toContain('south/Orders');
  }, PATIENCE);
  await application.order('s0', 'north', 'o2', 50);
  await vi.waitFor(() => assertExact(stage, application), PATIENCE);
});

it('a shard that does not answer stops no other, and is read once it answers', async (context) => {
  const { onTestFinished } = context;
  const data = mkdtempSync(join(tmpdir(), 'millrace-far-'));
  onTestFinished(() => rmSync(data, { recursive: true, force: true }));
  const first = await startEmulator({ data });
  const { endpoint, key } = first;
  const port = Number(new URL(endpoint).port);
  const { stage, application } = await given(context, ['north'], { accounts: [{ kind: 'key', endpoint, key }] });
  await stage.addShard('far', endpoint);
  const far = { ...stage, at: (shard: string, name: string) => farContainer(shard, name) };
  const farServices = await stage.services.at({ database: 'far', endpoint });
  const farContainer = (shard: string, name: string): Container =>
    shard === 'far' ? farServices.place.database.container(name) : stage.at(shard, name);
  const both = new Application(far);
  await both.open('s9', 'far');
  await both.order('s9', 'far', 'o1', 9);
  await application.order('s0', 'north', 'o1', 100);
  await first.close();
  // Another process: it knows nothing of an account that doesn't answer.
  const services = await openServices(stage.settings);
  onTestFinished(() => services.close());
  const app = await compose({ ...stage, services, ...fast, shardsRefreshMs: 20, host: 'late' });
  onTestFinished(() => app.stop());
  await app.start();
  await vi.waitFor(() => assertExact(stage, application), PATIENCE);
  let drained = false;
  const draining = app.drained(signal).then(() => (drained = true));
  await application.order('s0', 'north', 'o2', 50);
  await vi.waitFor(() => assertExact(stage, application), PATIENCE);
  expect(drained).toBe(false);
  const again = await startEmulator({ data, port, key });
  onTestFinished(() => again.close());
  await draining;
  for (const [id, order] of application.orders) both.orders.set(id, order);
  await assertExact(stage, both);
});

it('a host of all shards keeps each in its place: locators of totals, epochs, letters', async (context) => {
  const { stage, application, host } = await given(context, ['north', 'west']);
  await application.order('s0', 'north', 'o1', 100);
  // No handler can compute with this time, so the change is parked.
  const bad = { id: 'bad', type: 'order', storeId: 's1', customerId: 'c1', countryId: 'AT', placedAt: 5, cents: 1 };
  await stage.at('west', 'Orders').items.create(bad);
  const app = await host();
  await app.drained(signal);
  const projections = async (container: Container, type: string): Promise<string[]> => {
    const query = {
      query: 'SELECT DISTINCT VALUE c.projection FROM c WHERE c.type = @type',
      parameters: [{ name: '@type', value: type }],
    };
    return (await container.items.query<string>(query).fetchAll()).resources.toSorted();
  };
  expect(await projections(stage.container('millrace'), 'millrace.locator')).toEqual([
    'all-orders@1',
    'totals@1',
    'years@1',
  ]);
  expect(await projections(stage.at('north', 'millrace'), 'millrace.locator')).toEqual([
    'shard-countries@1',
    'summaries@1',
  ]);
  const letters = async (container: Container): Promise<string[]> =>
    (await new DeadLetters(container).list()).map(({ projection }) => projection).toSorted();
  expect(await letters(stage.at('west', 'millrace'))).toEqual(['all-orders@1', 'totals@1']);
  expect(await letters(stage.at('north', 'millrace'))).toEqual([]);
  expect(await letters(stage.container('millrace'))).toEqual([]);
  const epochs = async (container: Container): Promise<string[]> =>
    (await container.items.query<string>('SELECT VALUE c.id FROM c', { partitionKey: 'epochs' }).fetchAll()).resources;
  expect(await epochs(stage.at('north', 'millrace'))).not.toContain('Countries');
  expect((await epochs(stage.container('millrace'))).toSorted()).toEqual(['Countries', 'Totals']);
  // A letter is redriven where its document is.
  await application.order('s1', 'west', 'bad', 1);
  await app.drained(signal);
  expect(await letters(stage.at('west', 'millrace'))).toEqual([]);
  await assertExact(stage, application);
});

it('a host of all shards does not start if the stored map has other containers than the document states', async (context) => {
  const { stage } = await given(context, []);
  const [map] = stage.loaded.model.shardMaps ?? [];
  const model = { ...stage.loaded.model, shardMaps: [{ ...map!, reference: [] }] };
  await expect(compose({ ...stage, ...fast, loaded: { ...stage.loaded, model }, host: 'h' })).rejects.toMatchObject({
    code: 'shard-map-differs',
  });
});
