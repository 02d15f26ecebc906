import { once } from '../base/once.ts';

/** What the identity library answers; the shape of `TokenCredential.getToken`. */
export interface IssuedToken {
  readonly token: string;
  /** Milliseconds since 1970. */
  readonly expiresOnTimestamp: number;
}

/** Asks for a token of this process's identity, which the identity library keeps for as long as it is good. */
export type Token = (scope: string) => Promise<IssuedToken>;

/** Signs in as `DefaultAzureCredential` does: managed identity in Azure, `az login` elsewhere. */
export function identityToken(): Token {
  const credential = once(async () => new (await import('@azure/identity')).DefaultAzureCredential());
  return async (scope) => {
    const issued = await (await credential()).getToken(scope);
    if (!issued) throw new Error(`No token for ${scope}`);
    return issued;
  };
}
