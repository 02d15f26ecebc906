import { expect, it } from 'vitest';
import { postgresAddress } from '../../src/postgres/postgres-address.ts';

const token = async (scope: string) => ({ token: `token for ${scope}`, expiresOnTimestamp: 0 });

it('an address of PostgreSQL takes an address with a password, or elsewhere, as it is', () => {
  for (const url of ['postgres://a:b@x.postgres.database.azure.com/jobs', 'postgres://a@127.0.0.1:5433/jobs'])
    expect(postgresAddress(url, token)).toEqual({ connectionString: url });
});

it('an address of PostgreSQL signs in with a token where an address in Azure has no password', async () => {
  const url = 'postgres://id-app-x%40y@psql-x.postgres.database.azure.com/jobs?sslmode=require';
  const { password, ...address } = postgresAddress(url, token);
  expect(address).toEqual({
    host: 'psql-x.postgres.database.azure.com',
    port: 5432,
    user: 'id-app-x@y',
    database: 'jobs',
    ssl: true,
  });
  expect(typeof password === 'function' && (await password())).toBe(
    'token for https://ossrdbms-aad.database.windows.net/.default',
  );
});
