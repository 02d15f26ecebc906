import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DeadLetters } from '../../../src/engine/dead-letters/dead-letters.ts';
import { compose } from '../../../src/runtime/hosts/processor-host.ts';
import { redrive } from '../../../src/procedures/dead-letters/redrive.ts';
import type { ProjectionSpec } from '../../../src/pipeline/specs.ts';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { startLetterMetrics } from '../../../src/host/run/host-metrics.ts';
import { cli } from '../../cli/cli.ts';
import { SHOP, type Stage, openStage } from '../../support/stage.ts';

let stage: Stage;
/** While true, the projections' code fails for orders called `bad…`. */
let broken = true;
const { signal } = new AbortController();

/** The shop with code that fails on command. */
const shaky = (spec: ProjectionSpec): ProjectionSpec => {
  const check = (doc: Record<string, unknown>): void => {
    if (broken && String(doc['id']).startsWith('bad')) throw new Error('No password=hunter2 for this order');
  };
  if (spec.kind === 'aggregate') return { ...spec, groupBy: (row, doc) => (check(doc), spec.groupBy(row, doc)) };
  if (spec.kind === 'copy') return { ...spec, map: (doc, joined) => (check(doc), spec.map(doc, joined)) };
  return spec;
};

beforeEach(async () => {
  broken = true;
  stage = await openStage();
  const { pipeline } = stage.loaded;
  stage = {
    ...stage,
    loaded: { ...stage.loaded, pipeline: { ...pipeline, projections: pipeline.projections.map(shaky) } },
  };
  for (const [name, value] of Object.entries(stage.env)) vi.stubEnv(name, value);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await stage[Symbol.asyncDispose]();
});

const order = (id: string, cents = 100) => ({
  id,
  type: 'order',
  storeId: 's1',
  customerId: 'c1',
  placedAt: '2026-01-01T10:00:00.000Z',
  cents,
});
const upsert = (doc: object) => stage.container('Orders').items.upsert(doc);
async function derive(): Promise<void> {
  const app = await compose({ ...stage, host: 'test', readLagMs: 0, timings: { pollMs: 40 } });
  await app.start();
  await app.drained(signal);
  await app.stop();
}
const again = (more: object = {}) => redrive({ ...stage, signal, readLagMs: 0, ...more });
const summary = async (id: string) =>
  (await stage.container('Summaries').item(id, 's1').read<{ cents: number; type: string }>()).resource;
const day = async () =>
  (await stage.container('Days').item('day|2026-01-01|s1', 's1').read<{ orders: number; cents: number }>()).resource;
const letters = () => new DeadLetters(stage.services.place.state).list();

