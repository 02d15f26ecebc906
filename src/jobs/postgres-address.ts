import type { PoolConfig } from 'pg';
import { type Token, identityToken } from './identity-token.ts';

/** What Azure Database for PostgreSQL takes for a password of a role that is an identity (Microsoft Entra authentication). */
const SCOPE = 'https://ossrdbms-aad.database.windows.net/.default';
const AZURE = '.postgres.database.azure.com';

/**
 * An address as the client takes it. One in Azure without a password names a role that signs in with a token of this
 * process's identity, over TLS; the token is asked for at each connection, and need not outlive its start.
 */
export function postgresAddress(url: string, token: Token = identityToken()): PoolConfig {
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
