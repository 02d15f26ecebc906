import { expect, it, vi } from 'vitest';
import { Meter } from '../../../src/cosmos/meter.ts';
import { startStatusWriter } from '../../../src/host/run/status-writer.ts';
import { Rates } from '../../../src/feed/processor/rates.ts';
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
  let position = 0;
  const lag = () => ({ known: true, changes: 900 - position / 2, ageMs: 1_000, charge: 1 });
  const failure = new Error('the sink is full');
  const lease = {
    id: 'P..0',
    range: { min: '', max: 'FF' },
    state: 'reading',
    position: undefined,
    idleSince: undefined,
    checkedAt: undefined,
    deliveries: 3,
    handled: 0,
    inHand: { changes: 7, since: 0 },
    rejection: { at: 500, changes: 7, error: failure },
  };
  const app = {
    lags: async () => [{ container: 'Orders', lease: '0', lag: lag() }],
    stats: () => [{ id: 'days@1', changes: (changes += 1), parked: 0, idle: false, meter: new Meter() }],
    sources: () => [
      {
        container: 'Orders',
        known: 1,
        meter: new Meter(),
        leases: [{ ...lease, failure, position: `"${position}"`, handled: 2 * position }],
        readers: ['days@1'],
        pollMs: 5_000,
      },
    ],
  };
  const stop = startStatusWriter({ services, host: 'worker-1', app: app as never, rates: new Rates(), clock });
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
  expect(await said()).toMatchObject([
    {
      ranges: [
        {
          container: 'Orders',
          lease: '0',
          lag: 900,
          inPerSecond: null,
          catchUp: null,
          inHand: { changes: 7, seconds: 1, deliveries: 3 },
          rejection: { at: '1970-01-01T00:00:00.500Z', changes: 7, why: 'the sink is full' },
        },
      ],
    },
  ]);
  position = 600;
  clock.advance(30_000);
  await vi.waitFor(async () => expect((await said())[0]?.projections[0]?.changes).toBe(2));
  const { text } = await world.run(status);
  expect((await said())[0]?.ranges).toMatchObject([
    { handledPerSecond: 40, outPerSecond: 20, inPerSecond: 10, lag: 600, catchUp: 60 },
  ]);
  expect(text).toMatch(/worker-1 +Orders +0 +40 +10 +20 +60 s +31 s +3 +1970-01-01T00:00:00Z the sink is full/);
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
  const app = { stats: () => [], sources: () => [], lags: async () => [] };
  await startStatusWriter({ services, host: 'worker-1', app, rates: new Rates(), clock: new ManualClock() })();
  emulator.faults({});
  expect(await readHostStatuses(services, signal)).toEqual([]);
});
