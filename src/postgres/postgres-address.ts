import type { PoolConfig } from 'pg';
import { type IdentityToken, identityToken } from './identity-token.ts';

/** Azure Database for PostgreSQL accepts a token of this scope as the password of a Microsoft Entra role. */
const SCOPE = 'https://ossrdbms-aad.database.windows.net/.default';
const AZURE = '.postgres.database.azure.com';

/**
 * Connection options for the client. An address in Azure without a password names a role that signs in with a token of
 * this process's identity, over TLS. Each new connection gets a token; it may expire once the connection is open.
 */
export function postgresAddress(url: string, token: IdentityToken = identityToken()): PoolConfig {
  const { hostname, port, username, password, pathname } = new URL(url);
  if (password !== '' || !hostname.endsWith(AZURE)) return { connectionString: url };
  return {
    host: hostname,
    port: Number(port || 5432),
    user: decodeURIComponent(username),
    database: decodeURIComponent(pathname.slice(1)),
    ssl: true,
    password: async () => (await token(SCOPE)).token,
  };
}
