// One suite for both datastores: PGlite by BullMQ's PostgreSQL backend, and Redis where redis-server is installed.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { MillraceError, UsageError } from '../../src/base/errors.ts';
import { Jobs } from '../../src/jobs/jobs.ts';
import type { Handlers } from '../../src/jobs/job-kinds.ts';
import { freePort } from '../support/free-port.ts';
import { DATASTORES, type Datastore } from './datastores.ts';

interface Kinds {
  add: { readonly n: number };
  other: object;
}
const WITHIN = { withinMs: 60_000 };

describe.each(DATASTORES)('jobs on %s', (_name, available, start) => {
  describe.skipIf(!available)('where it is installed', () => {
    let store: Datastore;
    let count = 0;
    const open: Jobs<Kinds>[] = [];
    beforeAll(async () => {
      store = await start();
    });
    afterAll(() => store[Symbol.asyncDispose]());
    afterEach(async () => {
      for (const jobs of open.splice(0)) await jobs.close();
    });
    const connect = async (name = `test-${(count += 1)}`): Promise<Jobs<Kinds>> => {
      const jobs = await Jobs.open<Kinds>(store.url, name);
      open.push(jobs);
      return jobs;
    };

    it('a queue of jobs gives each job to one worker, with its payload', async () => {
      const jobs = await connect();
      for (let n = 0; n < 40; n++) await jobs.enqueue('add', { n }, { dedupe: `add ${n}` });
      const seen: number[] = [];
      const handlers: Handlers<Kinds> = { add: async ({ n }) => seen.push(n) };
      const done = await Promise.all([jobs.drain(handlers, WITHIN), jobs.drain(handlers, WITHIN)]);
      expect(done[0] + done[1]).toBe(40);
      expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, n) => n));
      expect(await jobs.counts()).toMatchObject({ waiting: 0, active: 0, completed: 40, failed: 0 });
    });

    it('a queue of jobs adds nothing that is there already, and the same again once it is done', async () => {
      const jobs = await connect();
      const first = await jobs.enqueue('add', { n: 1 }, { dedupe: 'k' });
      expect(await jobs.enqueue('add', { n: 2 }, { dedupe: 'k' })).toBe(first);
      const seen: number[] = [];
      const handlers: Handlers<Kinds> = { add: async ({ n }) => seen.push(n) };
      await jobs.drain(handlers, WITHIN);
      expect(await jobs.enqueue('add', { n: 3 }, { dedupe: 'k' })).not.toBe(first);
      await jobs.drain(handlers, WITHIN);
      expect(seen).toEqual([1, 3]);
    });

    it('a queue of jobs tries again after a pause, counts the tries, and says why it gave up', async () => {
      const jobs = await connect();
      await jobs.enqueue('add', { n: 1 }, { dedupe: 'a', backoffMs: 1, attempts: 3 });
      await jobs.enqueue('add', { n: 2 }, { dedupe: 'b', backoffMs: 1, attempts: 2 });
      const tries: string[] = [];
      const working = jobs.work({
        add: async ({ n }, { attempt }) => {
          tries.push(`${n} ${attempt}`);
          if (n === 2 || attempt < 3) throw new MillraceError('busy', 'Not yet');
        },
      });
      await vi.waitFor(async () => expect(await jobs.counts()).toMatchObject({ completed: 1, failed: 1 }), 30_000);
      await working.stop();
      expect(tries.toSorted()).toEqual(['1 1', '1 2', '1 3', '2 1', '2 2']);
      expect((await jobs.list()).find(({ state }) => state === 'failed')).toMatchObject({
        failure: 'Not yet',
        attempts: 2,
      });
    });

    it('a queue of jobs does not try again what a person has to correct, nor what it has no handler for', async () => {
      const jobs = await connect();
      await jobs.enqueue('add', { n: 1 }, { dedupe: 'a' });
      await jobs.enqueue('other', {}, { dedupe: 'b' });
      let tries = 0;
      const refuse = async (): Promise<never> => {
        tries += 1;
        throw new UsageError('not-found', 'There is no projection x');
      };
      expect(await jobs.drain({ add: refuse }, WITHIN)).toBe(2);
      expect(tries).toBe(1);
      expect((await jobs.list()).map(({ failure }) => failure)).toEqual(
        expect.arrayContaining([
          'There is no projection x',
          'This worker has no handler for the job other: another version of Millrace enqueued it',
        ]),
      );
    });

    it('a queue of jobs does live work before bulk work', async () => {
      const jobs = await connect();
      for (const n of [1, 2]) await jobs.enqueue('add', { n }, { dedupe: String(n) });
      await jobs.enqueue('add', { n: 3 }, { dedupe: '3', lane: 'live' });
      const seen: number[] = [];
      await jobs.drain({ add: async ({ n }) => seen.push(n) }, WITHIN, { concurrency: 1 });
      expect(seen).toEqual([3, 1, 2]);
    });

    it('a queue of jobs begins no more than the limit allows', async () => {
      const jobs = await connect();
      for (let n = 0; n < 4; n++) await jobs.enqueue('add', { n }, { dedupe: String(n) });
      const begun: number[] = [];
      const limit = { max: 1, perMs: 150 };
      await jobs.drain({ add: async () => begun.push(Date.now()) }, WITHIN, { limit, concurrency: 4 });
      expect(begun).toHaveLength(4);
      expect((begun.at(-1) ?? 0) - (begun[0] ?? 0)).toBeGreaterThan(300);
    });

    it('a queue of jobs tells how far a job is', async () => {
      const jobs = await connect();
      await jobs.enqueue('add', { n: 1 }, { dedupe: 'a' });
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      const working = jobs.work({
        add: async (_, { progress }) => {
          progress(3, 10);
          await released;
        },
      });
      await vi.waitFor(
        async () => expect(await jobs.list()).toMatchObject([{ state: 'active', done: 3, of: 10 }]),
        20_000,
      );
      release();
      await vi.waitFor(async () => expect(await jobs.counts()).toMatchObject({ completed: 1 }), 20_000);
      await working.stop();
    });

    it('a worker that stops gives its jobs back, without having used up a try', async () => {
      const jobs = await connect();
      await jobs.enqueue('add', { n: 1 }, { dedupe: 'a', attempts: 1 });
      const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
      const working = jobs.work({
        add: (_, { signal }) =>
          new Promise((_resolve, reject) => {
            begin();
            signal.addEventListener('abort', () => reject(signal.reason as Error));
          }),
      });
      await begun;
      await working.stop();
      expect(await jobs.counts()).toMatchObject({ waiting: 1, active: 0, failed: 0 });
      expect(await jobs.drain({ add: async () => undefined }, WITHIN)).toBe(1);
    });

    it('a drain whose time is up gives back what still runs', async () => {
      const jobs = await connect();
      for (const n of [1, 2]) await jobs.enqueue('add', { n }, { dedupe: String(n) });
      const hang = (_: unknown, { signal }: { signal: AbortSignal }): Promise<never> =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
      expect(await jobs.drain({ add: hang }, { withinMs: 300 }, { concurrency: 1 })).toBe(0);
      expect(await jobs.counts()).toMatchObject({ waiting: 2, active: 0 });
    });

    it('a drain of nothing ends at once', async () => {
      expect(await (await connect()).drain({}, WITHIN)).toBe(0);
    });

    it('jobs of a worker that died are done by another, more than once if need be', async () => {
      const jobs = await connect('dead');
      await jobs.enqueue('add', { n: 7 }, { dedupe: 'a', attempts: 2 });
      for (let deaths = 0; deaths < 2; deaths++) await dieAtWork('dead');
      const seen: number[] = [];
      const working = jobs.work({ add: async ({ n }) => seen.push(n) }, { lostAfterMs: 1_000 });
      await vi.waitFor(() => expect(seen).toEqual([7]), 30_000);
      await working.stop();
    });

    it('a job with one attempt whose worker died has failed, and is not begun again', async () => {
      const jobs = await connect('once');
      await jobs.enqueue('add', { n: 7 }, { dedupe: 'a', attempts: 1 });
      await dieAtWork('once');
      const seen: number[] = [];
      const working = jobs.work({ add: async ({ n }) => seen.push(n) }, { lostAfterMs: 1_000 });
      await vi.waitFor(async () => expect(await jobs.counts()).toMatchObject({ failed: 1 }), 30_000);
      await working.stop();
      expect(seen).toEqual([]);
      expect(await jobs.list()).toMatchObject([{ failure: expect.stringContaining('may start only once') }]);
    });

    async function dieAtWork(queue: string): Promise<void> {
      const child = spawn(
        process.execPath,
        ['--conditions=millrace-source', join(import.meta.dirname, 'dying-worker.ts'), store.url, queue],
        { stdio: ['ignore', 'inherit', 'inherit'] },
      );
      await once(child, 'exit');
      expect(child.signalCode).toBe('SIGKILL');
    }
  });
});

it('a queue of jobs says what is wrong with an address, and never the address itself', async () => {
  await expect(Jobs.open('mysql://root:secret@nowhere', 'x')).rejects.toMatchObject({ code: 'setting-invalid' });
  await expect(Jobs.open('secret', 'x')).rejects.toThrow(/^((?!secret).)*$/);
  const url = `postgres://me:secret@127.0.0.1:${await freePort()}/x`;
  await expect(Jobs.open(url, 'x')).rejects.toMatchObject({ code: 'unreachable', message: /^((?!secret).)*$/ });
});
