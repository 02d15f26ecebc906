// Verifications by the schedule: what is due, which host does it, and what a host leaves for the next one.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Views } from '../../../src/engine/views/views.ts';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { startVerificationMetrics } from '../../../src/host/run/host-metrics.ts';
import { startVerifying } from '../../../src/host/run/verifying.ts';
import { compose } from '../../../src/runtime/hosts/processor-host.ts';
import type { Settings } from '../../../src/base/settings.ts';
import { openWorkspace } from '../../../src/runtime/open-workspace.ts';
import { openServices } from '../../../src/runtime/services.ts';
import { doctor } from '../../../src/verbs/doctor.operation.ts';
import type { DoctorFinding } from '../../../src/procedures/doctor/finding.ts';
import { faultsOf } from '../../../src/procedures/archive/verified.ts';
import { status } from '../../../src/verbs/status.operation.ts';
import { type DueVerification, verifyDue } from '../../../src/procedures/verify/verify-due.ts';
import { deadLettersDiscard } from '../../../src/verbs/dead-letters/discard.operation.ts';
import { projectionsVerify } from '../../../src/verbs/projections/verify.operation.ts';
import { type Pages, NO_PAGES, verifyPages } from '../../../src/procedures/verify/verify-pages.ts';
import { formatVerification, verify } from '../../../src/procedures/verify/verify.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import { type Stage, openStage } from '../../support/stage.ts';
import { SteppingClock } from '../../verbs/leases/lease-world.ts';
import { derive } from '../recover/recovery.ts';

const SEED = suiteSeed();
const { signal } = new AbortController();
const screen = { live: false, line: () => undefined, draw: () => undefined, progress: () => undefined };
const MONDAY = Date.parse('2026-03-02T00:00:00.000Z');
const HOUR = 3_600_000;
const SCHEDULE = { sample: '30 3 * * *', whole: '0 4 * * 0' };
let stage: Stage;

beforeEach(async () => {
  stage = await openStage();
});
afterEach(() => stage[Symbol.asyncDispose]());

const contextOf = (clock: SteppingClock, on = stage, verifying: Settings['verify'] = SCHEDULE) => {
  const workspace = {
    ...openWorkspace({ directory: import.meta.dirname }),
    settings: () => ({ ...on.settings, verify: verifying }),
    services: () => Promise.resolve(on.services),
    pipeline: () => Promise.resolve(on.loaded),
  };
  return { workspace, actor: 'tester', signal, screen, clock };
};

async function orders(count: number): Promise<void> {
  for (let n = 0; n < count; n++)
    await stage.container('Orders').items.create({
      id: `o${n}`,
      type: 'order',
      storeId: `s${n % 3}`,
      customerId: `c${n % 4}`,
      placedAt: `2026-01-0${1 + (n % 5)}T10:00:00.000Z`,
      cents: n,
    });
}

function startingAt(time: number): SteppingClock {
  const clock = new SteppingClock();
  void clock.sleep(time - clock.now());
  return clock;
}

const spoil = (id: string) =>
  stage.container('Summaries').items.create({ id, storeId: 's1', type: 'summary', cents: 1 });

const kinds = (done: readonly DueVerification[]): string[] =>
  done.map((due) => `${due.kind} ${due.kind === 'archive' ? faultsOf(due.result) : (due.result?.different ?? '…')}`);

it('a sample is due each day and all documents each week, not before, and not for a time before the first look', async () => {
  await orders(30);
  await derive(stage);
  const clock = startingAt(MONDAY);
  const at = async (hours: number): Promise<string[]> => {
    await clock.sleep(MONDAY + hours * HOUR - clock.now());
    return kinds(await verifyDue(contextOf(clock)));
  };
  expect(await at(12)).toEqual([]);
  expect(await at(26)).toEqual([]);
  expect(await at(28)).toEqual(['sample 0']);
  expect(await at(29)).toEqual([]);
  await spoil('x');
  expect(await at(52)).toEqual(['sample 1']);
  // Days that no host looked at are one.
  expect(await at(6 * 24 + 5)).toEqual(['sample 1', 'whole 1']);
  expect(await at(6 * 24 + 6)).toEqual([]);
  expect(kinds(await verifyDue(contextOf(clock, stage, {})))).toEqual([]);

  const { text } = await status.run({}, contextOf(clock));
  expect(text).toMatch(/Last verified \d+ \S+ ago: 1 difference in \d+ sink documents\./);
  expect(text).toMatch(/Last sample \d+ \S+ ago: 1 difference in \d+ sink documents\./);
  const found = (await doctor.run({}, contextOf(clock))).value as DoctorFinding[];
  expect(found.filter(({ check }) => check === 'verification')).toMatchObject([{ verdict: 'bad' }, { verdict: 'bad' }]);
});

