import { metrics } from '@opentelemetry/api';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { startEmbeddedJobs } from '../../../src/host/dev/jobs-embedded.ts';
import { openWorkspace } from '../../../src/runtime/open-workspace.ts';
import { served } from '../../support/served.ts';
import { SHOP, type Stage, openStage } from '../../support/stage.ts';

const WAIT = { timeout: 60_000, interval: 100 };

let stage: Stage;
let store: Awaited<ReturnType<typeof startEmbeddedJobs>>;
beforeEach(async () => {
  [stage, store] = await Promise.all([openStage(), startEmbeddedJobs()]);
  for (const [name, value] of Object.entries({ ...stage.env, JOBS_URL: store.url })) vi.stubEnv(name, value);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  metrics.disable();
  await store[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});

it('a job worker says that it lives and works, how many jobs there are, and its metrics', async () => {
  const workspace = openWorkspace({ directory: process.cwd(), pipeline: SHOP });
  const jobs = await workspace.jobs();
  // It waits for an hour, so no worker takes it.
  const later = { dedupe: 'later', delayMs: 3_600_000 };
  await jobs.enqueue('operation', { name: 'projections verify', input: {}, actor: 'me' }, later);
  const { url, stop } = await served(/Probes: (http:\S+\/)readyz/, [
    'jobs',
    'work',
    '--probes',
    '0',
    '--pipeline',
    SHOP,
  ]);
  const ask = (path: string) => fetch(new URL(path, url));
  expect((await ask('livez')).status).toBe(200);
  await vi.waitFor(async () => expect((await ask('readyz')).status).toBe(200), WAIT);
  expect(await (await ask('scale')).json()).toEqual({ waiting: 0, active: 0 });
  const text = await (await ask('metrics')).text();
  expect(text).toMatch(/^millrace_jobs\{state="delayed".*\} 1/m);
  expect(text).toMatch(/^millrace_jobs\{state="waiting".*\} 0/m);
  expect(await stop()).toBe(130);
  await expect(ask('livez')).rejects.toThrow('fetch failed');
  await workspace.close();
});
