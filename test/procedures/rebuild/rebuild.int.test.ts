import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Doc } from '../../../src/pipeline/specs.ts';
import { DeadLetters } from '../../../src/engine/dead-letters/dead-letters.ts';
import { Fingerprints } from '../../../src/engine/guard-fingerprints.ts';
import { Views } from '../../../src/engine/views/views.ts';
import { openViews } from '../../../src/engine/views/view-reader.ts';
import type { App } from '../../../src/runtime/hosts/processor-host.ts';
import { drop } from '../../../src/procedures/drop/drop.ts';
import { promote } from '../../../src/procedures/promote/promote.ts';
import { rebuild } from '../../../src/procedures/rebuild/rebuild.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import { type Stage, openStage } from '../../support/stage.ts';
import { SourceLog } from '../../verbs/projections/log.ts';
import { VERSIONS, compare, live, options, specOf, writeAny } from '../../verbs/projections/versions.ts';

let stage: Stage;
let app: App;
const { signal } = new AbortController();
const SEED = suiteSeed();

beforeEach(async () => {
  stage = await openStage({}, VERSIONS);
  app = await live(stage);
});
afterEach(async () => {
  await app.stop();
  await stage[Symbol.asyncDispose]();
});

const views = () => new Views(stage.services.place.state, 'versions');
const opts = (id: string) => options(stage, id, signal);

it('a version is known by its declaration since its rebuild, and a rebuild doesn’t go on with another declaration', async () => {
  await rebuild(opts('days@2'));
  const given = opts('days@2');
  const fingerprints = new Fingerprints(stage.services.global.state, given.loaded);
  expect(await fingerprints.hasRun(given.spec)).toBe(true);
  const measures = { count: given.spec.kind === 'aggregate' && Object.values(given.spec.measures)[0] };
  await expect(rebuild({ ...given, spec: { ...given.spec, measures } as never })).rejects.toMatchObject({
    code: 'projection-incompatible',
  });
});