it('a verification by the schedule says, where documents differ, how many dead letters were discarded by hand', async () => {
  await stage
    .container('Orders')
    .items.create({ id: 'bad', type: 'order', storeId: 's1', customerId: 'c1', placedAt: 5 });
  await derive(stage);
  const clock = startingAt(MONDAY);
  const context = contextOf(clock);
  await verifyDue(context);
  await clock.sleep(6 * 24 * HOUR + 5 * HOUR);
  await deadLettersDiscard.run({ id: 'bad', reason: 'a test order' }, context);
  const { text } = await projectionsVerify.run({ due: true }, context);
  const said = / {2}Discarded by hand: 1 dead letter of summaries@1\. .*/;
  const [discarded] = said.exec((await projectionsVerify.run({}, context)).text) ?? [];
  expect(discarded).toBeDefined();
  expect(text.split('\n').filter((line) => line === discarded)).toHaveLength(2);
});

it('a host looks by itself, says what it found, and reports it to OpenTelemetry', async () => {
  await orders(10);
  await derive(stage);
  await spoil('x');
  const clock = startingAt(MONDAY);
  await verifyDue(contextOf(clock));
  await clock.sleep(28 * HOUR);
  const said: string[] = [];
  const found = Promise.withResolvers<void>();
  const line = (text: string): void => {
    said.push(text);
    found.resolve();
  };
  const end = startVerifying({ ...contextOf(clock), screen: { ...screen, line } }, 1);
  await found.promise;
  await end();
  expect(said).toMatchObject([
    expect.stringMatching(
      /^Verified a sample, \d+ sink documents: 1 difference in summaries@1\.\n {2}differs: Summaries \["s1","x"\]$/,
    ),
  ]);

  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 60_000 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  const { place } = stage.services;
  const endMetrics = startVerificationMetrics(place.state, () => [{ pipeline: stage.loaded.pipeline, place }], {
    meterProvider,
    now: () => clock.now(),
  });
  await reader.forceFlush();
  const points = exporter
    .getMetrics()
    .flatMap(({ scopeMetrics }) =>
      scopeMetrics.flatMap(({ metrics }) =>
        metrics.flatMap(({ descriptor, dataPoints }) =>
          dataPoints.map(({ attributes, value }) => [descriptor.name, attributes['kind'], value]),
        ),
      ),
    );
  expect(points).toEqual([
    ['millrace.verification.differences', 'sample', 1],
    ['millrace.verification.age', 'sample', expect.closeTo(0, -2)],
  ]);
  endMetrics();
  await meterProvider.shutdown();
});

it('of two hosts that look at once one verifies, and the other does nothing', async () => {
  await orders(10);
  const clock = startingAt(MONDAY);
  await verifyDue(contextOf(clock));
  await clock.sleep(28 * HOUR);
  const services = await openServices(stage.settings, { httpClient: stage.emulator.clientOptions.httpClient });
  const other = { ...stage, services };
  const done = await Promise.all([verifyDue(contextOf(clock)), verifyDue(contextOf(clock, other))]);
  expect(done.map(({ length }) => length).toSorted((a, b) => a - b)).toEqual([0, 1]);
  services.close();
});

it('a host whose time is up leaves the rest to the next look, which says the whole result', async () => {
  await orders(40);
  await derive(stage);
  await spoil('x');
  const clock = startingAt(MONDAY);
  await verifyDue(contextOf(clock));
  await clock.sleep(7 * 24 * HOUR);
  const done: string[] = [];
  for (let looks = 0; looks < 50 && !done.includes('whole 1'); looks++)
    done.push(...kinds(await verifyDue(contextOf(clock), 0)));
  expect(done.filter((one) => one === 'whole …').length).toBeGreaterThan(1);
  expect(done.at(-1)).toBe('whole 1');
  // Nothing is due, but the last results stand.
  const again = await projectionsVerify.run({ due: true }, contextOf(clock));
  expect(again).toMatchObject({ ok: false, value: [{ kind: 'whole' }, { kind: 'sample' }] });
  expect(again.text).toMatch(
    /^Verified all documents \S+Z, \d+ sink documents: 1 difference in \S+ The next one is due \S+T04:00:00Z\.\n {2}differs: /,
  );
  await stage.container('Summaries').item('x', 's1').delete();
  // It found all documents right after the sample.
  await clock.sleep(HOUR);
  await projectionsVerify.run({}, contextOf(clock));
  expect(await projectionsVerify.run({ due: true }, contextOf(clock))).toMatchObject({ ok: true, value: [] });
  const found = (await doctor.run({}, contextOf(clock))).value as DoctorFinding[];
  expect(found.filter(({ check, verdict }) => check === 'verification' && verdict === 'bad')).toEqual([]);
});

