import { afterAll, beforeAll, expect, test } from 'vitest';
import { Fingerprints } from '../../src/engine/guard-fingerprints.ts';
import { Views } from '../../src/engine/views/views.ts';
import type { AggregateSpec, EmbedSpec, Pipeline } from '../../src/pipeline/specs.ts';
import { plan } from '../../src/verbs/plan.operation.ts';
import { againstDeployed, sayDeployed } from '../../src/procedures/plan/plan-deployed.ts';
import { declaredPipeline } from '../../src/runtime/pipeline/load-pipeline.ts';
import type { Context } from '../../src/procedures/context.ts';
import { openWorkspace } from '../../src/runtime/open-workspace.ts';
import { SPREAD } from '../support/spread-stage.ts';
import { SHOP, type Stage, openStage } from '../support/stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
  for (let n = 0; n < 7; n++)
    await stage.container('Orders').items.create({ id: `o${n}`, storeId: 's1', type: 'order', cents: n });
});
afterAll(() => stage[Symbol.asyncDispose]());

const against = (pipeline: Pipeline) => againstDeployed(pipeline, stage.loaded.model, stage.services);

test('what a pipeline would change is told before it is deployed, and nothing is written', async () => {
  const { pipeline, model } = stage.loaded;
  expect(await against(pipeline)).toMatchObject([
    { id: 'summaries@1', state: 'first', rebuild: { documents: 7 } },
    { id: 'days@1', state: 'first', rebuild: { documents: 7, ru: 112 } },
  ]);
  expect((await stage.services.place.state.items.readAll().fetchAll()).resources).toEqual([]);

  // As the first host would.
  const fingerprints = new Fingerprints(stage.services.place.state, { pipeline, model });
  for (const spec of pipeline.projections) expect(await fingerprints.check(spec)).toBeUndefined();
  await new Views(stage.services.place.state, pipeline.name).adopt(pipeline);
  expect((await against(pipeline)).map(({ state }) => state)).toEqual(['unchanged', 'unchanged']);

  const days = pipeline.projections.find((spec): spec is AggregateSpec => spec.kind === 'aggregate');
  if (!days) throw new Error('The fixture has an aggregate');
  const summaries = pipeline.projections.filter((spec) => spec !== days);
  const other: AggregateSpec = { ...days, groupBy: (_row, doc) => ({ storeId: doc['storeId'], day: 'all' }) };
  expect(await against({ ...pipeline, projections: [...summaries, other] })).toMatchObject([
    { id: 'summaries@1', state: 'unchanged' },
    { id: 'days@1', state: 'refused', command: 'Declare it as version 2' },
  ]);
  expect(await against({ ...pipeline, projections: [days, { ...other, version: 2 }] })).toMatchObject([
    { id: 'days@1', state: 'unchanged' },
    { id: 'days@2', state: 'version', why: 'version 1 is current', rebuild: { documents: 7 } },
    { id: 'summaries@1', state: 'gone' },
  ]);
  expect(
    await against({ ...pipeline, projections: [...pipeline.projections, { ...days, name: 'more' }] }),
  ).toMatchObject([
    { state: 'unchanged' },
    { state: 'unchanged' },
    { id: 'more@1', state: 'new', rebuild: { documents: 7 } },
  ]);
  const embed: EmbedSpec = {
    kind: 'embed',
    name: 'names',
    version: 2,
    from: { container: 'Customers', type: 'customer' },
    into: days.from,
    on: { storeId: 'storeId', id: 'customerId' },
    onDelete: 'keep',
    set: { customerName: ({ name }) => name },
  };
  const embedding = { ...pipeline, embeds: [embed] };
  const added = (await against(embedding)).at(-1);
  expect(added).toMatchObject({ id: 'names@2', state: 'version', rebuild: { documents: 7, ru: 175 } });
  expect(added && sayDeployed(added)).toContain('millrace projections rebuild names after the deployment');
  expect(
    await new Fingerprints(stage.services.place.state, { pipeline: embedding, model }).check(embed),
  ).toBeUndefined();
  expect((await against(embedding)).at(-1)).toMatchObject({ id: 'names@2', state: 'unchanged' });
});

test('what would keep a host from starting is told with the plan, and is exit code 1', async () => {
  const declared = await declaredPipeline(SHOP);
  if (!declared || 'unloadable' in declared) throw new Error('The fixture has a pipeline');
  const outcome = (pipeline: Pipeline) => {
    const workspace = { directory: SHOP, folder: SHOP, declared: async () => ({ ...declared, pipeline }) };
    return plan.run({}, { workspace } as unknown as Context);
  };
  expect(await outcome(declared.pipeline)).toMatchObject({ ok: true });
  const [first, ...others] = declared.pipeline.projections;
  if (!first) throw new Error('The fixture has projections');
  const wrong = { ...first, from: { container: 'Order', type: 'order' } };
  expect(await outcome({ ...declared.pipeline, projections: [wrong, ...others] })).toMatchObject({
    ok: false,
    text: expect.stringContaining('error: Projection summaries reads container Order'),
  });
});

test('`plan` counts, of a pipeline over shards, the deployments of function apps, and says when they are too many', async () => {
  const context = { workspace: openWorkspace({ directory: '.', pipeline: SPREAD }) } as Context;
  const few = await plan.run({ shards: 10 }, context);
  expect(few).toMatchObject({ ok: true, value: { shards: 'tenants', functionApps: 11 } });
  expect(few.text).toContain('11 deployments. Both will do.');
  const many = await plan.run({ shards: 11 }, context);
  expect(many).toMatchObject({ ok: true, value: { functionApps: 12 } });
  expect(many.text).toContain('12 deployments. Take `millrace run`');
  const unknown = await plan.run({}, context);
  expect(unknown.value).not.toHaveProperty('functionApps');
  expect(unknown.text).toContain('Above 10 shards take `millrace run`');
  const other = { workspace: openWorkspace({ directory: '.', pipeline: SHOP }) } as Context;
  await expect(plan.run({ shards: 2 }, other)).rejects.toMatchObject({ code: 'input-invalid' });
});
