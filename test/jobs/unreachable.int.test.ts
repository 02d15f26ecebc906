import { Redis } from 'ioredis';
import { expect, it, vi } from 'vitest';
import { Jobs } from '../../src/jobs/jobs.ts';
import { freePort } from '../support/free-port.ts';
import { DATASTORES } from './datastores.ts';

// Long before half a minute, which a datastore that is slow to start is given.
it.each(['redis', 'rediss', 'postgres'])(
  '%s that refuses the connection is not waited for',
  { timeout: 15_000 },
  async (scheme) => {
    const url = `${scheme}://me:S3CRET@127.0.0.1:${await freePort()}/x`;
    const error: unknown = await Jobs.open(url, 'jobs').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'unreachable', message: expect.stringContaining('ECONNREFUSED') });
    expect(String(error)).not.toContain('S3CRET');
  },
);

const [, [, available, startRedis]] = DATASTORES;

it.skipIf(!available)('an outage of Redis runs a job with one attempt once', async () => {
  await using store = await startRedis();
  const jobs = await Jobs.open<{ add: object }>(store.url, 'outage');
  await jobs.enqueue('add', {}, { dedupe: 'a', attempts: 1 });
  let runs = 0;
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const working = jobs.work(
    {
      add: async () => {
        runs += 1;
        begin();
        await over;
      },
    },
    { lostAfterMs: 500 },
  );
  await begun;
  // The server answers no one while locks end, and goes on with what it held.
  const redis = new Redis(store.url);
  await redis.call('DEBUG', 'SLEEP', '2');
  redis.disconnect();
  await vi.waitFor(async () => expect(await jobs.counts()).toMatchObject({ failed: 1 }), 30_000);
  end();
  await working.stop();
  expect(runs).toBe(1);
  await jobs.close();
});
