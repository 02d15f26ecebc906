import { once } from '../base/once.ts';

/** A token as `TokenCredential.getToken` of the identity library returns it. */
export interface IssuedToken {
  readonly token: string;
  /** Milliseconds since 1970. */
  readonly expiresOnTimestamp: number;
}

/** Gets a token of this process's identity. The identity library caches it while it is valid. */
export type IdentityToken = (scope: string) => Promise<IssuedToken>;

/** Signs in with `DefaultAzureCredential`: managed identity in Azure, `az login` elsewhere. */
export function identityToken(): IdentityToken {
  const credential = once(async () => new (await import('@azure/identity')).DefaultAzureCredential());
  return async (scope) => {
    const issued = await (await credential()).getToken(scope);
    if (!issued) throw new Error(`No token for ${scope}`);
    return issued;
  };
}
