// A projection that is taken out of the pipeline of a run: hosts hold what it read until it is removed for good.
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DeadLetters } from '../../../src/engine/dead-letters/dead-letters.ts';
import { NO_VIEW, type View, Views } from '../../../src/engine/views/views.ts';
import { openViews } from '../../../src/engine/views/view-reader.ts';
import { rebuild } from '../../../src/procedures/rebuild/rebuild.ts';
import { leasesOf, retirable, retire } from '../../../src/procedures/drop/retire.ts';
import type { App } from '../../../src/runtime/hosts/processor-host.ts';
import { ManualClock } from '../../support/clock.ts';
import { type Stage, openStage } from '../../support/stage.ts';
import { stands } from '../../verbs/projections/stands.ts';
import { VERSIONS, compare, live, options } from '../../verbs/projections/versions.ts';

const { signal } = new AbortController();
const order = (id: string, cents: number, more: object = {}) => ({
  id,
  type: 'order',
  storeId: 's1',
  customerId: 'c1',
  placedAt: '2026-01-01T10:00:00.000Z',
  cents,
  ...more,
});

let stage: Stage;
let without: Stage;
let apps: App[] = [];

const views = () => new Views(stage.services.place.state, 'versions');
const start = async (host: string, of: Stage): Promise<App> => {
  const app = await live(of, host);
  apps.push(app);
  return app;
};
const asked = async (of: Stage, name: string) => retirable(of.loaded.pipeline, name, await views().read());
const parts = (of: Stage, name: string) => ({ ...of, name, signal });
const size = async (container: string): Promise<number> => {
  const { resources } = await stage.container(container).items.query<number>('SELECT VALUE COUNT(1) FROM c').fetchAll();
  return resources[0] ?? 0;
};
/** Its waits take no time. */
class Skipping extends ManualClock {
  override sleep(ms: number, until?: AbortSignal): Promise<void> {
    const slept = super.sleep(ms, until);
    this.advance(ms);
    return slept;
  }
}

const withoutNames = (names: readonly string[]): Stage => {
  const { loaded } = stage;
  const projections = loaded.pipeline.projections.filter(({ name }) => !names.includes(name));
  return { ...stage, loaded: { ...loaded, pipeline: { ...loaded.pipeline, projections } } };
};

beforeEach(async () => {
  stage = await openStage({}, VERSIONS);
  without = withoutNames(['days']);
});
afterEach(async () => {
  await Promise.all(apps.map((app) => app.stop()));
  apps = [];
  await stage[Symbol.asyncDispose]();
});