describe(`a rebuild beside the live hosts (seed ${SEED})`, () => {
  it('readers see at each read what the oracle makes of a state of the sources, by the old version, then by the new one', async () => {
    const log = new SourceLog(stage, new Random(SEED));
    for (let n = 0; n < 200; n++) await log.write();
    await app.drained(signal);
    const writing = log.keepWriting(1);
    const reader = openViews(stage.services.place.state, { pipeline: 'versions', refreshMs: 5 });
    const stopping = new AbortController();
    const seen = new Map<string, number>();
    const faults: string[] = [];
    const reading = (async () => {
      while (!stopping.signal.aborted && faults.length === 0) {
        for (const name of ['summaries', 'days']) {
          const { version, container, type } = await reader.current(name);
          const query = { query: 'SELECT * FROM c WHERE c.type = @type', parameters: [{ name: '@type', value: type }] };
          const { resources } = await stage.container(container).items.query<Doc>(query).fetchAll();
          if (version < (seen.get(name) ?? 0)) faults.push(`${name} went back to ${version}`);
          seen.set(name, version);
          faults.push(...log.faults(specOf(stage, `${name}@${version}`), resources));
        }
      }
    })();
    for (const id of ['summaries@2', 'days@2']) {
      expect(await rebuild(opts(id))).toMatchObject({ projection: id, parked: 0, resumed: false });
      expect(await promote(opts(id))).toMatchObject({ projection: id });
    }
    const later = log.reads + 10;
    while (log.reads < later && faults.length === 0) await delay(5);
    await writing.stop();
    await app.drained(signal);
    stopping.abort();
    await reading;
    expect(faults).toEqual([]);
    expect(Object.fromEntries(seen)).toEqual({ summaries: 2, days: 2 });
    expect(log.writes).toBeGreaterThan(300);
    for (const id of ['summaries@2', 'days@2']) {
      const { expected, found } = await compare(stage, id);
      expect(expected.size).toBeGreaterThan(5);
      expect(found).toEqual(expected);
    }
    // What the reader would have noticed: a document that is missing, one of a state long past, one of no state at all.
    for (const name of ['summaries', 'days']) {
      const spec = specOf(stage, `${name}@2`);
      const { container, type } = spec.into;
      const query = { query: 'SELECT * FROM c WHERE c.type = @type', parameters: [{ name: '@type', value: type }] };
      const { resources } = await stage.container(container).items.query<Doc>(query).fetchAll();
      const [first = {}, ...others] = resources;
      expect(log.faults(spec, resources)).toEqual([]);
      expect(log.faults(spec, others)).toHaveLength(1);
      for (const cents of [1, -1]) expect(log.faults(spec, [{ ...first, cents }, ...others])).toHaveLength(1);
    }
    // The leases that only the rebuild had are gone.
    const { resources } = await stage.services.global.leases.items
      .query<string>("SELECT VALUE c.id FROM c WHERE CONTAINS(c.id, '@2') AND CONTAINS(c.id, '..')")
      .fetchAll();
    expect(resources).toEqual([]);
    console.log(`${log.reads} reads during ${log.writes} writes`);
  });

  it('the version before is no longer kept up, may be read for a while, and can be dropped afterwards', async () => {
    const random = new Random(SEED);
    for (let n = 0; n < 40; n++) await writeAny(stage, random);
    await rebuild(opts('summaries@2'));
    const { readableUntil } = await promote(opts('summaries@2'));
    const before = (await compare(stage, 'summaries@1')).found;
    expect(before.size).toBeGreaterThan(10);
    await stage.container('Orders').items.upsert({
      id: 'late',
      type: 'order',
      storeId: 's1',
      customerId: 'c1',
      placedAt: '2026-01-01T10:00:00.000Z',
      cents: 1,
    });
    await app.drained(signal);
    expect((await compare(stage, 'summaries@1')).found).toEqual(before);
    expect((await compare(stage, 'summaries@2')).found.has('["s1","late"]')).toBe(true);
    const target = { ...opts('summaries@2'), name: 'summaries' };
    await expect(drop({ ...target, version: 2 })).rejects.toMatchObject({ code: 'version-current' });
    await expect(drop({ ...target, version: 1 })).rejects.toMatchObject({ code: 'still-readable' });
    await expect(drop({ ...target, version: 3 })).rejects.toMatchObject({ code: 'not-found' });
    const dropped = await drop({ ...target, version: 1, now: Date.parse(readableUntil ?? '') });
    expect(dropped.documents).toBeGreaterThanOrEqual(before.size);
    expect((await compare(stage, 'summaries@1')).found.size).toBe(0);
    expect((await compare(stage, 'days@1')).found).toEqual((await compare(stage, 'days@1')).expected);
    const left = await stage.services.place.state.items
      .query("SELECT * FROM c WHERE c.projection = 'summaries@1'")
      .fetchAll();
    expect(left.resources).toEqual([]);
    expect((await views().read())?.['summaries']).toMatchObject({ previous: null, current: { version: 2 } });
  });

  it('two processes that build one version at once do it no harm', async () => {
    const random = new Random(SEED);
    for (let n = 0; n < 100; n++) await writeAny(stage, random);
    const both = await Promise.allSettled([rebuild(opts('days@2')), rebuild(opts('days@2'))]);
    // The one that lost its leases for good says who has them.
    const lost = both.flatMap((one) => (one.status === 'rejected' ? [(one.reason as { code?: string }).code] : []));
    expect(lost).toEqual(lost.map(() => 'overtaken'));
    expect(lost.length).toBeLessThan(2);
    await promote(opts('days@2'));
    const { expected, found } = await compare(stage, 'days@2');
    expect(found).toEqual(expected);
  });

  it('a rebuild beside the live hosts is refused where it makes no sense, with what to do instead', async () => {
    await writeAny(stage, new Random(SEED));
    await app.drained(signal);
    await expect(rebuild(opts('summaries@1'))).rejects.toMatchObject({ code: 'version-current' });
    await expect(rebuild(opts('days@1'))).rejects.toMatchObject({ code: 'version-current' });
    await expect(promote(opts('summaries@2'))).rejects.toMatchObject({ code: 'not-staged' });
    await stage
      .container('SummariesTwo')
      .items.upsert({ id: 'x', type: 'summary', storeId: 's1', _mr: { by: 'summaries@2' } });
    await expect(rebuild(opts('summaries@2'))).rejects.toMatchObject({ code: 'exists' });
    await drop({ ...opts('summaries@2'), name: 'summaries', version: 2 });
    await views().change('summaries', (view) => ({
      ...view,
      staged: { version: 3, container: 'X', type: 'x', reads: [], phase: 'filling', since: 'yesterday' },
    }));
    await expect(rebuild(opts('summaries@2'))).rejects.toMatchObject({ code: 'rebuild-under-way' });
    await views().change('summaries', (view) => ({
      ...view,
      staged: {
        version: 2,
        container: 'SummariesTwo',
        type: 'summary',
        reads: [],
        phase: 'filling',
        since: 'yesterday',
      },
    }));
    await expect(promote(opts('summaries@2'))).rejects.toMatchObject({
      code: 'not-caught-up',
      hint: expect.stringContaining('rebuild summaries@2') as string,
    });
  });

  it('a rebuild beside the live hosts is not promoted while it lacks what the version before has', async () => {
    await writeAny(stage, new Random(SEED));
    await rebuild(opts('summaries@2'));
    const change = {
      container: 'Orders',
      type: 'order',
      key: ['s1'],
      id: 'bad',
      version: { epoch: 1, lsn: 1, etag: '"1"' },
      at: 0,
      op: 'upsert' as const,
    };
    const { MillraceError } = await import('../../../src/base/errors.ts');
    await new DeadLetters(stage.services.place.state).park(
      'summaries@2',
      [{ change, error: new MillraceError('projection-threw', 'No') }],
      new Date(),
    );
    await expect(promote(opts('summaries@2'))).rejects.toMatchObject({ code: 'parked-in-new' });
    expect(await promote({ ...opts('summaries@2'), evenParked: true })).toMatchObject({ projection: 'summaries@2' });
  });

  it('a rebuild beside the live hosts goes on where it stopped, and a promotion that was given up leaves everything as it was', async () => {
    const random = new Random(SEED);
    for (let n = 0; n < 100; n++) await writeAny(stage, random);
    await app.drained(signal);
    const interrupted = AbortSignal.timeout(1);
    await rebuild({ ...opts('days@2'), signal: interrupted }).catch(() => undefined);
    expect((await views().read())?.['days']?.staged).toMatchObject({ phase: 'filling' });
    expect(await rebuild(opts('days@2'))).toMatchObject({ resumed: true });
    await expect(
      promote({ ...opts('days@2'), readLagMs: 60_000, signal: AbortSignal.timeout(300) }),
    ).rejects.toMatchObject({ name: 'AbortError' });
    expect((await views().read())?.['days']).toMatchObject({ current: { version: 1 }, staged: { phase: 'filled' } });
    await writeAny(stage, random);
    await app.drained(signal);
    expect((await compare(stage, 'days@1')).found).toEqual((await compare(stage, 'days@1')).expected);
    await promote(opts('days@2'));
    expect((await compare(stage, 'days@2')).found).toEqual((await compare(stage, 'days@2')).expected);
  });
});

