import {
  type ConnectionOptions,
  createPostgresBackend,
  createRedisBackend,
  Queue,
  runMigrations,
  Worker,
  type WorkerOptions,
} from 'bullmq';
import { sharedError } from '../base/shared-errors.ts';
import { type UsageError, messageOf } from '../base/errors.ts';
import { postgresAddress } from '../postgres/postgres-address.ts';
import { type RedisByToken, redisByToken } from './redis-token.ts';
import { JOBS_SCHEMA } from './schema.ts';

/** Prefix of our keys in Redis. */
const PREFIX = 'millrace';
/** Long enough for a server that starts at the first request, such as the one of `millrace dev`. */
const ANSWER_MS = 30_000;

/** BullMQ's classes, connected to the datastore of an address. */
export interface Backend {
  queue(name: string): Queue;
  worker(name: string, run: (job: BullJob, token: string) => Promise<unknown>, options: Partial<WorkerOptions>): Worker;
  /** Removes the list of what happened to the queue's jobs. It has results and keys of jobs that were removed. */
  forgetEvents(queue: Queue): Promise<void>;
  close(): Promise<void>;
}

/** The part of BullMQ's `Job` that we use. */
export interface BullJob {
  readonly id?: string;
  readonly name: string;
  readonly data: unknown;
  /** When it was enqueued, wall clock. */
  readonly timestamp: number;
  readonly attemptsMade: number;
  /** How often the job's worker was lost. */
  readonly stalledCounter: number;
  readonly opts: { readonly attempts?: number };
  updateProgress(progress: object): Promise<void>;
  moveToWait(token: string): Promise<unknown>;
  moveToDelayed(timestamp: number, token: string): Promise<unknown>;
}

/**
 * `redis://` and `rediss://`: Redis 6.2 or later. `postgres://` and `postgresql://`: PostgreSQL 13 or later, with BullMQ's
 * own backend, which creates its tables at the first connection. An address in Azure with a user and no password signs in
 * with tokens of this process's identity.
 * @throws UsageError `setting-invalid`, `unreachable`
 */
export function openBackend(url: string): Promise<Backend> {
  const scheme = schemeOf(url);
  if (scheme === 'redis' || scheme === 'rediss') return redis(redisByToken(url) ?? url);
  if (scheme === 'postgres' || scheme === 'postgresql') return postgres(url);
  throw invalid(`has the unknown scheme ${scheme}:`);
}

/** `by`: an address for the client, or how to sign in to one with tokens. */
export async function redis(by: string | RedisByToken): Promise<Backend> {
  const signIn = typeof by === 'string' ? undefined : by;
  try {
    // With `null`, commands wait while the server is away for a while. `answered` detects a server that does not exist.
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
      forgetEvents: async (queue) => void (await queue.trimEvents(0)),
      close: async () => signIn?.close(),
    };
  } catch (error) {
    signIn?.close();
    throw error;
  }
}

async function postgres(url: string): Promise<Backend> {
  const { Pool } = (await import('pg')).default;
  // Each worker uses one connection for listening alone, so the pool needs more connections than workers.
  const pool = new Pool({ ...postgresAddress(url), max: 8, keepAlive: true, options: `-c search_path=${JOBS_SCHEMA}` });
  pool.on('error', () => undefined);
  try {
    await answered(async () => {
      const client = await pool.connect();
      try {
        await runMigrations(client, JOBS_SCHEMA);
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
    // BullMQ's own function for it exists for Redis alone.
    forgetEvents: async (queue) => void (await pool.query('DELETE FROM event WHERE queue = $1', [queue.name])),
    close: () => pool.end(),
  };
}

function schemeOf(url: string): string {
  try {
    return new URL(url).protocol.slice(0, -1);
  } catch {
    throw invalid('is not an address');
  }
}

/** The message must not contain the value, which may hold a password. */
const invalid = (why: string): UsageError =>
  sharedError('setting-invalid', `The setting JOBS_URL ${why}`, {
    hint: 'Write it as `redis://HOST:6379`, `rediss://:PASSWORD@HOST:6380` or `postgres://USER:PASSWORD@HOST:5432/DATABASE`. In Azure, a user without a password signs in by identity.',
  });

/** No server listens at the address, or there is no such host: the address is wrong, or the server must be started first. */
const isRefused = (error: unknown): boolean =>
  error instanceof Error && /ECONNREFUSED|ENOTFOUND|EHOSTUNREACH|ENETUNREACH/.test(wordsOf(error));
const wordsOf = (error: Error): string => ('code' in error ? `${error.message} ${String(error.code)}` : error.message);

/** @throws UsageError `unreachable` */
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
    const why = `The datastore of the background jobs can't be used: ${messageOf(last ?? error)}`;
    throw sharedError('unreachable', why, {
      hint: 'Check `JOBS_URL`, the network and the rights. In PostgreSQL the role must be able to create a schema, once.',
      cause: error,
    });
  } finally {
    clearTimeout(timer);
  }
}
