// What operations say of starts, and what verify expects of them.
import { join } from 'node:path';
import { definePipeline, publish, react, send } from 'millrace';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Doc } from '../../../src/pipeline/specs.ts';
import { entryId } from '../../../src/pipeline/derived-ids.ts';
import { openStarts } from '../../../src/runtime/open-engine.ts';
import { plannedStarts, sayStart } from '../../../src/procedures/plan/plan-starts.ts';
import { verify } from '../../../src/procedures/verify/verify.ts';
import { cli } from '../../cli/cli.ts';
import { m } from '../../fixtures/shop/model.ts';
import { openStage } from '../../support/stage.ts';

const STOREFRONT = join(import.meta.dirname, '../../../examples/storefront');
const from = m.Orders.order;
const run = async (): Promise<void> => undefined;

async function shop() {
  const stage = await openStage();
  onTestFinished(() => stage[Symbol.asyncDispose]());
  const write = (id: string) =>
    stage
      .container('Orders')
      .items.upsert({ id, storeId: 's', type: 'order', customerId: 'c', placedAt: '', cents: 1 });
  const pipelineOf = (...projections: Parameters<typeof definePipeline>[0]['projections'][number][]) =>
    definePipeline({ model: m, projections });
  const record = (pipeline: ReturnType<typeof pipelineOf>) => openStarts(stage.services, pipeline).recorded();
  return { stage, write, pipelineOf, record };
}

test('a plan says what a start passes over, before it is recorded and afterwards', async () => {
  const { stage, write, pipelineOf, record } = await shop();
  for (const id of ['a', 'b', 'c']) await write(id);
  const calls = react('calls', { from, run });
  const out = publish('out', { from, to: 'out', start: 'beginning' });
  const later = react('later', { from, run, start: '2999-01-01' });
  const plan = (...projections: (typeof calls | typeof out)[]) =>
    plannedStarts(pipelineOf(...projections), stage.services);
  const say = async (...projections: (typeof calls | typeof out)[]) => (await plan(...projections)).map(sayStart);
  expect(await plan(calls, out, later)).toEqual([
    {
      id: 'calls@1',
      start: 'now',
      recordedAt: null,
      documents: 3,
      below: 3,
      command: 'millrace projections replay calls',
    },
    {
      id: 'later@1',
      start: '2999-01-01T00:00:00.000Z',
      recordedAt: null,
      documents: 3,
      below: 3,
      command: 'millrace projections replay later',
    },
    { id: 'out@1', start: 'beginning', recordedAt: null, documents: 3, below: 0 },
  ]);
  expect(await say(calls, out)).toEqual([
    'calls@1: begins now, when the next host starts (not recorded yet): passes over 3 of 3 documents until they are written again. `millrace projections replay calls` gives it what was before',
    'out@1: begins at the beginning (not recorded yet): all of 3 documents count',
  ]);
  // A count goes by whole seconds: what was written is older than the record.
  const written = Math.floor(Date.now() / 1_000);
  await vi.waitUntil(() => Math.floor(Date.now() / 1_000) > written, 30_000);
  const { 'calls@1': recorded } = await record(pipelineOf(calls));
  stage.emulator.advance(10_000);
  await write('a');
  expect(await plan(calls, out)).toMatchObject([
    { id: 'calls@1', start: 'now', recordedAt: recorded?.at, documents: 3, below: 2 },
    { id: 'out@1', start: 'beginning', recordedAt: null, below: 0, command: 'millrace projections replay out' },
  ]);
  expect(await say(react('calls', { from, run, start: 'beginning' }), out)).toEqual([
    `calls@1: begins at ${recorded?.at} (recorded at ${recorded?.at}, and its declaration says beginning, which counts for a new version): passes over 2 of 3 documents until they are written again. \`millrace projections replay calls\` gives it what was before`,
    'out@1: begins at the beginning (not recorded yet): the pipeline already runs, so it gets only what the leases have not passed, of 3 documents. `millrace projections replay out` gives it what was before',
  ]);
});

test('verify expects no rows of what lies below the start of a sink, and compares those that are there', async () => {
  const { stage, write, pipelineOf, record } = await shop();
  const rows = new Map<string, unknown>();
  const to = {
    write: run,
    rows: async function* () {
      for (const [id, row] of rows) yield { id, row };
    },
  };
  const pipeline = pipelineOf(send('rows', { from, to, start: 'now', map: ({ id }) => ({ id }) }));
  await write('old');
  await write('sent');
  await record(pipeline);
  stage.emulator.advance(200_000);
  await write('new');
  const compare = async () => {
    const options = { signal: new AbortController().signal, screen: { progress: () => undefined }, readLagMs: 0 };
    const { differences } = await verify({ ...stage.loaded, pipeline }, stage.services, options);
    return differences.map(({ kind, expected, found }) => [kind, (expected ?? found) as Doc]);
  };
  expect(await compare()).toEqual([['missing', { row: { id: 'new' } }]]);
  rows.set(entryId(['s'], 'sent'), { id: 'other' });
  expect(await compare()).toEqual([
    ['different', { row: { id: 'sent' } }],
    ['missing', { row: { id: 'new' } }],
  ]);
});

test('list, show and status have the recorded start, and a plan the declared one', async () => {
  await using stage = await openStage({}, STOREFRONT);
  for (const [name, value] of Object.entries(stage.env)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  const text = async (...args: string[]): Promise<string> => (await cli([...args, '--pipeline', STOREFRONT])).stdout;
  expect(await text('plan')).toMatch(/shipped-mail@1 [^]*\n {2}begins {4}now, when a host first runs it/);
  expect(JSON.parse(await text('projections', 'list', '--json'))).toContainEqual(
    expect.objectContaining({ id: 'shipped-mail@1', start: null }),
  );
  const { pipeline } = stage.loaded;
  const { 'shipped-mail@1': start } = await openStarts(stage.services, pipeline).recorded();
  const at = String(start?.at);
  expect(await text('projections', 'list')).toMatch(new RegExp(`shipped-mail@1 .* ${at} `));
  expect(await text('projections', 'show', 'shipped-mail')).toContain(`begins at ${at}, recorded at ${at}`);
  expect(JSON.parse(await text('projections', 'show', 'shipped-mail', '--json'))).toMatchObject({ start: { at } });
  expect(await text('status')).toMatch(new RegExp(`shipped-mail@1 .* ${at} `));
  expect(await text('plan', '--against', 'deployed')).toContain(`shipped-mail@1: begins at ${at} (recorded at ${at})`);
});
