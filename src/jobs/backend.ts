import {
  type ConnectionOptions,
  createPostgresBackend,
  createRedisBackend,
  Queue,
  runMigrations,
  Worker,
  type WorkerOptions,
} from 'bullmq';
import { UsageError, messageOf } from '../base/errors.ts';
import { postgresAddress } from './postgres-address.ts';
import { type RedisByToken, redisByToken } from './redis-token.ts';

/** What our keys in Redis begin with. */
const PREFIX = 'millrace';
/** Where BullMQ's tables lie in PostgreSQL: the one schema that it takes with a pool of ours. */
export const SCHEMA = 'bullmq';
/** Long enough for one that starts when it is first asked, as that of `millrace dev`. */
const ANSWER_MS = 30_000;

/** BullMQ's classes on the datastore that an address names. */
export interface Backend {
  queue(name: string): Queue;
  worker(name: string, run: (job: BullJob, token: string) => Promise<unknown>, options: Partial<WorkerOptions>): Worker;
  close(): Promise<void>;
}

/** The part of BullMQ's job that we use. */
export interface BullJob {
  readonly id?: string;
  readonly name: string;
  readonly data: unknown;
  readonly attemptsMade: number;
  /** How often its worker was lost. */
  readonly stalledCounter: number;
  readonly opts: { readonly attempts?: number };
  updateProgress(progress: object): Promise<void>;
  moveToWait(token: string): Promise<unknown>;
}

/**
 * `redis://` and `rediss://`: Redis 6.2 or later. `postgres://` and `postgresql://`: PostgreSQL 13 or later, by BullMQ's
 * own backend, whose tables are made at the first connection. An address in Azure that has a user and no password signs in
 * with tokens of this process's identity.
 * @throws UsageError `jobs-url-invalid`, `jobs-unreachable`
 */
export function openBackend(url: string): Promise<Backend> {
  const scheme = schemeOf(url);
  if (scheme === 'redis' || scheme === 'rediss') return redis(redisByToken(url) ?? url);
  if (scheme === 'postgres' || scheme === 'postgresql') return postgres(url);
  throw invalid(`has the scheme ${scheme}:`);
}

/** `by`: an address as the client takes it, or how to sign in to one. */
export async function redis(by: string | RedisByToken): Promise<Backend> {
  const signIn = typeof by === 'string' ? undefined : by;
  try {
    // Commands wait for a server that is away for a while; `answered` tells one that isn't there at all.
    const connection: ConnectionOptions =
      typeof by === 'string' ? { url: by, maxRetriesPerRequest: null } : await answered(() => by.open());
    const options = { connection, prefix: PREFIX };
    const probe = new Queue('probe', { ...options, skipMetasUpdate: true }, createRedisBackend);
    await answered((trouble) => {
      probe.on('error', trouble);
      return probe.waitUntilReady();
    }).finally(() => void (signIn ? probe.close() : probe.disconnect()).catch(() => undefined));
    return {
      queue: (name) => new Queue(name, options, createRedisBackend),
      worker: (name, run, more) => new Worker(name, run as never, { ...more, ...options }, createRedisBackend),
      close: async () => signIn?.close(),
    };
  } catch (error) {
    signIn?.close();
    throw error;
  }
}

async function postgres(url: string): Promise<Backend> {
  const { Pool } = (await import('pg')).default;
  // One connection of each worker only listens, so there must be more than workers.
  const pool = new Pool({ ...postgresAddress(url), max: 8, keepAlive: true, options: `-c search_path=${SCHEMA}` });
  pool.on('error', () => undefined);
  try {
    await answered(async () => {
      const client = await pool.connect();
      try {
        await runMigrations(client, SCHEMA);
      } finally {
        client.release();
      }
    });
  } catch (error) {
    void pool.end().catch(() => undefined);
    throw error;
  }
  const options = { connection: pool as never };
  return {
    queue: (name) => new Queue(name, options, createPostgresBackend as never),
    worker: (name, run, more) =>
      new Worker(name, run as never, { ...more, ...options }, createPostgresBackend as never),
    close: () => pool.end(),
  };
}

function schemeOf(url: string): string {
  try {
    return new URL(url).protocol.slice(0, -1);
  } catch {
    throw invalid('is no address');
  }
}

/** Never repeats the value in its message: it may hold a password. */
const invalid = (why: string): UsageError =>
  new UsageError('jobs-url-invalid', `The setting JOBS_URL ${why}`, {
    mend: 'Write it as redis://HOST:6379, rediss://:PASSWORD@HOST:6380, or postgres://USER:PASSWORD@HOST:5432/DATABASE; in Azure a user without a password signs in by identity.',
  });

/** Nothing listens there, or there is no such host: the address is wrong, or whoever starts it has to come first. */
const isRefused = (error: unknown): boolean =>
  error instanceof Error && /ECONNREFUSED|ENOTFOUND|EHOSTUNREACH|ENETUNREACH/.test(wordsOf(error));
const wordsOf = (error: Error): string => ('code' in error ? `${error.message} ${String(error.code)}` : error.message);

/** @throws UsageError `jobs-unreachable` */
async function answered<T>(ask: (trouble: (error: unknown) => void) => Promise<T>): Promise<T> {
  let last: unknown;
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${ANSWER_MS / 1000} s`)), ANSWER_MS);
  const trouble = (error: unknown): void => {
    last = error;
    if (isRefused(error)) reject(error);
  };
  try {
    return await Promise.race([ask(trouble), late]);
  } catch (error) {
    throw new UsageError('jobs-unreachable', `The jobs' datastore can't be used: ${messageOf(last ?? error)}`, {
      cause: error,
      mend: 'Check JOBS_URL, the network and the rights: in PostgreSQL the role must be able to create a schema, once.',
    });
  } finally {
    clearTimeout(timer);
  }
}