describe('hosts', () => {
  it('hosts hold back what a paused projection reads, lose nothing of it, and go on', async () => {
    await stage.container('Orders').items.upsert({
      id: 'a',
      type: 'order',
      storeId: 's1',
      customerId: 'c1',
      placedAt: '2026-01-01T10:00:00.000Z',
      cents: 1,
    });
    await app.drained(signal);
    await views().change('days', (view) => ({ ...view, paused: { since: 'now', by: 'me', reason: '' } }));
    await new Promise((resolve) => setTimeout(resolve, 50));
    await stage.container('Orders').items.upsert({
      id: 'b',
      type: 'order',
      storeId: 's1',
      customerId: 'c1',
      placedAt: '2026-01-01T10:00:00.000Z',
      cents: 1,
    });
    // Customers aren't read by it, and go on.
    await stage.container('Customers').items.upsert({ id: 'c1', type: 'customer', storeId: 's1', name: 'Ada' });
    await expect
      .poll(async () => (await compare(stage, 'summaries@1')).found.get('["s1","a"]'))
      .toMatchObject({ customerName: 'Ada' });
    expect((await compare(stage, 'days@1')).found.get('["s1","day|2026-01-01|s1"]')).toMatchObject({ orders: 1 });
    await views().change('days', (view) => ({ ...view, paused: null }));
    await app.drained(signal);
    expect((await compare(stage, 'days@1')).found.get('["s1","day|2026-01-01|s1"]')).toMatchObject({ orders: 2 });
  });
});
