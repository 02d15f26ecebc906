// What an application reads a projection by, against what pipelines have recorded.
import { CosmosClient, type Container } from '@azure/cosmos';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { Views, versionOf } from '../../../src/engine/views/views.ts';
import { openViews } from '../../../src/client.ts';
import { type Emulator, startEmulator } from '../../../src/emulator/index.ts';
import { COPY } from '../../kinds/exactness.ts';

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

const run = async (pipeline: string, name: string): Promise<void> => {
  await new Views(state, pipeline).adopt([{ ...COPY, name }]);
};
const { container, type } = versionOf(COPY);
const at = { version: 1, container, type };

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
