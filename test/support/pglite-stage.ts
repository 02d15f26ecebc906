import { Client } from 'pg';
import { afterAll } from 'vitest';
import { type Database, openDatabase } from '../../src/postgres/database.ts';
import { startPglite } from '../../src/postgres/pglite.ts';

/** A database of PGlite for the tests of one file: as hosts open it, and by a client beside them. */
export async function usePglite(): Promise<{
  readonly url: string;
  readonly database: Database;
  readonly client: Client;
}> {
  const server = await startPglite();
  const database = openDatabase(server.url, { max: 1 });
  const client = new Client(server.url);
  await client.connect();
  afterAll(async () => {
    await client.end();
    await database.close();
    await server[Symbol.asyncDispose]();
  });
  return { url: server.url, database, client };
}
