import { expect, it, vi } from 'vitest';
import { Meter } from '../../../src/cosmos/meter.ts';
import { startStatusWriter } from '../../../src/host/run/status-writer.ts';
import { readHostStatuses } from '../../../src/operations/host-status.ts';
import { status } from '../../../src/operations/status.operation.ts';
import { ManualClock } from '../../support/clock.ts';
import { leaseWorld } from '../../operations/leases/lease-world.ts';

const signal = new AbortController().signal;

it('a host says every half minute what it is doing, and takes it back when it stops', async () => {
  const world = await leaseWorld(1);
  const { services } = world.stage;
  const clock = new ManualClock();
  let changes = 0;
  const failure = new Error('the sink is full');
  const lease = {
    id: 'P..0',
    range: { min: '', max: 'FF' },
    state: 'reading',
    position: undefined,
    idleSince: undefined,
    checkedAt: undefined,
  };
  const app = {
    stats: () => [{ id: 'days@1', changes: (changes += 1), parked: 0, idle: false, meter: new Meter() }],
    sources: () => [
      {
        container: 'Orders',
        known: 1,
        meter: new Meter(),
        leases: [{ ...lease, failure }],
        readers: ['days@1'],
        pollMs: 5_000,
      },
    ],
  };
  const stop = startStatusWriter({ services, host: 'worker-1', app: app as never, clock });
  const said = () => readHostStatuses(services, signal);
  await vi.waitFor(async () =>
    expect(await said()).toMatchObject([{ id: 'worker-1', projections: [{ projection: 'days@1', changes: 1 }] }]),
  );
  expect(await said()).toMatchObject([
    {
      projections: [{ lag: null }],
      sources: [{ container: 'Orders', leases: 1, known: 1, failure: 'the sink is full' }],
    },
  ]);
  await vi.waitFor(() => expect(clock.slept).toEqual([30_000]));
  clock.advance(30_000);
  await vi.waitFor(async () => expect((await said())[0]?.projections[0]?.changes).toBe(2));
  const { text } = await world.run(status);
  expect(text).toMatch(/worker-1 +0 .*up since .*Orders: the sink is full/);
  await stop();
  expect(await said()).toEqual([]);
});

it('one whose words can’t be written goes on, and what others wrote there is passed over', async () => {
  const world = await leaseWorld(1);
  const { services, emulator } = world.stage;
  await services.state.items.create({ id: 'old', pk: 'status', something: 'else' });
  expect(await readHostStatuses(services, signal)).toEqual([]);
  emulator.faults({ rules: [{ container: 'millrace', status: 403 }] });
  const app = { stats: () => [], sources: () => [] };
  await startStatusWriter({ services, host: 'worker-1', app, clock: new ManualClock() })();
  emulator.faults({});
  expect(await readHostStatuses(services, signal)).toEqual([]);
});
