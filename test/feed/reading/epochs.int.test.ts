import { describe, expect, onTestFinished, test } from 'vitest';
import {
  assertEpochFree,
  confirmedEpoch,
  currentEpoch,
  epochHeldBy,
  holdEpoch,
  latestEpoch,
  letEpochGo,
  raiseEpoch,
  renumber,
} from '../../../src/feed/reading/epochs.ts';
import { compose } from '../../../src/runtime/hosts/processor-host.ts';
import { triggerConsumer } from '../../../src/runtime/hosts/trigger-host.ts';
import { clientOf, emulate } from '../../emulator/emulate.ts';
import { openStage } from '../../support/stage.ts';

test('a source’s epoch stays while its container does, and rises with each container made again', async () => {
  const { container: state } = await emulate();
  expect(await currentEpoch(state, 'Orders', 'rid1')).toBe(1);
  expect(await currentEpoch(state, 'Orders', 'rid1')).toBe(1);
  expect(await currentEpoch(state, 'Orders', 'rid2')).toBe(2);
  expect(await currentEpoch(state, 'Customers', 'rid9')).toBe(1);
  expect(await currentEpoch(state, 'Orders', 'rid3')).toBe(3);
});

test('hosts that start at once agree on it, with lost answers and throttling too', async () => {
  const { emulator } = await emulate();
  const hosts = Array.from({ length: 6 }, () => clientOf(emulator).database('d').container('c'));
  emulator.faults({ failAfterEffect: 0.3, throttle: 0.2 });
  for (const [round, rid] of ['rid1', 'rid2', 'rid3', 'rid4'].entries()) {
    const epochs = await Promise.all(hosts.map((state) => currentEpoch(state, 'Orders', rid)));
    expect(epochs).toEqual(hosts.map(() => round + 1));
  }
});

test('a container that lost changes counts again, once for all hosts that notice', async () => {
  const { emulator, container: state } = await emulate();
  const hosts = Array.from({ length: 4 }, () => clientOf(emulator).database('d').container('c'));
  await currentEpoch(state, 'Orders', 'rid1');
  expect(await Promise.all(hosts.map((host) => raiseEpoch(host, 'Orders', 'rid1', 1)))).toEqual([2, 2, 2, 2]);
  expect(await currentEpoch(state, 'Orders', 'rid1')).toBe(2);
});

test('an epoch that is looked up is what others raised it to, never below what is known, and stays as it is stored', async () => {
  const { container: state } = await emulate();
  expect(await latestEpoch(state, 'Orders', 'rid1', 1), 'nothing is stored').toBe(1);
  await currentEpoch(state, 'Orders', 'rid1');
  await raiseEpoch(state, 'Orders', 'rid1', 1);
  expect(await latestEpoch(state, 'Orders', 'rid1', 1)).toBe(2);
  expect(await latestEpoch(state, 'Orders', 'rid1', 5)).toBe(5);
  expect(await latestEpoch(state, 'Orders', 'rid0', 1), 'of the container before').toBe(1);
  expect(await currentEpoch(state, 'Orders', 'rid1')).toBe(2);
});

test('an epoch that a host confirms without the raiser’s session is the raised one, however far its reads lag', async () => {
  const { emulator, container: state } = await emulate();
  const other = clientOf(emulator, false).database('d').container('c');
  await currentEpoch(state, 'Orders', 'rid1');
  emulator.faults({ replicaLagMs: 300 });
  await raiseEpoch(state, 'Orders', 'rid1', 1);
  expect(await latestEpoch(other, 'Orders', 'rid1', 1), 'a read is old').toBe(1);
  expect(await confirmedEpoch(other, 'Orders', 'rid1', 1)).toBe(2);
  expect(await confirmedEpoch(other, 'Orders', 'rid2', 1), 'of another container').toBe(1);
  expect(await confirmedEpoch(other, 'Customers', 'rid9', 1), 'nothing is stored').toBe(1);
});

