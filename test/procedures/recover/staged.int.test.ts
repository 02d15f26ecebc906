// What was being built when a disaster came: versions, contents of sinks, custom projections, and their leases.
// docs/SPEC-recover.md, REC-V1, REC-V2, REC-S7.
import { afterEach, expect, it } from 'vitest';
import type { Change } from '../../../src/feed/reading/change.ts';
import type { CustomSpec } from '../../../src/pipeline/specs.ts';
import { Views } from '../../../src/engine/views/views.ts';
import { promote } from '../../../src/procedures/promote/promote.ts';
import { rebuildCustom } from '../../../src/procedures/rebuild/rebuild-custom.ts';
import { dropTarget, rebuildSink, swapSink } from '../../../src/procedures/rebuild/rebuild-sink.ts';
import { rebuild } from '../../../src/procedures/rebuild/rebuild.ts';
import { type Stage, openStage } from '../../support/stage.ts';
import { Shelves, asText, declaring, rowsOf, search } from '../../verbs/projections/shelves.ts';
import { VERSIONS, compare, fast, options } from '../../verbs/projections/versions.ts';
import { afresh, derive, newRun, recoverOn } from './recovery.ts';

const HOUR = 3_600_000;
const { signal } = new AbortController();

let stage: Stage;
afterEach(() => stage[Symbol.asyncDispose]());

const place = (...numbers: number[]) =>
  afresh(stage, async (now) => {
    for (const n of numbers)
      await now.container('Orders').items.upsert({
        id: `o${n}`,
        type: 'order',
        storeId: `s${n % 3}`,
        customerId: 'c1',
        placedAt: `2026-01-0${1 + (n % 9)}T10:00:00.000Z`,
        cents: 101 + n,
      });
  });

/** Orders of an hour ago and of now, and hosts that have read them. */
async function twoTimes(): Promise<void> {
  stage = await openStage({ faults: { historyMs: HOUR } }, VERSIONS);
  await place(1, 2, 3);
  await derive(stage);
  stage.emulator.advance(HOUR - 1_000);
  await place(4, 5);
  await derive(stage);
}

const build = (id: string) => afresh(stage, (now) => rebuild(options(now, id, signal)));
const run = (input: object = {}) => afresh(stage, (now) => recoverOn(now, newRun(), { ...input }));
const viewsOf = ({ services, loaded }: Stage) => new Views(services.place.state, loaded.pipeline.name);
const count = (name: string, where: string) =>
  afresh(stage, async (now) => {
    const query = `SELECT VALUE COUNT(1) FROM c WHERE ${where}`;
    return (await now.container(name).items.query<number>(query).fetchAll()).resources[0];
  });
const WORK = 'CONTAINS(c.id, "@")';

async function assertBuilt(id: string, size: number): Promise<void> {
  const { expected, found } = await afresh(stage, (now) => compare(now, id));
  expect(expected.size).toBe(size);
  expect(found).toEqual(expected);
}

it('a version that was being built from a source that was restored is dropped, and is built again from nothing', async () => {
  await twoTimes();
  await build('summaries@2');
  stage.emulator.restore('shop/Orders', HOUR / 2);
  const { ok, value } = await run();
  expect({ ok, dropped: value.dropped, left: value.left }).toEqual({ ok: true, dropped: ['summaries@2'], left: [] });
  expect(value.findings.map(({ about }) => about)).toContain('summaries@2');
  expect(await count('SummariesTwo', 'true')).toBe(0);
  expect(await count('leases', WORK), 'the leases of its rebuild').toBe(0);
  await afresh(stage, async (now) => expect((await viewsOf(now).read())?.['summaries']?.staged).toBeNull());
  expect(await build('summaries@2')).toMatchObject({ resumed: false });
  await assertBuilt('summaries@2', 3);
}, 120_000);

it('a rebuild doesn’t continue from leases that the state knows nothing of', async () => {
  await twoTimes();
  await build('summaries@2');
  await stage.container('millrace').delete();
  await stage.container('SummariesTwo').delete();
  expect((await run()).ok).toBe(true);
  expect(await count('leases', WORK)).toBe(0);
  await build('summaries@2');
  await assertBuilt('summaries@2', 5);
}, 120_000);

