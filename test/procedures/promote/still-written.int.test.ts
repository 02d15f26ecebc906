// A projection that reads what another one writes: `days` reads summaries, each version those of its own (REB-V32).
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Views } from '../../../src/engine/views/views.ts';
import type { ProjectionSpec } from '../../../src/pipeline/specs.ts';
import type { Context } from '../../../src/procedures/context.ts';
import { drop } from '../../../src/procedures/drop/drop.ts';
import { promoteBack } from '../../../src/procedures/promote/promote-back.ts';
import { promote } from '../../../src/procedures/promote/promote.ts';
import { rebuild } from '../../../src/procedures/rebuild/rebuild.ts';
import type { App } from '../../../src/runtime/hosts/processor-host.ts';
import { projectionsDrop } from '../../../src/verbs/projections/drop.operation.ts';
import { projectionsPromote } from '../../../src/verbs/projections/promote.operation.ts';
import { type Stage, openStage } from '../../support/stage.ts';
import { VERSIONS, live, options } from '../../verbs/projections/versions.ts';

const { signal } = new AbortController();
const HOUR_MS = 3_600_000;
let stage: Stage;
let app: App;

const chained = (spec: ProjectionSpec): ProjectionSpec =>
  spec.name === 'days'
    ? { ...spec, from: { container: spec.version === 1 ? 'Summaries' : 'SummariesTwo', type: 'summary' } }
    : spec;

beforeEach(async () => {
  const opened = await openStage({}, VERSIONS);
  const { pipeline } = opened.loaded;
  const loaded = { ...opened.loaded, pipeline: { ...pipeline, projections: pipeline.projections.map(chained) } };
  stage = { ...opened, loaded, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
  app = await live(stage);
  await write('o1', 1);
});
afterEach(async () => {
  await app.stop();
  await stage[Symbol.asyncDispose]();
});

const opts = (id: string, keepMs = HOUR_MS) => ({ ...options(stage, id, signal), keepMs });
const context = () =>
  ({
    workspace: {
      pipeline: async () => stage.loaded,
      services: async () => stage.services,
      settings: () => stage.settings,
    },
    signal,
  }) as unknown as Context;
const planned = (name: string, more: { back?: boolean; keep?: string } = {}) =>
  projectionsPromote.plan!({ name, evenParked: false, keep: '1h', back: false, ...more }, context());
const dropping = (version: number) => ({ ...opts(`summaries@${version}`), name: 'summaries', version });
const refused = (message: string, hint = '') => ({
  code: 'version-read',
  message: expect.stringContaining(message),
  hint: expect.stringContaining(hint),
});
async function write(id: string, cents: number): Promise<void> {
  const placedAt = '2026-01-01T10:00:00.000Z';
  await stage.container('Orders').items.upsert({ id, type: 'order', storeId: 's1', customerId: 'c1', placedAt, cents });
  await app.drained(signal);
}
const centsIn = async (container: string): Promise<number[]> =>
  (await stage.container(container).items.query<number>('SELECT VALUE c.cents FROM c WHERE c.type = "day"').fetchAll())
    .resources;

it('a version is not promoted while a reader would stand still, and the reader goes first', async () => {
  await rebuild(opts('summaries@2'));
  const still = refused(
    'days@1 reads Summaries/summary, which summaries@1 writes, and summaries@2 does not',
    'SummariesTwo',
  );
  await expect(planned('summaries')).rejects.toMatchObject(still);
  await expect(promote(opts('summaries@2'))).rejects.toMatchObject(still);
  await rebuild(opts('days@2'));
  await expect(planned('summaries')).rejects.toMatchObject(refused('days@1', 'projections promote days`'));
  await promote(opts('days@2'));
  // What is only kept of the reader is not in the way.
  expect(await promote(opts('summaries@2', 0))).toMatchObject({ projection: 'summaries@2' });
  await write('o2', 5);
  expect(await centsIn('DaysTwo')).toEqual([6]);

  const gone = refused('days@1 reads Summaries/summary, which summaries@1 wrote', 'SummariesTwo/summary');
  await expect(planned('days', { back: true })).rejects.toMatchObject(gone);
  await expect(promoteBack(opts('days@1'))).rejects.toMatchObject(gone);
  // A version that may become current again needs what it reads.
  const now = Date.now() + 700_000;
  await expect(drop({ ...dropping(1), now })).rejects.toMatchObject(refused('days@1', 'promote days --keep 0'));
  await promote(opts('days@2', 0));
  expect((await drop({ ...dropping(1), now })).documents).toBeGreaterThan(0);
});

it('a way back begins with the reader, and what is kept for it does not end before', async () => {
  for (const id of ['summaries@2', 'days@2']) await rebuild(opts(id));
  for (const id of ['days@2', 'summaries@2']) await promote(opts(id));
  const still = refused('days@2 reads SummariesTwo/summary, which summaries@2 writes', 'promote days --back');
  await expect(planned('summaries', { back: true })).rejects.toMatchObject(still);
  await expect(promoteBack(opts('summaries@1'))).rejects.toMatchObject(still);
  await promoteBack(opts('days@1'));
  await expect(planned('summaries', { keep: '0' })).rejects.toMatchObject(refused('days@1 reads Summaries/summary'));
  await expect(promote(opts('summaries@2', 0))).rejects.toMatchObject(refused('days@1 reads Summaries/summary'));
  await promoteBack(opts('summaries@1'));
  await write('o2', 5);
  expect(await centsIn('Days')).toEqual([6]);
});

it('a version that something reads is not dropped, and the plan says so', async () => {
  await rebuild(opts('summaries@2'));
  await rebuild(opts('days@2'));
  const still = refused('days@2 reads SummariesTwo/summary, which summaries@2 writes', 'drop days@2');
  await expect(projectionsDrop.plan!({ name: 'summaries@2' }, context())).rejects.toMatchObject(still);
  await expect(drop(dropping(2))).rejects.toMatchObject(still);
  await promote(opts('days@2'));
  await expect(drop(dropping(2))).rejects.toMatchObject(refused('days@2', 'promote days --back'));
});

it('a reader that begins to be built while a version catches up is seen before the switch', async () => {
  const views = new Views(stage.services.global.state, 'versions');
  const { current } = (await views.read())!['days']!;
  await views.change('days', (view) => ({ ...view, current: null }));
  await rebuild(opts('summaries@2'));
  const promoting = promote({ ...opts('summaries@2'), viewsRefreshMs: 1_000 });
  promoting.catch(() => undefined);
  await vi.waitUntil(async () => (await views.read())?.['summaries']?.staged?.phase === 'frozen', 30_000);
  const since = new Date().toISOString();
  await views.change('days', (view) => ({ ...view, staged: { ...current!, phase: 'filling', since } }));
  await expect(promoting).rejects.toMatchObject(refused('days@1', 'drop days@1'));
  expect((await views.read())?.['summaries']).toMatchObject({ current: { version: 1 }, staged: { phase: 'filled' } });
});
