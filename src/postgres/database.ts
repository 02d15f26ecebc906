// A PostgreSQL database: a pool of connections, and transactions that end within a stated time.
import type { Pool, PoolClient } from 'pg';
import { once } from '../base/once.ts';
import { sharedError } from '../base/shared-errors.ts';
import { CHECK_POSTGRES } from './errors.ts';
import { postgresAddress } from './postgres-address.ts';

/** A session of the server, in a transaction. */
export interface Session {
  /** `rows` are objects by column; every value is text, except booleans and parsed JSON. */
  query(
    sql: string,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: Record<string, unknown>[]; readonly rowCount: number | null }>;
}

export interface TransactionOptions {
  readonly signal: AbortSignal;
  /** Statements that begin every transaction, beside its time limits. */
  readonly first?: string;
  /** Milliseconds from the begin to the commit. Default: `TRANSACTION_MS`. */
  readonly withinMs?: number;
}

export interface Database {
  /**
   * Runs `work` in a transaction, and commits. An error of the commit leaves open whether it took effect: repeat the
   * call, and let `work` find out.
   */
  transaction<T>(work: (session: Session) => Promise<T>, options: TransactionOptions): Promise<T>;
  close(): Promise<void>;
}

/**
 * A statement is sent at most so long after its transaction began, and takes at most as long. So a transaction takes
 * effect within twice the time of its begin, which is below R (`LANDING_BOUND_MS`). A process that stalls in between is
 * ended by the server after `IDLE_MS`, and holds its locks no longer than that.
 */
const TRANSACTION_MS = 30_000;
const LOCK_MS = 10_000;
const IDLE_MS = 15_000;
const CONNECT_MS = 15_000;

/** On Citus time limits reach the workers only so (ASM-H36). Without the extension it is a name that nothing reads. */
const limitsOf = (ms: number, idleMs: number): string =>
  [
    `SET LOCAL citus.propagate_set_commands = 'local'`,
    // A role that a policy restricts gets an error, instead of a part of the rows.
    'SET LOCAL row_security = off',
    `SET LOCAL statement_timeout = ${ms}`,
    `SET LOCAL lock_timeout = ${Math.min(LOCK_MS, ms)}`,
    `SET LOCAL idle_in_transaction_session_timeout = ${idleMs}`,
  ].join('; ');
/** `transaction_timeout` exists since PostgreSQL 17. */
const WITH_TRANSACTION_LIMIT = 170_000;

export interface DatabaseOptions {
  /** Connections at the same time. */
  readonly max?: number;
  /** After so many milliseconds without a statement the server ends a transaction. Default: `IDLE_MS`. */
  readonly idleMs?: number;
}

/** @throws UsageError `setting-invalid` */
export function openDatabase(url: string, { max = 8, idleMs = IDLE_MS }: DatabaseOptions = {}): Database {
  assertAddress(url);
  const pool = once(async (): Promise<Pool> => {
    const { default: pg } = await import('pg');
    const types = { getTypeParser: parserOf };
    const opened = new pg.Pool({
      ...postgresAddress(url),
      max,
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_MS,
      types,
      // A process that has nothing else to do may end.
      allowExitOnIdle: true,
    });
    // Without a listener a connection that breaks while it is idle would end the process.
    opened.on('error', () => undefined);
    return opened;
  });
  const versions = new WeakMap<PoolClient, number>();
  const versionOf = async (client: PoolClient): Promise<number> => {
    const known = versions.get(client);
    if (known !== undefined) return known;
    const { rows } = await client.query<{ server_version_num: string }>('SHOW server_version_num');
    const version = Number(rows[0]?.server_version_num);
    versions.set(client, version);
    return version;
  };
  return {
    transaction: async (work, { signal, first, withinMs = TRANSACTION_MS }) => {
      signal.throwIfAborted();
      const client = await (await pool()).connect();
      let broken: Error | undefined;
      const note = (error: Error): void => void (broken ??= error);
      client.on('error', note);
      try {
        const limited = (await versionOf(client)) >= WITH_TRANSACTION_LIMIT;
        const until = performance.now() + withinMs;
        const send = async (sql: string, values?: readonly unknown[]) => {
          signal.throwIfAborted();
          if (performance.now() > until)
            throw sharedError('unavailable', `A transaction took longer than ${withinMs / 1_000} s`, {
              hint: CHECK_POSTGRES,
            });
          return client.query(sql, values as unknown[]);
        };
        await send(
          [
            // The server's default may be another level, at which a statement doesn't see what was committed before it.
            'BEGIN ISOLATION LEVEL READ COMMITTED',
            limitsOf(withinMs, idleMs),
            ...(limited ? [`SET LOCAL transaction_timeout = ${2 * withinMs}`] : []),
            ...(first === undefined ? [] : [first]),
          ].join('; '),
        );
        const result = await work({ query: send });
        const { command } = await send('COMMIT');
        // The server answers so if a statement failed and the error was passed over.
        if (command !== 'COMMIT')
          throw sharedError('unavailable', 'A transaction was rolled back', { hint: CHECK_POSTGRES });
        return result;
      } catch (error) {
        // A connection in an unknown state is closed, which rolls its transaction back.
        broken ??= error instanceof Error ? error : new Error(String(error));
        if ('code' in broken && /^[0-9A-Z]{5}$/.test(String(broken.code)))
          await client.query('ROLLBACK').then(
            () => (broken = undefined),
            () => undefined,
          );
        throw error;
      } finally {
        client.off('error', note);
        client.release(broken);
      }
    },
    close: once(async () => (await pool()).end()),
  };
}

/** Numbers, dates and times stay the text that the server wrote. */
const parserOf = (oid: number): ((text: string) => unknown) => {
  const [BOOLEAN, JSONB] = [16, 3802];
  if (oid === BOOLEAN) return (text) => text === 't';
  return oid === JSONB ? (text) => JSON.parse(text) as unknown : (text) => text;
};

function assertAddress(url: string): void {
  const scheme = URL.canParse(url) ? new URL(url).protocol : '';
  if (scheme !== 'postgres:' && scheme !== 'postgresql:')
    throw sharedError('setting-invalid', 'The setting POSTGRES_URL is not the address of a PostgreSQL server', {
      hint: 'Write it as `postgres://USER:PASSWORD@HOST:5432/DATABASE`. In Azure, a user without a password signs in by identity.',
    });
}