it('a state that is older than a promotion asks which version was current, and makes it so', async () => {
  await twoTimes();
  await build('summaries@2');
  await afresh(stage, (now) => promote(options(now, 'summaries@2', signal)));
  stage.emulator.restore('shop/millrace', HOUR / 2);
  await expect(run()).rejects.toMatchObject({
    code: 'recover-undecided',
    message: expect.stringContaining('summaries@1 and summaries@2 have documents') as string,
    hint: expect.stringContaining('--current summaries@1 or summaries@2') as string,
  });
  await expect(run({ current: 'summaries@1,summaries@2' })).rejects.toMatchObject({ code: 'input-invalid' });
  expect((await run({ current: 'summaries@2' })).ok).toBe(true);
  const current = { summaries: { current: { version: 2 }, previous: { version: 1 } } };
  await afresh(stage, async (now) => expect(await viewsOf(now).read()).toMatchObject(current));
  await place(6);
  await derive(stage);
  await assertBuilt('summaries@2', 6);
}, 120_000);

it('a state whose current version the pipeline no longer declares asks too', async () => {
  await twoTimes();
  const { pipeline } = stage.loaded;
  const projections = pipeline.projections.filter(({ name, version }) => name !== 'summaries' || version === 2);
  stage = { ...stage, loaded: { ...stage.loaded, pipeline: { ...pipeline, projections } } };
  await expect(run()).rejects.toMatchObject({
    code: 'recover-undecided',
    message: expect.stringContaining('version 1 is current, and the pipeline does not declare it') as string,
  });
  expect((await run({ current: 'summaries@2' })).ok).toBe(true);
  await derive(stage);
  await assertBuilt('summaries@2', 5);
}, 120_000);

it('the content of a sink that was being filled is left to the operator, with the command', async () => {
  await twoTimes();
  const shelves = new Shelves();
  const sink = shelves.sink();
  const spec = { ...search(sink), to: sink };
  stage = { ...stage, loaded: declaring(stage, { effects: [spec] }) };
  const sinkOptions = (now: Stage) => ({ ...fast, ...now, spec, signal });
  await afresh(stage, (now) => rebuildSink(sinkOptions(now)));
  stage.emulator.restore('shop/Orders', HOUR / 2);
  const { ok, value } = await run({ since: 'beginning' });
  expect(ok).toBe(false);
  const [left] = value.left;
  expect(left).toMatchObject({ about: 'search@1', hint: expect.stringContaining('projections drop search --yes') });
  expect(await count('leases', WORK)).toBe(0);
  await afresh(stage, (now) => dropTarget(sinkOptions(now)));
  await afresh(stage, (now) => rebuildSink(sinkOptions(now)));
  await afresh(stage, (now) => swapSink(sinkOptions(now)));
  await afresh(stage, async (now) => expect(asText(shelves.rows())).toEqual(await rowsOf(now, spec)));
  expect((await run({ since: 'beginning' })).ok).toBe(true);
}, 120_000);

it('a custom projection that was being rebuilt is reset again', async () => {
  await twoTimes();
  const seen = new Set<string>();
  let resets = 0;
  const dying = new AbortController();
  const custom: CustomSpec = {
    kind: 'custom',
    name: 'boards',
    version: 1,
    sources: [{ container: 'Orders', type: 'order' }],
    apply: async (changes) => {
      for (const { id, op } of changes as Change[]) if (op === 'upsert') seen.add(id);
      dying.abort(new Error('It died'));
    },
  };
  const reset = async (): Promise<void> => {
    resets += 1;
    seen.clear();
  };
  const spec = { ...custom, reset };
  stage = { ...stage, loaded: declaring(stage, { effects: [spec] }) };
  const again = (of: AbortSignal) => afresh(stage, (now) => rebuildCustom({ ...fast, ...now, spec, signal: of }));
  await expect(again(dying.signal)).rejects.toThrow(/abort|died/);
  await afresh(stage, async (now) => expect((await viewsOf(now).read())?.['boards']?.staged?.phase).toBe('filling'));
  expect(seen.size).toBeGreaterThan(0);
  // Longer ago than a reset may take.
  await afresh(stage, (now) =>
    viewsOf(now).change('boards', (view) =>
      view.staged ? { ...view, staged: { ...view.staged, since: '2026-01-01T00:00:00.000Z' } } : undefined,
    ),
  );
  stage.emulator.restore('shop/Orders', HOUR / 2);
  const { ok, value } = await run({ since: new Date(Date.now() + 2 * HOUR).toISOString() });
  expect(ok).toBe(false);
  expect(value.left[0]).toMatchObject({
    about: 'boards@1',
    hint: expect.stringContaining('projections rebuild boards'),
  });
  expect(await again(signal)).toMatchObject({ resumed: false });
  expect(resets).toBe(2);
  expect([...seen].toSorted()).toEqual(['o1', 'o2', 'o3']);
}, 120_000);
