// What an application reads a projection by, against what pipelines have recorded.
import { CosmosClient, type Container } from '@azure/cosmos';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { Views, versionOf } from '../../../src/engine/views/views.ts';
import { openViews } from '../../../src/client.ts';
import { type Emulator, startEmulator } from '../../../src/emulator/index.ts';
import { container, document, text } from '../../../src/index.ts';
import { COPY } from '../../kinds/exactness.ts';
import { openStage } from '../../support/stage.ts';
import { VERSIONS, live } from '../../verbs/projections/versions.ts';

let emulator: Emulator | undefined;
let state: Container;
let count = 0;
beforeEach(async () => {
  emulator ??= await startEmulator();
  const client = new CosmosClient({ ...emulator.clientOptions });
  const { database } = await client.databases.createIfNotExists({ id: 'shop' });
  const id = `millrace-${count++}`;
  ({ container: state } = await database.containers.create({ id, partitionKey: { paths: ['/pk'] } }));
});
afterAll(() => emulator?.close());

const MODEL_CODE = { containers: { Copies: container('/place', { moved: document({ id: text }) }) } };

const run = async (pipeline: string, name: string): Promise<void> => {
  await new Views(state, pipeline).adopt({ projections: [{ ...COPY, name }], model: MODEL_CODE });
};
const { reads: _, ...at } = versionOf(COPY, { model: MODEL_CODE });

test('the one pipeline that has run is meant, whatever it is called', async () => {
  const views = openViews(state, { refreshMs: 0 });
  await expect(views.current('lists')).rejects.toMatchObject({ code: 'not-found' });
  await run('shop', 'lists');
  expect(await views.current('lists')).toEqual(at);
});

test('of several one is to be named, unless one has the name that no pipeline chooses', async () => {
  await run('shop', 'lists');
  await run('billing', 'totals');
  await expect(openViews(state).current('lists')).rejects.toMatchObject({
    code: 'option-invalid',
    message: 'The container holds the views of several pipelines: billing, shop',
  });
  expect(await openViews(state, { pipeline: 'billing' }).current('totals')).toEqual(at);
  await run('millrace', 'rows');
  expect(await openViews(state).current('rows')).toEqual(at);
});

describe('a reader with only the account', () => {
  test('A reader that has no pipeline finds a document of a copy and of an aggregate by the name of the view', async () => {
    await using stage = await openStage({}, VERSIONS);
    const order = { type: 'order', storeId: 's1', customerId: 'c1', placedAt: '2026-03-01T10:00:00Z', cents: 7 };
    await stage.container('Orders').items.create({ ...order, id: 'o1' });
    await stage.container('Orders').items.create({ ...order, id: 'o2', cents: 5 });
    const app = await live(stage);
    await app.drained(new AbortController().signal);
    await app.stop();
    const client = new CosmosClient({ ...stage.emulator.clientOptions });
    const views = openViews(client.database('shop').container('millrace'));
    expect(await views.current('summaries')).toMatchObject({ key: ['/storeId'], ids: 'map' });
    expect(await views.current('days')).toMatchObject({ key: ['/storeId'], ids: 'group' });
    expect(await views.read('summaries', { storeId: 's1', id: 'o1' })).toMatchObject({ id: 'o1', cents: 7 });
    const day = await views.read('days', { storeId: 's1', day: '2026-03-01' });
    expect(day).toMatchObject({ orders: 2, cents: 12 });
    expect(Object.keys(day ?? {}).filter((field) => field.startsWith('_'))).toEqual([]);
    expect(await views.read('days', { storeId: 's1', day: '2026-03-02' })).toBeUndefined();
    expect(await views.read('days', { storeId: 's1', id: String(day?.['id']) })).toEqual(day);
    expect(await views.read('days', { storeId: 's1', id: 'none' })).toBeUndefined();
    for (const fields of [{}, { when: '2026-03-01' }, { day: '2026-03-01', orders: 2 }])
      await expect(views.read('days', { storeId: 's1', ...fields })).rejects.toMatchObject({
        code: 'option-invalid',
        message: `The group of days isn't ${['storeId', ...Object.keys(fields)].join(', ')}`,
        hint: 'Give the fields of day, storeId; or of id, storeId.',
      });
    await expect(views.read('summaries', { id: 'o1' })).rejects.toMatchObject({
      code: 'option-invalid',
      message: "A document of summaries is found by /storeId, which isn't given",
      hint: 'Give the fields of id, storeId.',
    });
    await expect(views.read('days', { day: '2026-03-01' })).rejects.toMatchObject({
      message: "A document of days is found by /storeId, which isn't given",
      hint: 'Give the fields of day, storeId; or of id, storeId.',
    });
  });
});
