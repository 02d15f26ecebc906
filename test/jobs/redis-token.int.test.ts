// Signing in to Redis by tokens, on a real server whose user has the token of the hour for a password.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { redis } from '../../src/jobs/backend.ts';
import { RedisByToken, redisByToken } from '../../src/jobs/redis-token.ts';
import { ManualClock } from '../support/clock.ts';

const INSTALLED = spawnSync('redis-server', ['--version']).status === 0;
const USER = '0b5b1a4e-object-id';
const HOUR = 3_600_000;

it.each([
  'redis://127.0.0.1:6379',
  'rediss://:key@x.westeurope.redis.azure.net:10000',
  'rediss://user:key@x.westeurope.redis.azure.net:10000',
  // Microsoft takes tokens over TLS alone.
  'redis://user@x.westeurope.redis.azure.net:10000',
  'rediss://user@redis.example.com:6380',
])('a token for Redis leaves %s as it is', (url) => {
  expect(redisByToken(url, () => Promise.reject(new Error('nobody asks')))).toBeUndefined();
});

it('a token for Redis takes an address in Azure that has a user and no password, over TLS', () => {
  expect(redisByToken(`rediss://${USER}@x.westeurope.redis.azure.net`)?.options).toMatchObject({
    host: 'x.westeurope.redis.azure.net',
    port: 10_000,
    username: USER,
    tls: { servername: 'x.westeurope.redis.azure.net' },
  });
});

describe.skipIf(!INSTALLED)('where redis-server is installed', () => {
  let folder: string;
  let server: ChildProcess;
  let operator: Redis;
  let clock: ManualClock;
  let asked: string[];
  let current: string;
  let issue: () => Promise<string>;
  const opened: RedisByToken[] = [];
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'millrace-redis-token-'));
    const path = join(folder, 'redis.sock');
    const flags = ['--port', '0', '--unixsocket', path, '--dir', folder, '--save', ''];
    server = spawn('redis-server', flags, { stdio: ['ignore', 'pipe', 'ignore'] });
    operator = new Redis(path, { maxRetriesPerRequest: null });
    // Until the server is there.
    operator.on('error', () => undefined);
    await operator.ping();
  });
  afterAll(async () => {
    operator.disconnect();
    server.kill('SIGKILL');
    await once(server, 'exit');
    rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(async () => {
    clock = new ManualClock();
    asked = [];
    issue = async () => current;
    await valid('first');
    await operator.config('RESETSTAT');
  });
  afterEach(async () => {
    for (const signIn of opened.splice(0)) signIn.close();
    await vi.waitUntil(async () => (await connected()) === 0, 30_000);
  });

  /** The server takes this token from now on and no other; whoever is in stays in. */
  async function valid(token: string): Promise<void> {
    current = token;
    await operator.call('ACL', 'SETUSER', USER, 'reset', 'on', `>${token}`, '~*', '&*', '+@all');
  }
  function byToken(): RedisByToken {
    const token = async (scope: string) => {
      asked.push(scope);
      return { token: await issue(), expiresOnTimestamp: clock.now() + HOUR };
    };
    const signIn = new RedisByToken({ path: join(folder, 'redis.sock'), username: USER }, token, clock);
    opened.push(signIn);
    return signIn;
  }
  async function open(): Promise<Redis> {
    const client = await byToken().open();
    client.on('error', () => undefined);
    return client;
  }
  async function connected(): Promise<number> {
    return String(await operator.client('LIST')).split(`user=${USER} `).length - 1;
  }
  async function renewals(): Promise<number> {
    return Number(/cmdstat_auth:calls=(\d+)/.exec(await operator.info('commandstats'))?.[1] ?? 0);
  }

  it('a client of Redis signs in with a token', async () => {
    const client = await open();
    expect([await client.acl('WHOAMI'), asked]).toEqual([USER, ['https://redis.azure.com/.default']]);
  });

  it('a client of Redis sends a new token three minutes before the old one ends, on the connections it has', async () => {
    const client = await open();
    const other = client.duplicate();
    const before = [await client.client('ID'), await other.client('ID')];
    expect(clock.slept).toEqual([HOUR - 180_000]);
    await valid('second');
    clock.advance(HOUR - 180_000);
    await vi.waitFor(() => expect(clock.slept).toEqual([HOUR - 180_000, HOUR - 180_000]), 30_000);
    // Connections begin by HELLO.
    expect(await renewals()).toBe(2);
    expect([await client.client('ID'), await other.client('ID')]).toEqual(before);
  });

  it('a client of Redis makes the next connection with the token of then', async () => {
    const client = await open();
    await client.ping();
    await valid('second');
    clock.advance(HOUR - 180_000);
    await vi.waitFor(() => expect(clock.slept).toHaveLength(2), 30_000);
    const before = await client.client('ID');
    await operator.client('KILL', 'USER', USER);
    expect(await client.acl('WHOAMI')).toBe(USER);
    expect(await client.client('ID')).not.toBe(before);
  });

  it('a client of Redis says that no token can be had, goes on asking, and comes back from a refusal', async () => {
    const client = await open();
    await client.ping();
    const troubles: string[] = [];
    client.on('error', (error: Error) => troubles.push(error.message));
    issue = () => Promise.reject(new Error('no identity now'));
    clock.advance(HOUR - 180_000);
    await vi.waitFor(() => expect(clock.slept).toHaveLength(2), 30_000);
    expect(troubles).toEqual(['no identity now']);
    expect(clock.slept.at(-1)).toBeGreaterThanOrEqual(10_000);
    // The old one has ended meanwhile, and the server closed the connection.
    await valid('second');
    await operator.client('KILL', 'USER', USER);
    await vi.waitFor(() => expect(troubles.join()).toContain('WRONGPASS'), 30_000);
    issue = async () => current;
    await vi.waitFor(async () => {
      clock.advance(10_000);
      expect(await client.acl('WHOAMI')).toBe(USER);
    }, 30_000);
  });

  it('a client of Redis is refused at once where no token can be had, with the library’s reason', async () => {
    issue = () => Promise.reject(new Error('CredentialUnavailable'));
    await expect(redis(byToken())).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringContaining('CredentialUnavailable'),
    });
  });

  it('a client of Redis carries jobs: the queue and the worker that waits for them, each on a connection of its own', async () => {
    const backend = await redis(byToken());
    const [queue, done] = [backend.queue('tokens'), Promise.withResolvers<unknown>()];
    const worker = backend.worker('tokens', async ({ data }) => done.resolve(data), {});
    worker.on('error', done.reject);
    await queue.add('add', { n: 7 });
    expect(await done.promise).toEqual({ n: 7 });
    expect(await connected()).toBeGreaterThan(1);
    await worker.close();
    await queue.close();
    await backend.close();
  });
});