describe('redriving', () => {
  it('a redrive applies what could not be applied, once it can be', async () => {
    await upsert(order('good'));
    await upsert(order('bad1', 7));
    await derive();
    expect(await letters()).toHaveLength(2);
    expect(await again()).toMatchObject([{ outcome: 'refused' }, { outcome: 'refused' }]);
    expect(await letters()).toMatchObject([{ attempts: 2 }, { attempts: 2 }]);
    broken = false;
    expect(await again({ only: 'days' })).toEqual([
      { projection: 'days@1', container: 'Orders', id: 'bad1', outcome: 'applied' },
    ]);
    expect(await again()).toEqual([{ projection: 'summaries@1', container: 'Orders', id: 'bad1', outcome: 'applied' }]);
    expect(await summary('bad1')).toMatchObject({ cents: 7 });
    expect(await day()).toMatchObject({ orders: 2, cents: 107 });
    expect(await letters()).toEqual([]);
  });

  it('a redrive reads what is parked once for many letters, not once for each', async () => {
    for (let n = 0; n < 120; n++) await upsert({ ...order(`bad${n}`, 1), storeId: `s${n}` });
    await derive();
    expect(await letters()).toHaveLength(240);
    broken = false;
    const queries = (): number => stage.emulator.stats().requests['query'] ?? 0;
    const before = queries();
    expect(await again()).toHaveLength(240);
    expect(queries() - before).toBeLessThan(30);
    expect(await letters()).toEqual([]);
  });

  it('a redrive leaves a newer version to the feed', async () => {
    await upsert(order('bad1', 7));
    await derive();
    broken = false;
    await upsert(order('bad1', 9));
    expect(await again()).toMatchObject([{ outcome: 'superseded' }, { outcome: 'superseded' }]);
    expect(await summary('bad1')).toBeUndefined();
    await derive();
    expect(await summary('bad1')).toMatchObject({ cents: 9 });
  });

  it('a redrive takes back what is left of a document that is gone', async () => {
    await upsert({ ...order('bad1', 7), id: 'later-bad' });
    await derive();
    expect(await day()).toMatchObject({ orders: 1 });
    const orders = stage.container('Orders');
    await orders.items.upsert({ ...order('later-bad', 8), placedAt: 7 });
    await derive();
    // The copy would hold a number where its type has text.
    expect((await letters()).map(({ id, projection }) => `${projection} ${id}`).toSorted()).toEqual([
      'days@1 later-bad',
      'summaries@1 later-bad',
    ]);
    await orders.item('later-bad', 's1').delete();
    expect(await again()).toMatchObject([{ outcome: 'deleted' }, { outcome: 'deleted' }]);
    expect(await day()).toBeUndefined();
    // A zombie with the version before finds what makes it late.
    expect(await letters()).toEqual([]);
  });

  it('a redrive is the same by two at once, beside the live hosts', async () => {
    for (let n = 0; n < 12; n++) await upsert(order(`bad${n}`, 1));
    await derive();
    expect(await letters()).toHaveLength(24);
    broken = false;
    const app = await compose({ ...stage, host: 'live', readLagMs: 0, timings: { pollMs: 40 } });
    await app.start();
    const meanwhile = (async () => {
      for (let n = 0; n < 12; n += 2) await upsert(order(`bad${n}`, 2));
    })();
    await Promise.all([again(), again(), again({ only: 'days' }), meanwhile]);
    await app.drained(signal);
    await app.stop();
    expect(await letters()).toEqual([]);
    expect(await day()).toMatchObject({ orders: 12, cents: 18 });
    for (let n = 0; n < 12; n++) expect(await summary(`bad${n}`)).toMatchObject({ cents: n % 2 === 0 ? 2 : 1 });
  });
});

describe('what is parked', () => {
  class Reader extends MetricReader {
    protected override async onForceFlush(): Promise<void> {}
    protected override async onShutdown(): Promise<void> {}
  }

  it('what is parked is counted by projection with the age of the oldest, for alerts and on the status screen', async () => {
    const reader = new Reader();
    const meterProvider = new MeterProvider({ readers: [reader] });
    const measured = async (): Promise<Record<string, unknown>> => {
      const { resourceMetrics } = await reader.collect();
      const points = resourceMetrics.scopeMetrics.flatMap(({ metrics }) =>
        metrics.flatMap(({ descriptor, dataPoints }) =>
          dataPoints.map(({ attributes, value }) => [
            `${descriptor.name} ${String(attributes['projection'])}`,
            value as number,
          ]),
        ),
      );
      return Object.fromEntries(points) as Record<string, unknown>;
    };
    const parkedAt = Date.now();
    await upsert(order('good'));
    await upsert(order('bad1', 7));
    await upsert(order('bad2', 7));
    await derive();
    const later = Date.now() + 3_600_000;
    const { pipeline } = stage.loaded;
    const [other] = pipeline.projections;
    if (!other) throw new Error('There is no projection');
    const declared = { ...pipeline, projections: [...pipeline.projections, { ...other, name: 'other' }] };
    const places = [{ pipeline: declared, place: stage.services.place }];
    const end = startLetterMetrics(() => places, { meterProvider, now: () => later });
    const found = await measured();
    expect(found).toMatchObject({
      'millrace.dead_letters days@1': 2,
      'millrace.dead_letters summaries@1': 2,
      'millrace.dead_letters other@1': 0,
      'millrace.dead_letters.age other@1': 0,
    });
    expect(found['millrace.dead_letters.age days@1']).toBeGreaterThanOrEqual(3_600);
    expect(found['millrace.dead_letters.age days@1']).toBeLessThanOrEqual((later - parkedAt) / 1_000);
    end();
    const { stdout } = await cli(['status', '--json', '--pipeline', SHOP]);
    const { projections } = JSON.parse(stdout) as {
      projections: { id: string; parked: number; parkedSince: string }[];
    };
    const days = projections.find(({ id }) => id === 'days@1');
    expect(days).toMatchObject({ parked: 2 });
    expect(Date.parse(days?.parkedSince ?? '')).toBeGreaterThanOrEqual(parkedAt);
  });
});

