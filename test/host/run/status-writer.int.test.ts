import { expect, it, vi } from 'vitest';
import { Meter } from '../../../src/cosmos/budget/charge-meter.ts';
import { startStatusWriter } from '../../../src/host/run/status-writer.ts';
import { Rates } from '../../../src/feed/processor/rates.ts';
import { readHostStatuses } from '../../../src/procedures/status/host-status.ts';
import { status } from '../../../src/verbs/status.operation.ts';
import { MillraceError } from '../../../src/base/errors.ts';
import { DeadLetters } from '../../../src/engine/dead-letters/dead-letters.ts';
import type { Refusal } from '../../../src/kinds/runner.ts';
import { ManualClock } from '../../support/clock.ts';
import type { ShownTenants } from '../../../src/procedures/tenants/tenant-table.ts';
import { leaseWorld } from '../../verbs/leases/lease-world.ts';

const signal = new AbortController().signal;
const NONE = { tenants: [], others: null };

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
    tenants: () => NONE,
    failures: () => [{ part: 'Orders', error: failure }],
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
  const writer = startStatusWriter({
    services,
    host: 'worker-1',
    pipeline: 'shop',
    app: app as never,
    rates: new Rates(),
    clock,
  });
  const said = () => readHostStatuses(services, signal);
  await vi.waitFor(
    async () =>
      expect(await said()).toMatchObject([{ id: 'worker-1', projections: [{ projection: 'days@1', changes: 1 }] }]),
    30_000,
  );
  expect(await said()).toMatchObject([
    {
      projections: [{ lag: null }],
      sources: [{ container: 'Orders', leases: 1, known: 1, failure: 'the sink is full' }],
    },
  ]);
  await vi.waitFor(() => expect(clock.slept).toEqual([30_000]), 30_000);
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
  await vi.waitFor(async () => expect((await said())[0]?.projections[0]?.changes).toBe(2), 30_000);
  const { text } = await world.run(status);
  expect((await said())[0]?.ranges).toMatchObject([
    { handled: 1_200, handledPerSecond: 40, outPerSecond: 20, inPerSecond: 10, lag: 600, catchUp: 60 },
  ]);
  expect((await said())[0]?.history).toEqual([]);
  expect(text).toMatch(/worker-1 +Orders +0 +40 +10 +20 +60 s +31 s +3 +1970-01-01T00:00:00Z the sink is full/);
  expect(text).toMatch(/worker-1 +0 .*started \d+ \S+ ago, .*Orders: the sink is full/);
  // The service's clock is decades ahead of this one.
  expect((await said())[0]?.sources).toContainEqual(
    expect.objectContaining({ container: 'clock', failure: expect.stringContaining('Synchronise the clock') }),
  );
  clock.advance(30_000);
  await vi.waitFor(async () => expect((await said())[0]?.history).toEqual([[61, 20, 600]]), 30_000);
  await writer.end();
  expect(await said()).toEqual([]);
});

it('one whose words can’t be written goes on, and what others wrote there is passed over', async () => {
  const world = await leaseWorld(1);
  const { services, emulator } = world.stage;
  await services.place.state.items.create({ id: 'old', pk: 'status', something: 'else' });
  expect(await readHostStatuses(services, signal)).toEqual([]);
  emulator.faults({ rules: [{ container: 'millrace', status: 403 }] });
  const app = { stats: () => [], tenants: () => NONE, sources: () => [], failures: () => [], lags: async () => [] };
  await startStatusWriter({
    services,
    host: 'worker-1',
    pipeline: 'shop',
    app,
    rates: new Rates(),
    clock: new ManualClock(),
  }).end();
  emulator.faults({});
  expect(await readHostStatuses(services, signal)).toEqual([]);
});

it('the costliest tenants are added up over hosts, with their dead letters, and the others together', async () => {
  const world = await leaseWorld(1);
  const { services } = world.stage;
  const work = (tenant: string, charge: number) => ({ tenant, changes: 1, parked: 0, charge, delayMs: 90_000 });
  const hosts = [
    [...Array.from({ length: 10 }, (_, n) => work(`t${n}`, n)), work('big', 70)],
    [work('big', 50), work('t9', 1)],
  ].map((tenants, n) =>
    startStatusWriter({
      services,
      pipeline: 'shop',
      host: `worker-${n}`,
      app: {
        stats: () => [],
        tenants: () => ({ tenants, others: n === 0 ? { changes: 5, parked: 0, charge: 5, delayMs: 0 } : null }),
        sources: () => [],
        failures: () => [],
        lags: async () => [],
      },
      rates: new Rates(),
      clock: new ManualClock(),
    }),
  );
  const parked = (id: string, tenant: string): Refusal => ({
    change: {
      container: 'Orders',
      type: 'order',
      key: ['s1'],
      id,
      tenant,
      version: { epoch: 1, lsn: 1, etag: id },
      at: 0,
      op: 'upsert',
    },
    error: new MillraceError('x', 'no'),
  });
  await new DeadLetters(services.place.state).park('days@1', [parked('a', 'big'), parked('b', 'none')], new Date());
  await vi.waitFor(async () => expect(await readHostStatuses(services, signal)).toHaveLength(2), 30_000);
  const { text, value } = await world.run(status);
  const { tenants, others } = (value as { tenants: ShownTenants }).tenants;
  expect(tenants).toHaveLength(10);
  expect(tenants.slice(0, 2)).toMatchObject([
    { tenant: 'big', changes: 2, charge: 120, deadLetters: 1, delayMs: 90_000 },
    { tenant: 't9', charge: 10 },
  ]);
  expect(others).toMatchObject({ changes: 6, charge: 5, deadLetters: 1 });
  expect(text).toMatch(/tenant +changes +RU +dead letters +delay\nbig +2 +120 +1 +1 min\nt9 +2 +10 /);
  expect(text).toMatch(/\(others\) +6 +5 +1 /);
  await Promise.all(hosts.map(({ end }) => end()));
});
