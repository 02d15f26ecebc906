import { Client } from 'pg';
import { expect, it } from 'vitest';
import { startPglite } from '../../src/postgres/pglite.ts';

it('each database in memory is empty, also those that start from a copy of the first one’s files', async () => {
  const started = [startPglite({ first: 'CREATE TABLE first_one (id int)' }), startPglite()];
  await using stack = new AsyncDisposableStack();
  for (const starting of started) stack.use(await starting);
  const third = stack.use(await startPglite());
  const tables = async (url: string): Promise<unknown[]> => {
    const client = new Client(url);
    await client.connect();
    try {
      await client.query('CREATE TABLE beside (id int)');
      const { rows } = await client.query<{ tablename: string }>(
        "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename",
      );
      return rows.map(({ tablename }) => tablename);
    } finally {
      await client.end();
    }
  };
  const [first, second] = await Promise.all(started);
  expect(await tables(first?.url ?? '')).toEqual(['beside', 'first_one']);
  expect(await tables(second?.url ?? '')).toEqual(['beside']);
  expect(await tables(third.url)).toEqual(['beside']);
});