describe('on the command line', () => {
  const millrace = (...args: string[]) => cli([...args, '--pipeline', SHOP]);
  beforeEach(async () => {
    await upsert(order('bad1', 7));
    await derive();
  });

  it('a redrive names what is still parked, and counts the others', async () => {
    await upsert({ ...order('never'), placedAt: 5 });
    await derive();
    const { code, stdout } = await millrace('dead-letters', 'redrive');
    expect(stdout).not.toContain('bad1');
    expect([code, stdout.split('\n').slice(-4)]).toEqual([
      1,
      [
        expect.stringMatching(/^(days|summaries)@1 .* never +refused /),
        expect.stringMatching(/^(days|summaries)@1 .* never +refused /),
        '2 dead letters resolved (2 applied), 2 still parked.',
        '',
      ],
    ]);
    const { stdout: left } = await millrace('dead-letters', 'redrive', '--json');
    expect(JSON.parse(left)).toHaveLength(2);
  });

  it('the command line keeps no secret in a letter', async () => {
    expect((await millrace('dead-letters', 'show', 'bad1')).stdout).toContain('No password=*** for this order');
  });

  it('the command line redrives, and says what came of it', async () => {
    expect((await millrace('dead-letters', 'redrive', '--dry-run')).stdout).toContain(
      'apply Orders/bad1 to days@1 again',
    );
    const { code, stdout } = await millrace('dead-letters', 'redrive', 'bad1', '--only', 'days', '--json');
    expect({ code, value: JSON.parse(stdout) as unknown }).toEqual({
      code: 0,
      value: [{ projection: 'days@1', container: 'Orders', id: 'bad1', outcome: 'applied' }],
    });
    expect((await millrace('dead-letters', 'redrive', 'bat1')).stderr).toContain('did you mean bad1?');
    expect((await millrace('dead-letters', 'redrive', '--only', 'sumaries')).stderr).toContain(
      'did you mean summaries?',
    );
  });

  it.each([
    ['list', [], ''],
    ['show', ['bad1'], 'No dead letter has the id bad1'],
    ['redrive', [], ''],
    ['discard', ['--reason', 'old', '--yes'], ''],
  ])('%s refuses a projection that there is not, and knows one that has nothing parked', async (verb, more, told) => {
    const ask = (only: string) => millrace('dead-letters', verb, ...more, '--only', only);
    const { code, stderr } = await ask('sumaries');
    expect(code).toBe(2);
    expect(stderr).toContain('There is no projection sumaries: did you mean summaries?');
    await millrace('dead-letters', 'redrive', '--only', 'days');
    expect(await letters()).toMatchObject([{ projection: 'summaries@1' }]);
    const none = await ask('days');
    expect(none.code).toBe(told === '' ? 0 : 2);
    expect(none.stderr).toContain(told);
  });

  it('the command line discards with a reason, one projection or document at a time, and writes down who did', async () => {
    expect((await millrace('dead-letters', 'discard', '--reason', 'old')).code).toBe(2);
    expect((await millrace('dead-letters', 'discard', 'bad1')).code).toBe(2);
    expect((await millrace('dead-letters', 'discard', 'bad1', '--reason', 'a test order')).stderr).toContain('--yes');
    expect(await letters()).toHaveLength(2);
    const { stdout } = await millrace(
      'dead-letters',
      'discard',
      'bad1',
      '--only',
      'days@1',
      '--reason',
      'a test order',
      '--yes',
    );
    expect(stdout).toContain('1 dead letter discarded.');
    expect(await letters()).toMatchObject([{ projection: 'summaries@1' }]);
    const { resources } = await stage.services.place.state.items.query('SELECT * FROM c WHERE c.kept').fetchAll();
    expect(resources).toMatchObject([
      { verb: 'dead-letters discard', arguments: { reason: 'a test order' }, outcome: 'done' },
    ]);
  });
});
