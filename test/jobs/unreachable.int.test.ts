import { expect, it } from 'vitest';
import { Jobs } from '../../src/jobs/jobs.ts';
import { freePort } from './datastores.ts';

// Long before half a minute, which a datastore that is slow to start is given.
it.each(['redis', 'rediss', 'postgres'])(
  '%s that refuses the connection is not waited for',
  { timeout: 15_000 },
  async (scheme) => {
    const url = `${scheme}://me:S3CRET@127.0.0.1:${await freePort()}/x`;
    const error: unknown = await Jobs.open(url, 'jobs').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'jobs-unreachable', message: expect.stringContaining('ECONNREFUSED') });
    expect(String(error)).not.toContain('S3CRET');
  },
);
