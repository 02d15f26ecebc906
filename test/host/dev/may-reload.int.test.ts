import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Pipeline } from '../../../src/pipeline/specs.ts';
import { Fingerprints, fingerprinted } from '../../../src/engine/guard-fingerprints.ts';
import { Views } from '../../../src/engine/views/views.ts';
import { assertReloadable, sayReloaded } from '../../../src/host/dev/may-reload.ts';
import { openWorkspace } from '../../../src/runtime/open-workspace.ts';
import { SHOP, type Stage, openStage } from '../../support/stage.ts';

/** Its model is code alone. */
const CODED = join(import.meta.dirname, '../../fixtures/sent');

let stage: Stage;
let before: Pipeline;
beforeAll(async () => {
  stage = await openStage();
  before = stage.loaded.pipeline;
});
afterAll(() => stage[Symbol.asyncDispose]());

const reload = (changes: Partial<Pipeline>, from: Partial<Pipeline> = {}): Promise<void> =>
  assertReloadable(
    { ...stage.loaded, pipeline: { ...before, ...from } },
    { ...stage.loaded, pipeline: { ...before, ...changes } },
    stage,
  );
const projections = (change: (spec: Pipeline['projections'][number]) => object): Partial<Pipeline> => ({
  projections: before.projections.map((spec) => ({ ...spec, ...change(spec) })),
});
const most = { most: { kind: 'max', of: () => 1 } };
const withMost = () =>
  projections((spec) => (spec.kind === 'aggregate' ? { measures: { ...spec.measures, ...most } } : {}));
const publish = { to: 'orders', name: 'orders', version: 1 } as Pipeline['publishes'][number];

describe('a run of dev goes over to a changed pipeline', () => {
  it('a run of dev goes over to a changed pipeline whose declarations may be any, before the pipeline has run', async () => {
    await expect(reload({ projections: [] })).resolves.toBeUndefined();
    await expect(reload(withMost())).resolves.toBeUndefined();
  });

  it('a run of dev goes over to a changed pipeline, unless its servers lack what it needs', async () => {
    const restart = (code: RegExp) => ({ code: 'dev-restart', message: expect.stringMatching(code) });
    await expect(reload({ name: 'other' })).rejects.toMatchObject(restart(/which is another pipeline/));
    await expect(reload({ shards: { map: 'm' } })).rejects.toMatchObject(restart(/another shard map/));
    await expect(reload({ archives: [{}] as never })).rejects.toMatchObject(restart(/Blob Storage/));
    await expect(reload({ effects: [{ kind: 'table' }] as never })).rejects.toMatchObject(restart(/tables/));
    await expect(reload({ publishes: [publish] })).rejects.toMatchObject(restart(/event hub orders/));
    await expect(reload({ publishes: [publish] }, { publishes: [publish] })).resolves.toBeUndefined();
  });

  it('a run of dev goes over to a changed pipeline, unless the data would not fit, by the rules of versions', async () => {
    await new Views(stage.services.global.state, before.name).adopt(before);
    const written = new Fingerprints(stage.services.place.state, stage.loaded);
    for (const spec of fingerprinted(before)) expect(await written.check(spec)).toBeUndefined();
    await expect(reload({})).resolves.toBeUndefined();
    await expect(reload(withMost())).rejects.toMatchObject({
      code: 'dev-restart',
      message: expect.stringContaining('measures.most was absent'),
      hint: expect.stringContaining('Declare version 2 of days beside version 1'),
    });
    const misspelt = projections((spec) =>
      spec.kind === 'aggregate' ? { measures: { ordrs: spec.measures['orders'], cents: spec.measures['cents'] } } : {},
    );
    await expect(reload(misspelt)).rejects.toMatchObject({
      hint: expect.stringMatching(
        /^Correct ordrs first: Days \(day\) has orders\. Declare version 2 of days .*, with a type of its own,/,
      ),
    });
    await expect(reload({ projections: before.projections.slice(1) })).rejects.toMatchObject({
      code: 'dev-restart',
      message: expect.stringContaining('summaries@1 is current'),
    });
    // Another version in its place is the same to hosts: they would wait for the current one.
    await expect(reload(projections(({ name }) => (name === 'days' ? { version: 2 } : {})))).rejects.toMatchObject({
      code: 'dev-restart',
      message: expect.stringContaining('days@1 is current'),
    });
  });
});

it('a reload says which projections are new, removed and changed, by their functions too, and what model check finds', async () => {
  const workspace = openWorkspace({ directory: SHOP, pipeline: SHOP });
  const say = (next: Partial<Pipeline>, was: Partial<Pipeline> = {}): Promise<string[]> =>
    sayReloaded({ ...before, ...was }, { ...stage.loaded, pipeline: { ...before, ...next } }, workspace);
  const [same, finding, ...more] = await say({});
  expect(same).toBe('checked and reloaded; every declaration is as before');
  expect(finding).toMatch(/^ {2}error G\d+ cosmosdb_data_model\.md:\d+: \w/);
  expect(more.at(-1)).toMatch(/^ {2}It has \d+ errors? and \d+ warnings?: see `millrace model check`\.$/);
  expect((await say({}, { projections: before.projections.slice(1) }))[0]).toContain('(new: summaries@1)');
  expect((await say({ publishes: [] }, { publishes: [publish] }))[0]).toContain('(removed: orders@1)');
  const coded = openWorkspace({ directory: CODED, pipeline: CODED });
  expect(await sayReloaded(before, stage.loaded, coded)).toEqual([same]);
  const [changed, repair] = await say(projections((spec) => (spec.kind === 'copy' ? { map: () => null } : {})));
  expect(changed).toContain('(changed: summaries@1)');
  expect(repair).toContain('`millrace projections verify summaries --repair`');
});
