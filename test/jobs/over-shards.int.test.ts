// Jobs of a pipeline over shards: operations, and reactions of a shard's documents.
import { type TestContext, expect, it, vi } from 'vitest';
import type { ReactSpec } from '../../src/pipeline/specs.ts';
import { DeadLetters } from '../../src/engine/dead-letters/dead-letters.ts';
import { Views } from '../../src/engine/views/views.ts';
import { startEmbeddedJobs } from '../../src/host/dev/jobs-embedded.ts';
import { registry } from '../../src/host/registry.ts';
import { jobHandlers } from '../../src/host/run/jobs.ts';
import { openWorkspace } from '../../src/runtime/open-workspace.ts';
import { compose } from '../../src/runtime/hosts/processor-host.ts';
import { changedWorkspace } from '../../src/runtime/workspace.ts';
import { cli } from '../cli/cli.ts';
import { SPREAD_VERSIONS, totalsOf } from '../verbs/projections/spread-versions.ts';
import { fast } from '../verbs/projections/versions.ts';
import { given } from '../runtime/spread-world.ts';

const { signal } = new AbortController();
const WITHIN = { withinMs: 60_000 };

async function world(context: Pick<TestContext, 'onTestFinished'>) {
  const made = await given(context, ['north', 'west'], { folder: SPREAD_VERSIONS });
  const store = await startEmbeddedJobs();
  context.onTestFinished(() => store[Symbol.asyncDispose]());
  for (const [name, value] of Object.entries({ ...made.stage.env, JOBS_URL: store.url })) vi.stubEnv(name, value);
  context.onTestFinished(() => void vi.unstubAllEnvs());
  const workspace = openWorkspace({ directory: process.cwd(), pipeline: SPREAD_VERSIONS });
  context.onTestFinished(() => workspace.close());
  return { ...made, workspace, jobs: await workspace.jobs() };
}

it('a worker builds a version in all shards', async (context) => {
  const { stage, application, host, workspace, jobs } = await world(context);
  await application.order('s0', 'north', 'o1', 100);
  await application.order('s1', 'west', 'o1', 20);
  const app = await host();
  await app.drained(signal);
  const asked = ['projections', 'rebuild', 'totals', '--background', '--pipeline', SPREAD_VERSIONS];
  expect(await cli(asked)).toMatchObject({ code: 0, stdout: expect.stringContaining('waits for a worker') });
  expect(await jobs.drain(jobHandlers(registry, workspace), WITHIN)).toBe(1);
  expect(await jobs.list()).toMatchObject([{ name: 'operation', state: 'completed', failure: null }]);
  const views = await new Views(stage.services.global.state, 'spread-versions').read();
  expect(views?.['totals']?.staged).toMatchObject({ phase: 'filled' });
  expect(await totalsOf(stage, 'TotalsNext')).toEqual(application.totals());
});

it('a verb that works in each place has a job for each', async (context) => {
  const { application, host, workspace, jobs } = await world(context);
  await application.order('s0', 'north', 'o1', 100);
  const app = await host();
  await app.drained(signal);
  const verify = (...more: string[]) =>
    cli(['projections', 'verify', '--background', ...more, '--pipeline', SPREAD_VERSIONS]);
  expect((await verify()).stdout.match(/waits for a worker/g)).toHaveLength(3);
  // The same one, which waits already.
  expect((await verify('--shard', 'west')).code).toBe(0);
  const shards = (await jobs.list()).map(({ payload }) => (payload as { input: { shard: string } }).input.shard);
  expect(shards.toSorted()).toEqual(['north', 'shop', 'west']);
  expect(await jobs.drain(jobHandlers(registry, workspace), WITHIN)).toBe(3);
  expect((await jobs.list()).map(({ state }) => state)).toEqual(['completed', 'completed', 'completed']);
});

it('a reaction that is refused in a shard is tried again there', async (context) => {
  const { stage, application, workspace, jobs } = await world(context);
  const heard: string[] = [];
  let broken = true;
  const react: ReactSpec = {
    kind: 'react',
    name: 'call',
    version: 1,
    from: { container: 'Orders', type: 'order' },
    onDelete: 'remove',
    order: 'document',
    attempts: 1,
    timeoutMs: 1_000,
    echoes: false,
    restored: false,
    start: 'beginning',
    run: async ({ storeId }) => {
      if (broken) throw new Error('away');
      heard.push(String(storeId));
    },
  };
  const loaded = { ...stage.loaded, pipeline: { ...stage.loaded.pipeline, effects: [react] } };
  await application.order('s1', 'west', 'o1', 20);
  const app = await compose({ ...stage, ...fast, settings: workspace.settings(), loaded, host: 'host' });
  context.onTestFinished(() => app.stop());
  await app.start();
  await app.drained(signal);
  await app.stop();
  const payload = { projection: 'call@1', id: 'o1', key: ['s1'], shard: 'west' };
  expect(await jobs.list()).toMatchObject([{ name: 'reaction', state: 'delayed', payload }]);
  // What the worker does once its time has come.
  const handlers = jobHandlers(registry, changedWorkspace(workspace, { pipeline: async () => loaded }));
  const retry = (of: object) =>
    handlers.reaction?.(
      { ...payload, ...of },
      { id: '1', askedAt: Date.now(), attempt: 1, signal, progress: () => undefined },
    );
  await expect(retry({})).rejects.toMatchObject({ code: 'reaction-failed', retryable: true });
  broken = false;
  expect(await retry({ key: ['s2'] })).toEqual([]);
  expect(await retry({})).toMatchObject([{ outcome: 'applied' }]);
  expect(heard).toEqual(['s1']);
  expect(await new DeadLetters(stage.at('west', 'millrace')).list()).toEqual([]);
});
