// Transactions that stall, on a real server.
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../src/postgres/database.ts';
import { failure, failureKind } from '../../src/postgres/failure.ts';
import { NO_POSTGRES, type PostgresServer, startPostgres } from '../support/postgres.ts';

const signal = new AbortController().signal;

it('a client of PostgreSQL refuses what is no address of PostgreSQL, without showing it', () => {
  for (const url of ['redis://secret@x', 'secret'])
    expect(() => openDatabase(url)).toThrow(
      expect.objectContaining({ code: 'setting-invalid', message: expect.not.stringContaining('secret') }),
    );
});

it('a client of PostgreSQL says that a server that isn’t there is unreachable', async () => {
  const database = openDatabase('postgres://a@127.0.0.1:1/x');
  const error: unknown = await database
    .transaction(async () => undefined, { signal })
    .catch((thrown: unknown) => thrown);
  expect(failure(error, 'It failed')).toMatchObject({ code: 'unavailable', retryable: true });
  await database.close();
});

describe.skipIf(NO_POSTGRES !== undefined)(
  `on real PostgreSQL${NO_POSTGRES === undefined ? '' : ` (${NO_POSTGRES})`}`,
  () => {
    let server: PostgresServer;
    let client: Client;
    let database: Database;
    beforeAll(async () => {
      server = await startPostgres();
      client = new Client(server.url);
      await client.connect();
      await client.query('CREATE TABLE t (id int PRIMARY KEY, n int)');
      await client.query('INSERT INTO t VALUES (1, 0)');
      database = openDatabase(server.url, { idleMs: 300 });
    }, 60_000);
    afterAll(async () => {
      await database?.close();
      await client?.end();
      await server?.[Symbol.asyncDispose]();
    });

    it('a client of PostgreSQL ends a transaction that stalls, so that its locks don’t last', async () => {
      const { promise: stalled, resolve: wake } = Promise.withResolvers<void>();
      const { promise: locked, resolve: note } = Promise.withResolvers<void>();
      const zombie = database.transaction(
        async (session) => {
          await session.query('UPDATE t SET n = 1 WHERE id = 1');
          note();
          await stalled;
        },
        { signal },
      );
      const outcome = zombie.then(
        () => 'committed',
        () => 'ended',
      );
      await locked;
      // Waits for the zombie's lock until the server ends it.
      await database.transaction((session) => session.query('UPDATE t SET n = 2 WHERE id = 1'), { signal });
      wake();
      expect(await outcome).toBe('ended');
      expect((await client.query('SELECT n FROM t')).rows).toEqual([{ n: 2 }]);
    });

    it('a client of PostgreSQL sends nothing after its time, nor after its signal', async () => {
      const slow = database.transaction(
        async (session) => {
          await session.query('SELECT pg_sleep(0.05)');
          await session.query('UPDATE t SET n = 3 WHERE id = 1');
        },
        { signal, withinMs: 20 },
      );
      expect(failureKind(await slow.catch((error: unknown) => error))).toBe('slow');
      const stop = new AbortController();
      const aborted = database.transaction(
        async (session) => {
          await session.query('UPDATE t SET n = 4 WHERE id = 1');
          stop.abort(new Error('lost the lease'));
        },
        { signal: stop.signal },
      );
      await expect(aborted).rejects.toThrow('lost the lease');
      expect((await client.query('SELECT n FROM t')).rows).toEqual([{ n: 2 }]);
    });

    it('a client of PostgreSQL goes on after a server that ended its connections', async () => {
      await client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()');
      const attempt = () => database.transaction((session) => session.query('SELECT n FROM t'), { signal });
      const found = await attempt().catch(attempt);
      expect(found.rows).toEqual([{ n: '2' }]);
    });
  },
);
