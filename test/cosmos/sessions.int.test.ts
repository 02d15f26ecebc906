// The session of a container that another client deletes and creates again under its name.
import { ChangeFeedStartFrom } from '@azure/cosmos';
import { expect, it, onTestFinished } from 'vitest';
import { connect } from '../../src/cosmos/connect.ts';
import { emulate, refusal } from '../emulator/emulate.ts';

async function stage() {
  const { emulator, database, container } = await emulate();
  const client = connect({ kind: 'key', endpoint: emulator.endpoint, key: emulator.key });
  onTestFinished(() => client.dispose());
  const ours = client.database(database.id).container(container.id);
  const again = async () => {
    const { resource } = await container.read();
    await container.delete();
    await database.containers.create({ id: container.id, partitionKey: resource!.partitionKey! });
  };
  return { emulator, container, ours, again };
}
const doc = (id: string) => ({ id, pk: 'k' });
const all = { query: 'SELECT VALUE c.id FROM c' };

it('a client reads, queries and follows a container that was made again, and reads its own writes there', async () => {
  const { emulator, container, ours, again } = await stage();
  for (let n = 0; n < 5; n++) await ours.items.create(doc(`old${n}`));
  await again();
  await container.items.create(doc('new'));
  expect((await ours.items.query<string>(all).fetchAll()).resources).toEqual(['new']);
  await again();
  await container.items.create(doc('newer'));
  expect((await ours.item('newer', 'k').read()).resource).toMatchObject({ id: 'newer' });
  await again();
  const feed = ours.items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Beginning() });
  expect((await feed.readNext()).result).toEqual([]);
  // Every replica lags; only the session's token makes one wait.
  emulator.faults({ replicaLagMs: 60_000 });
  for (let n = 0; n < 20; n++) {
    await ours.items.create(doc(`own${n}`));
    expect((await ours.item(`own${n}`, 'k').read()).statusCode).toBe(200);
  }
});

it('a read that is ahead of a replica of the same container stays refused', async () => {
  const { emulator, ours } = await stage();
  await ours.items.create(doc('a'));
  emulator.faults({ rules: [{ operation: 'query', status: 404, substatus: 1002, times: 1 }] });
  expect(await refusal(ours.items.query(all).fetchAll())).toMatchObject({ code: 404, substatus: 1002 });
});