describe('a projection that the pipeline no longer declares', () => {
  it('a projection that the pipeline no longer declares is held until it is removed: then hosts go on, and nothing of it is left', async () => {
    const old = await start('old', stage);
    await stage.container('Orders').items.upsert(order('o1', 1));
    await stage.container('Orders').items.upsert(order('bad', 1, { placedAt: 7 }));
    await old.drained(signal);
    await old.stop();
    expect(await size('Days')).toBeGreaterThan(0);
    const letters = async (): Promise<string[]> =>
      (await new DeadLetters(stage.services.place.state).list()).map(({ projection }) => projection).toSorted();
    expect(await letters()).toContain('days@1');

    const next = await start('next', without);
    await stage.container('Orders').items.upsert(order('o1', 2));
    // It would be applied within this time, if it weren't held.
    await delay(500);
    expect((await compare(without, 'summaries@1')).found.get('["s1","o1"]')).toMatchObject({ cents: 1 });

    const removed = await asked(without, 'days');
    expect(removed).toMatchObject({ version: { version: 1, container: 'Days' }, unread: [] });
    const clock = new Skipping();
    const done = await retire({ ...parts(without, 'days'), clock }, removed!);
    expect(done).toMatchObject({ projection: 'days@1', leases: 0 });
    expect(done.documents).toBeGreaterThan(0);
    // As long as a host that still declares it may write.
    expect(clock.slept.reduce((sum, ms) => sum + ms, 0)).toBeGreaterThan(180_000);
    await next.drained(signal);
    expect((await compare(without, 'summaries@1')).found.get('["s1","o1"]')).toMatchObject({ cents: 2 });
    expect(await size('Days')).toBe(0);
    expect(await letters()).not.toContain('days@1');
    expect(Object.keys((await views().read()) ?? {})).toEqual(['summaries']);
    await expect(openViews(stage.services.place.state).current('days')).rejects.toMatchObject({ code: 'not-found' });
    expect(await asked(without, 'days')).toBeUndefined();
  });

  it('the removal of a projection goes on where it was stopped, and the projection may be declared and built again', async () => {
    const old = await start('old', stage);
    await stage.container('Orders').items.upsert(order('o1', 1));
    await old.drained(signal);
    const stopped = AbortSignal.abort();
    const first = retire(
      { ...parts(without, 'days'), clock: new Skipping(), signal: stopped },
      (await asked(without, 'days'))!,
    );
    await expect(first).rejects.toMatchObject({ name: 'AbortError' });
    // The host that still declares it has stopped writing it, and goes on with the others.
    await stage.container('Orders').items.upsert(order('o2', 5));
    await old.drained(signal);
    expect((await compare(stage, 'summaries@1')).found.size).toBe(2);
    expect(await size('Days')).toBeGreaterThan(0);
    await expect(openViews(stage.services.place.state).current('days')).rejects.toMatchObject({ code: 'not-found' });
    const again = await asked(without, 'days');
    expect(again).toHaveProperty('since');
    await retire({ ...parts(without, 'days'), clock: new Skipping() }, again!);
    expect(await size('Days')).toBe(0);

    await rebuild(options(stage, 'days@1', signal));
    const { expected, found } = await compare(stage, 'days@1');
    expect(found).toEqual(expected);
  });

  it('a removal of a projection that is overtaken removes nothing that was declared and built since', async () => {
    const old = await start('old', stage);
    await stage.container('Orders').items.upsert(order('o1', 1));
    await old.drained(signal);
    const removing = async (on: Stage) => {
      const of = { ...without, services: on.services };
      return retire({ ...parts(of, 'days'), clock: new Skipping() }, (await asked(of, 'days'))!);
    };
    const goOn = await stands(stage, 'Days', 2, removing);
    await removing(without);
    await rebuild(options(stage, 'days@1', signal));
    expect(await goOn?.()).toBe('rebuild-under-way');
    const { expected, found } = await compare(stage, 'days@1');
    expect(expected.size).toBe(1);
    expect(found).toEqual(expected);
  });

  it('the removal of a projection takes the leases along that nothing else needs', async () => {
    const old = await start('old', stage);
    await stage.container('Orders').items.upsert(order('o1', 1));
    await old.drained(signal);
    await old.stop();
    const place = { settings: stage.settings, services: stage.services, loaded: stage.loaded };
    const count = async (container: string) => (await leasesOf(place, container))?.all.length;
    expect(await count('Customers')).toBeGreaterThan(0);
    const daysAlone = withoutNames(['summaries']);
    const removed = await asked(daysAlone, 'summaries');
    expect(removed?.unread).toEqual(['Customers']);
    const { leases } = await retire({ ...parts(daysAlone, 'summaries'), clock: new Skipping() }, removed!);
    expect(leases).toBeGreaterThan(0);
    expect(await count('Customers')).toBe(0);
    expect(await count('Orders')).toBeGreaterThan(0);
  });

  it('the removal of a projection ends a pause of what has no versions, which would hold its sources for ever', async () => {
    const old = await start('old', without);
    await stage.container('Orders').items.upsert(order('o1', 1));
    await old.drained(signal);
    const paused = {
      since: '2026-01-01T00:00:00Z',
      by: 'ann',
      reason: '',
      reads: [{ container: 'Orders', type: 'order' }],
    };
    await views().change('gone', () => ({ ...NO_VIEW, paused }));
    await retire(parts(without, 'gone'), (await asked(without, 'gone'))!);
    expect(Object.keys((await views().read()) ?? {})).not.toContain('gone');
  });

  it('a projection that the pipeline no longer declares is not removed while something depends on it', async () => {
    const old = await start('old', stage);
    await stage.container('Orders').items.upsert(order('o1', 1));
    await old.drained(signal);
    const { pipeline } = without.loaded;
    const view = (await views().read())?.['days'];
    expect(view).toBeDefined();
    const days = (of: View | undefined) => ({ days: of! });
    expect(retirable(stage.loaded.pipeline, 'days', days(view))).toBeUndefined();
    const [reader] = pipeline.projections;
    const reading = { ...pipeline, projections: [{ ...reader!, from: { container: 'Days', type: 'day' } }] };
    expect(() => retirable(reading, 'days', days(view))).toThrow(expect.objectContaining({ code: 'version-read' }));
    const since = '2026-01-01T00:00:00Z';
    const staged = { ...view!, staged: { ...view!.current!, phase: 'filling' as const, since } };
    // A custom projection names no container, and is rebuilt in place.
    const inPlace = { ...staged, staged: { ...staged.staged, container: '' } };
    for (const [of, ended] of [
      [staged, 'drop days@'],
      [inPlace, 'rebuild days`'],
    ] as const)
      expect(() => retirable(pipeline, 'days', days(of))).toThrow(
        expect.objectContaining({ code: 'rebuild-under-way', hint: expect.stringContaining(ended) }),
      );
    const previous = { ...view!, previous: { ...view!.current!, version: 0, replacedAt: since, readableUntil: since } };
    expect(() => retirable(pipeline, 'days', days(previous))).toThrow(
      expect.objectContaining({ code: 'still-readable' }),
    );
  });
});
