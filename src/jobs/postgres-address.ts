import type { PoolConfig } from 'pg';

/** What Azure Database for PostgreSQL takes for a password of a role that is an identity (Microsoft Entra authentication). */
const SCOPE = 'https://ossrdbms-aad.database.windows.net/.default';
const AZURE = '.postgres.database.azure.com';

/** Asks for a token anew at each connection; the identity library keeps it for as long as it is good. */
export type Token = (scope: string) => Promise<string>;

/**
 * An address as the client takes it. One in Azure without a password names a role that signs in with a token of this
 * process's identity, over TLS.
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
    password: () => token(SCOPE),
  };
}

function identityToken(): Token {
  let credential: Promise<{ getToken(scope: string): Promise<{ token: string } | null> }> | undefined;
  return async (scope) => {
    credential ??= import('@azure/identity').then(({ DefaultAzureCredential }) => new DefaultAzureCredential());
    return (await (await credential).getToken(scope))?.token ?? '';
  };
}
