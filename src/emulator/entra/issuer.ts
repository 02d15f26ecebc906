import { hash } from 'node:crypto';
import { errors, generateKeyPair, jwtVerify, SignJWT } from 'jose';
import { WireError } from '../cosmos/wire/wire.ts';
import { blocked, TENANT } from './access.ts';
import type { Principal, Principals } from './access.ts';

const COSMOS = 'https://cosmos.azure.com';
const LIFETIME_S = 3600;

type Keys = Awaited<ReturnType<typeof generateKeyPair>>;

/** A token issuer for tests. It verifies the tokens that it has issued. */
export class Issuer {
  readonly #keys: Keys;
  readonly #endpoint: () => string;
  readonly #now: () => number;
  readonly #principals = new Map<string, Principal>();
  /** Tokens that were verified, with their end in milliseconds since 1970. */
  readonly #known = new Map<string, { readonly principal: Principal; readonly until: number }>();

  private constructor(keys: Keys, principals: Principals, endpoint: () => string, now: () => number) {
    this.#keys = keys;
    this.#endpoint = endpoint;
    this.#now = now;
    for (const [name, given] of Object.entries(principals)) {
      const assignments = typeof given === 'string' ? [{ role: given }] : given;
      this.#principals.set(name, { name, id: idOf(name), assignments });
    }
  }

  /**
   * @param endpoint returns the server's address, once it listens
   */
  static async create(principals: Principals, endpoint: () => string, now: () => number): Promise<Issuer> {
    return new Issuer(await generateKeyPair('RS256'), principals, endpoint, now);
  }

  get #name(): string {
    return `${this.#endpoint()}${TENANT}/v2.0`;
  }

  get names(): string[] {
    return [...this.#principals.keys()];
  }

  /** A token for a principal, one of `names`. */
  async token(name: string, audience: string): Promise<{ token: string; expiresAt: number }> {
    const principal = this.#principals.get(name)!;
    const from = Math.floor(this.#now() / 1000);
    const token = await new SignJWT({ oid: principal.id, tid: TENANT, azp: name, ver: '2.0' })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT' })
      .setIssuer(this.#name)
      .setSubject(principal.id)
      .setAudience(audience)
      .setIssuedAt(from)
      .setNotBefore(from)
      .setExpirationTime(from + LIFETIME_S)
      .sign(this.#keys.privateKey);
    return { token, expiresAt: (from + LIFETIME_S) * 1000 };
  }

  /** The principal of a token; rejects with WireError 401 and the service's sub-status. */
  async verify(token: string): Promise<Principal> {
    const known = this.#known.get(token);
    if (known && known.until > this.#now()) return known.principal;
    const audiences = [this.#endpoint().replace(/\/$/, ''), COSMOS];
    const { payload } = await jwtVerify(token, this.#keys.publicKey, {
      issuer: this.#name,
      audience: audiences,
      algorithms: ['RS256'],
      requiredClaims: ['exp', 'oid'],
      currentDate: new Date(this.#now()),
    }).catch((error: unknown) => {
      throw this.#refusal(error, audiences);
    });
    const principal = [...this.#principals.values()].find(({ id }) => id === payload['oid']);
    if (!principal) throw unauthorized('Provided AAD token belongs to no principal of this server.', 5003);
    if (this.#known.size >= 1000) this.#known.clear();
    this.#known.set(token, { principal, until: payload.exp! * 1000 });
    return principal;
  }

  #refusal(error: unknown, audiences: readonly string[]): unknown {
    if (error instanceof errors.JWTExpired) {
      const [since, now] = [Number(error.payload.exp) * 1000, this.#now()].map(timeText);
      const message = `Provided AAD token has been expired since [${since}]. Current server time is [${now}]. Please refresh the AAD token.`;
      return unauthorized(message, 5006);
    }
    if (error instanceof errors.JWSSignatureVerificationFailed) {
      return unauthorized('Provided AAD token has an invalid signature.', 5004);
    }
    if (!(error instanceof errors.JWTClaimValidationFailed)) {
      return unauthorized('Provided AAD token is of an invalid format.', 5003);
    }
    const { claim, payload } = error;
    if (claim === 'nbf') return unauthorized('Provided AAD token is not valid yet.', 5005);
    if (claim === 'iss') {
      const message = `Provided AAD token was issued by the authority [${payload.iss}] which is not trusted by this database account. Please ensure the token has been issued by the AAD tenant(s) [${TENANT}].`;
      return unauthorized(message, 5007);
    }
    if (claim !== 'aud') return unauthorized(`Provided AAD token has no valid '${claim}'.`, 5003);
    const message = `Provided AAD token is intended for [${String(payload.aud)}]. This database account accepts tokens intended for [${audiences.join(', ')}].`;
    return unauthorized(message, 5008);
  }
}

const unauthorized = (why: string, substatus: number): WireError => new WireError(401, blocked(why), substatus);

/** The object id of a principal: always the same for the same name. */
function idOf(name: string): string {
  return hash('sha256', name).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');
}

/** A time in the service's form: `1/30/2025, 10:38:31 AM (UTC)`. */
const timeText = (ms: number | undefined): string =>
  `${new Date(ms ?? 0).toLocaleString('en-US', { timeZone: 'UTC' })} (UTC)`;
