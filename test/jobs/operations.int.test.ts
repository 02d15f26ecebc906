// What can be left to workers, each verb by a job: on both datastores, with the real operations and handlers.
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { DeadLetters } from '../../src/engine/dead-letters/dead-letters.ts';
import { jobHandlers } from '../../src/host/run/jobs.ts';
import { registry } from '../../src/host/registry.ts';
import { openEngine } from '../../src/runtime/open-engine.ts';
import { openWorkspace } from '../../src/runtime/open-workspace.ts';
import type { ReactSpec } from '../../src/pipeline/specs.ts';
import { untilStopped } from '../../src/feed/tenure/fences.ts';
import { Views } from '../../src/engine/views/views.ts';
import type { JobRow, Jobs } from '../../src/jobs/jobs.ts';
import type { Workspace } from '../../src/runtime/workspace.ts';
import { cli } from '../cli/cli.ts';
import { VERSIONS, compare, live } from '../verbs/projections/versions.ts';
import { served } from '../support/served.ts';
import { type Stage, openStage } from '../support/stage.ts';
import { DATASTORES, type Datastore } from './datastores.ts';

const MENDED = join(import.meta.dirname, '../fixtures/mended');
const WITHIN = { withinMs: 110_000 };
const { signal } = new AbortController();

describe.each(DATASTORES)('operations by jobs on %s', (_name, available, start) => {
  describe.skipIf(!available)('where it is installed', () => {
    let store: Datastore;
    let stage: Stage;
    let workspace: Workspace;
    let jobs: Jobs;
    beforeAll(async () => {
      store = await start();
    });
    afterAll(() => store[Symbol.asyncDispose]());
    beforeEach(async () => {
      stage = await openStage({}, VERSIONS);
      for (const [name, value] of Object.entries({ ...stage.env, JOBS_URL: store.url })) vi.stubEnv(name, value);
      for (let n = 0; n < 30; n++) await stage.container('Orders').items.upsert(order(n));
      workspace = openWorkspace({ directory: process.cwd(), pipeline: VERSIONS });
      jobs = await workspace.jobs();
    });
    afterEach(async () => {
      vi.unstubAllEnvs();
      await workspace.close();
      await stage[Symbol.asyncDispose]();
    });
    const ask = async (...args: string[]): Promise<{ job?: string }> => {
      const { code, stdout, stderr } = await cli([...args, '--background', '--json', '--pipeline', VERSIONS]);
      expect({ code, stderr }).toMatchObject({ code: 0 });
      return JSON.parse(stdout) as { job?: string };
    };

    it('`jobs work --dashboard` serves the dashboard until it ends', async () => {
      const { url, stop } = await served(/Dashboard: (http:\S+)/, [
        'jobs',
        'work',
        '--dashboard',
        '--pipeline',
        VERSIONS,
      ]);
      const session = await fetch(new URL('/api/session', url));
      expect(await session.json()).toMatchObject({ role: 'operator' });
      await stop();
      await expect(fetch(url)).rejects.toThrow('fetch failed');
    });

    const rowOf = async (job: string | undefined) => (await jobs.list()).find(({ id }) => id === job);

    it('each verb is enqueued once however often it is asked for, done by a worker, and told with its progress', async () => {
      const app = await live(stage);
      await app.drained(signal);
      await stage.services.place.database.containers.create({
        id: 'ByCustomer',
        partitionKey: { paths: ['/customerId'] },
        defaultTtl: -1,
      });
      const asked = [
        ['projections', 'rebuild', 'summaries@2'],
        ['projections', 'replay', 'days'],
        ['projections', 'verify', 'days'],
        ['dead-letters', 'redrive'],
        ['migrate', 'Orders', '--into', 'ByCustomer'],
      ];
      const ids: (string | undefined)[] = [];
      for (const args of asked) {
        const { job } = await ask(...args);
        expect(await ask(...args)).toEqual({ job });
        ids.push(job);
      }
      expect(new Set(ids).size).toBe(asked.length);
      expect(await jobs.drain(jobHandlers(registry, workspace), WITHIN)).toBe(asked.length);
      for (const id of ids) expect(await rowOf(id)).toMatchObject({ state: 'completed', failure: null });
      expect(await rowOf(ids[0])).toMatchObject({ done: 30, of: 30 });
      expect((await new Views(stage.services.place.state, 'versions').read())?.['summaries']?.staged).toMatchObject({
        phase: 'filled',
      });
      const { expected, found } = await compare(stage, 'summaries@2');
      expect(found).toEqual(expected);
      const { resources } = await stage.container('ByCustomer').items.query('SELECT VALUE COUNT(1) FROM c').fetchAll();
      expect(resources).toEqual([30]);
      await app.stop();
    });

    it('the jobs of one tenant are those that were asked for it', async () => {
      const queue = async (...args: string[]) =>
        cli(['projections', 'verify', ...args, '--background', '--pipeline', MENDED]);
      for (const args of [['--tenant', 's1'], ['--tenant', 's2'], []])
        expect(await queue(...args)).toMatchObject({ code: 0 });
      const listed = async (...args: string[]) =>
        JSON.parse((await cli(['jobs', 'list', ...args, '--json', '--pipeline', MENDED])).stdout) as JobRow[];
      expect(await listed()).toHaveLength(3);
      expect(await listed('--tenant', 's1')).toMatchObject([{ payload: { input: { tenant: 's1' } } }]);
    });

    it('a rebuild whose worker is stopped is given back, and continued by the next one', async () => {
      const { job } = await ask('projections', 'rebuild', 'summaries@2', '--ru-per-second', '50');
      const handlers = jobHandlers(registry, workspace);
      const working = jobs.work(handlers);
      const views = new Views(stage.services.place.state, 'versions');
      await vi.waitFor(async () => expect((await views.read())?.['summaries']?.staged).not.toBeFalsy(), 60_000);
      await working.stop();
      expect(await jobs.counts()).toMatchObject({ waiting: 1, active: 0 });
      expect(await jobs.drain(handlers, WITHIN)).toBe(1);
      expect(await rowOf(job)).toMatchObject({ state: 'completed', failure: null });
      expect((await views.read())?.['summaries']?.staged).toMatchObject({ phase: 'filled' });
      const { expected, found } = await compare(stage, 'summaries@2');
      expect(found).toEqual(expected);
    });

    it('what a person has to correct ends the job with its reason', async () => {
      const { job } = await ask('projections', 'rebuild', 'summaries@1');
      await new Views(stage.services.place.state, 'versions').adopt(stage.loaded.pipeline);
      expect(await jobs.drain(jobHandlers(registry, workspace), WITHIN)).toBe(1);
      expect(await rowOf(job)).toMatchObject({ state: 'failed', attempts: 1 });
      expect((await rowOf(job))?.failure).toContain('is current');
    });

    it('a reaction that is refused is tried again by a job, until it succeeds or is resolved', async () => {
      let broken = true;
      const heard: string[] = [];
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
        run: async ({ id }) => {
          if (broken) throw new Error('away');
          heard.push(String(id));
        },
      };
      const loaded = { ...stage.loaded, pipeline: { ...stage.loaded.pipeline, effects: [react] } };
      const settings = workspace.settings();
      const { engine } = openEngine({ settings, services: stage.services, loaded, readLagMs: 0 }, 'live');
      const change = { container: 'Orders', type: 'order', key: ['s1'], at: 0, op: 'upsert' } as const;
      const { resource } = await stage.container('Orders').item('o1', 's1').read<{ id: string; _etag: string }>();
      const version = { epoch: 1, lsn: 5, etag: resource?._etag ?? '' };
      const changes = [{ ...change, id: 'o1', version, doc: { ...resource } }];
      await engine.consume({ changes, charge: 0, readAt: performance.now() }, untilStopped(signal), { only: 'call@1' });
      expect(await new DeadLetters(stage.services.place.state).list()).toMatchObject([
        { projection: 'call@1', id: 'o1' },
      ]);
      const [row] = await jobs.list();
      expect(row).toMatchObject({ name: 'reaction', state: 'delayed', payload: { projection: 'call@1', id: 'o1' } });
      // What the worker does once its time has come.
      const handlers = jobHandlers(registry, { ...workspace, settings: () => settings, pipeline: async () => loaded });
      const run = { id: '1', askedAt: Date.now(), attempt: 1, signal, progress: () => undefined };
      const retry = () => handlers.reaction?.({ projection: 'call@1', id: 'o1', key: ['s1'] }, run);
      await expect(retry()).rejects.toMatchObject({ code: 'reaction-failed', retryable: true });
      broken = false;
      expect(await retry()).toMatchObject([{ outcome: 'applied' }]);
      expect(heard).toEqual(['o1']);
      expect(await new DeadLetters(stage.services.place.state).list()).toEqual([]);
      expect(await retry()).toEqual([]);
    });
  });
});

const order = (n: number) => ({
  id: `o${n}`,
  type: 'order',
  storeId: 's1',
  customerId: `c${n % 3}`,
  placedAt: `2026-01-0${1 + (n % 5)}T10:00:00.000Z`,
  cents: n,
});