it('a verification by pages finds the same as one at once, wherever it ended between, and over a split', async () => {
  const random = new Random(SEED);
  await orders(90);
  for (let n = 0; n < 4; n++)
    for (const storeId of ['s0', 's1', 's2'])
      await stage.container('Customers').items.create({ id: `c${n}`, type: 'customer', storeId, name: `N${n}` });
  await derive(stage);
  const stored = async (name: string, type: string) =>
    (
      await stage
        .container(name)
        .items.query<{ id: string; storeId: string; cents: number }>(`SELECT * FROM c WHERE c.type = '${type}'`)
        .fetchAll()
    ).resources;
  for (let n = 0; n < 12; n++) {
    const [name, type] = random.pick([['Summaries', 'summary'] as const, ['Days', 'day'] as const]);
    const one = random.pick(await stored(name, type));
    if (random.chance(0.4)) await stage.container(name).item(one.id, one.storeId).delete();
    else if (random.chance(0.5)) await stage.container(name).items.upsert({ ...one, cents: -1 });
    else await spoil(`x${n}`);
  }
  const days = stage.container('Days');
  const query = "SELECT * FROM c WHERE c.type = 'millrace.contribution' AND IS_OBJECT(c['values'])";
  const { resources } = await days.items.query<{ id: string; storeId: string }>(query).fetchAll();
  const [changed, lost] = [random.pick(resources), random.pick(resources)];
  await days.items.upsert({ ...changed, values: { rows: 1, m: { cents: -1 } } });
  if (lost.id !== changed.id) await days.item(lost.id, lost.storeId).delete();
  const { differences } = await verify(stage.loaded, stage.services, { signal, screen, readLagMs: 0 });
  expect(differences.length).toBeGreaterThan(5);

  let from: Pages = NO_PAGES;
  let ended = false;
  for (let pages = 0; !ended; pages++) {
    const cut = new AbortController();
    let left = 1 + random.int(3);
    const save = (now: Pages): Promise<void> => {
      from = JSON.parse(JSON.stringify(now)) as Pages;
      if (--left === 0) cut.abort();
      return Promise.resolve();
    };
    if (pages === 3) stage.emulator.split('shop/Orders', '0');
    ended = await verifyPages(stage.loaded, stage.services, {
      signal: cut.signal,
      screen,
      readLagMs: 0,
      from,
      save,
      pageSize: 7,
    }).then(
      () => true,
      (error: unknown) => {
        if (!cut.signal.aborted) throw error;
        return false;
      },
    );
  }
  expect(Object.keys(from.differences).toSorted()).toEqual(
    differences.map(({ container, document }) => `${container} ${document}`).toSorted(),
  );
  expect(from).toMatchObject({ sources: 90, moving: 0 });
  expect(from.ended).toHaveLength(3);
});

it('a verification that is due judges nothing that hosts have not passed, and nothing is due while a projection is paused', async () => {
  const app = await compose({
    ...stage,
    host: 'live',
    readLagMs: 0,
    viewsRefreshMs: 10,
    timings: { pollMs: 40, acquireMs: 50 },
  });
  await app.start();
  await orders(5);
  await app.drained(signal);
  const clock = startingAt(MONDAY);
  await verifyDue(contextOf(clock));
  const views = new Views(stage.services.place.state, stage.loaded.pipeline.name);
  const paused = {
    since: new Date().toISOString(),
    by: 'tester',
    reason: 'a test',
    reads: [{ container: 'Orders', type: 'order' }],
  };
  await views.change('days', (view) => ({ ...view, paused }));
  await vi.waitUntil(async () => {
    await stage.container('Orders').items.upsert({
      id: 'late',
      type: 'order',
      storeId: 's1',
      customerId: 'c1',
      placedAt: '2026-01-01T10:00:00.000Z',
      cents: 1,
    });
    return (await app.lags()).some(({ lag }) => lag.known && lag.changes > 0);
  }, 30_000);
  const options = { signal, screen, readLagMs: 0, patienceMs: 200, settings: stage.settings };
  const found = await verify(stage.loaded, stage.services, options);
  expect(found).toMatchObject({ different: 0, behind: true });
  expect(found.moving).toBeGreaterThan(0);
  expect(formatVerification(found)).toContain('can’t be judged');
  await clock.sleep(28 * HOUR);
  expect(await verifyDue(contextOf(clock))).toEqual([]);
  await views.change('days', (view) => ({ ...view, paused: null }));
  expect(kinds(await verifyDue(contextOf(clock)))).toEqual(['sample 0']);
  await app.stop();
});

it('a verification beside a live host takes a change on its way for no difference', async () => {
  const app = await compose({ ...stage, host: 'live', readLagMs: 0, timings: { pollMs: 40, acquireMs: 50 } });
  await app.start();
  await orders(30);
  const options = {
    signal,
    screen,
    readLagMs: 0,
    settings: stage.settings,
    from: NO_PAGES,
    save: () => Promise.resolve(),
  };
  expect((await verifyPages(stage.loaded, stage.services, options)).differences).toEqual({});
  await app.stop();
});