describe('what is raised while a host is there', () => {
  const shop = async () => {
    const stage = await openStage();
    onTestFinished(() => stage[Symbol.asyncDispose]());
    const orders = stage.container('Orders');
    const rid = (await orders.read()).resource?._rid ?? '';
    const write = async (id: string) => {
      const order = {
        id,
        type: 'order',
        storeId: 's',
        customerId: 'c',
        placedAt: '2026-01-01T10:00:00.000Z',
        cents: 1,
      };
      return (await orders.items.upsert(order)).resource;
    };
    const raise = async () => {
      const { state } = stage.services.place;
      await raiseEpoch(state, 'Orders', rid, await currentEpoch(state, 'Orders', rid));
    };
    const versions = async () => {
      const sql = "SELECT VALUE [c.id, c._src.epoch] FROM c WHERE c.type = 'summary' ORDER BY c.id";
      return (await stage.container('Summaries').items.query<unknown>(sql).fetchAll()).resources;
    };
    return { stage, write, raise, versions };
  };

  test('an epoch that is raised while a host is there counts for a host that was put together before and takes its leases after', async () => {
    const { stage, write, raise, versions } = await shop();
    await write('a');
    const app = await compose({ ...stage, host: 'h', readLagMs: 0, timings: { pollMs: 20, acquireMs: 50 } });
    onTestFinished(() => app.stop());
    await raise();
    await app.start();
    await app.drained(AbortSignal.timeout(50_000));
    expect(await versions()).toEqual([['a', 2]]);
  });

  test('an epoch that is raised while a host is there counts for the next batch of a Functions app, which isn’t told of leases', async () => {
    const { stage, write, raise, versions } = await shop();
    const consume = triggerConsumer({ ...stage, readLagMs: 0 });
    const deliver = async (id: string, lsn: number) => {
      const documents = [{ ...(await write(id)), _lsn: lsn }];
      await consume({ container: 'Orders', documents, again: false, signal: AbortSignal.timeout(50_000) });
    };
    await deliver('a', 1);
    await raise();
    await deliver('b', 2);
    expect(await versions()).toEqual([
      ['a', 1],
      ['b', 2],
    ]);
  });
});

test('an epoch that a move holds is raised by no rewind, and still by a container that lost changes or was made again', async () => {
  const { container: state } = await emulate();
  expect(await holdEpoch(state, 'Orders', 'rid1', 'tenants/a')).toBe(1);
  expect(await holdEpoch(state, 'Orders', 'rid1', 'tenants/b')).toBe(1);
  expect(await holdEpoch(state, 'Orders', 'rid1', 'tenants/a')).toBe(1);
  await expect(raiseEpoch(state, 'Orders', 'rid1', 1)).rejects.toMatchObject({ code: 'epoch-held' });
  await expect(assertEpochFree(state, 'Orders', 'rid1')).rejects.toMatchObject({ code: 'epoch-held' });
  expect(await confirmedEpoch(state, 'Orders', 'rid1', 1)).toBe(1);
  expect(await raiseEpoch(state, 'Orders', 'rid1', 1, { moving: true })).toBe(2);
  expect(await renumber(state, 'Orders', 'rid1', 2)).toBe(3);
  expect(await epochHeldBy(state, 'Orders')).toEqual(['tenants/a', 'tenants/b']);
  await letEpochGo(state, 'Orders', (move) => move === 'tenants/a');
  await expect(raiseEpoch(state, 'Orders', 'rid1', 3)).rejects.toMatchObject({ code: 'epoch-held' });
  await letEpochGo(state, 'Orders', () => true);
  expect(await epochHeldBy(state, 'Orders')).toEqual([]);
  await assertEpochFree(state, 'Orders', 'rid1');
  expect(await raiseEpoch(state, 'Orders', 'rid1', 3)).toBe(4);
  await holdEpoch(state, 'Orders', 'rid1', 'tenants/c');
  expect(await currentEpoch(state, 'Orders', 'rid2'), 'made anew').toBe(5);
  await assertEpochFree(state, 'Customers', 'rid9');
  await letEpochGo(state, 'Customers', () => true);
});
