// Jobs that wait while a disaster comes: they are named, and the recovery leaves them. docs/SPEC-recover.md, REC-J1.
import { afterEach, expect, it, vi } from 'vitest';
import { Jobs } from '../../../src/jobs/jobs.ts';
import { startEmbeddedJobs } from '../../../src/host/dev/jobs-embedded.ts';
import { cli } from '../../cli/cli.ts';
import { freePort } from '../../support/free-port.ts';
import { type Stage, SHOP, openStage } from '../../support/stage.ts';

let stage: Stage;
afterEach(async () => {
  vi.unstubAllEnvs();
  await stage[Symbol.asyncDispose]();
});

it('jobs of before the recovery are named, and stay; a lost datastore is named too', async () => {
  stage = await openStage({}, SHOP);
  const store = await startEmbeddedJobs();
  const env = { ...stage.env, MILLRACE_PIPELINE: SHOP, JOBS_URL: store.url };
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const jobs = await Jobs.open(store.url, `jobs-${stage.loaded.pipeline.name}`);
  const migrate = { name: 'migrate', input: { name: 'Orders', into: 'ByDay' }, actor: 'Ada' };
  await jobs.enqueue('operation', migrate, { dedupe: 'migrate' });
  await jobs.enqueue(
    'reaction',
    { projection: 'mail@1', id: 'o1', key: ['s1'] },
    { dedupe: 'mail', delayMs: 3_600_000 },
  );
  const { code, stdout } = await cli(['recover', '--dry-run']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/unknown: jobs: 2 jobs of before the recovery/);
  expect(stdout).toContain('migrate (1)');
  expect(stdout).toContain('reaction (1)');
  expect(await jobs.counts()).toMatchObject({ waiting: 1, delayed: 1 });
  await jobs.close();
  await store[Symbol.asyncDispose]();
  vi.stubEnv('JOBS_URL', `redis://127.0.0.1:${await freePort()}`);
  const lost = await cli(['recover', '--dry-run']);
  expect({ code: lost.code, stdout: lost.stdout }).toEqual({
    code: 0,
    stdout: expect.stringContaining('their datastore can’t be reached') as string,
  });
}, 120_000);
