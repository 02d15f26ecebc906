import { expect, test } from 'vitest';
import { currentEpoch, raiseEpoch } from '../../src/feed/epochs.ts';
import { clientOf, emulate } from '../emulator/emulate.ts';

test('a source’s epoch stays while its container does, and rises with each container made anew', async () => {
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

test('a container that lost changes counts anew, once for all hosts that notice', async () => {
  const { emulator, container: state } = await emulate();
  const hosts = Array.from({ length: 4 }, () => clientOf(emulator).database('d').container('c'));
  await currentEpoch(state, 'Orders', 'rid1');
  expect(await Promise.all(hosts.map((host) => raiseEpoch(host, 'Orders', 'rid1', 1)))).toEqual([2, 2, 2, 2]);
  expect(await currentEpoch(state, 'Orders', 'rid1')).toBe(2);
});
