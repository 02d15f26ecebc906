import { hash } from 'node:crypto';
import { errors, exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose';
import { WireError } from '../cosmos/wire/wire.ts';
import type { WireCall, Reply } from '../cosmos/wire/wire.ts';
import { blocked, TENANT } from './access.ts';
import type { Principal, Principals } from './access.ts';

const COSMOS = 'https://cosmos.azure.com';
const LIFETIME_S = 3600;

type Keys = Awaited<ReturnType<typeof generateKeyPair>>;

/** A token issuer for tests, with Entra ID's endpoints. It verifies the tokens that it has issued. */
export class Issuer {
  readonly #keys: Keys;
  readonly #secret: string;
  readonly #endpoint: () => string;
  readonly #now: () => number;
  readonly #principals = new Map<string, Principal>();
  /** Tokens that were verified, with their end in milliseconds since 1970. */
  readonly #known = new Map<string, { readonly principal: Principal; readonly until: number }>();

  private constructor(keys: Keys, principals: Principals, secret: string, endpoint: () => string, now: () => number) {
    this.#keys = keys;
    this.#secret = secret;
    this.#endpoint = endpoint;
    this.#now = now;
    for (const [name, given] of Object.entries(principals)) {
      const assignments = typeof given === 'string' ? [{ role: given }] : given;
      this.#principals.set(name, { name, id: idOf(name), assignments });
    }
  }

  /**
   * @param secret the client secret for the token endpoint
   * @param endpoint returns the server's address, once it listens
   */
  static async create(
    principals: Principals,
    secret: string,
    endpoint: () => string,
    now: () => number,
  ): Promise<Issuer> {
    return new Issuer(await generateKeyPair('RS256'), principals, secret, endpoint, now);
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
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid: 'millrace' })
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

  /** Entra ID's endpoints: the configuration, the keys, and tokens by client secret. */
  async answer({ method, segments, body }: WireCall): Promise<Reply> {
    const [path = ''] = `${method} /${segments.slice(1).join('/')}`.split('?', 1);
    if (path === 'GET /v2.0/.well-known/openid-configuration') return json(200, this.#configuration());
    if (path === 'GET /discovery/v2.0/keys') {
      const key = await exportJWK(this.#keys.publicKey);
      return json(200, { keys: [{ ...key, kid: 'millrace', use: 'sig', alg: 'RS256' }] });
    }
    if (path !== 'POST /oauth2/v2.0/token') return json(404, { error: 'not_found', message: `There is no ${path}.` });
    const form = new URLSearchParams(body.toString());
    const [scope] = (form.get('scope') ?? '').split(' ');
    if (form.get('grant_type') !== 'client_credentials' || !scope?.endsWith('/.default')) {
      return denied('invalid_request', 'Only client credentials are supported, with a scope that ends in /.default.');
    }
    const name = form.get('client_id') ?? '';
    if (!this.#principals.has(name) || form.get('client_secret') !== this.#secret) {
      const names = this.names.join(', ');
      return denied(
        'invalid_client',
        `The client_id must be one of ${names}, and the client_secret must be the account's key.`,
      );
    }
    const { token } = await this.token(name, scope.slice(0, -'/.default'.length));
    return json(200, {
      token_type: 'Bearer',
      expires_in: LIFETIME_S,
      ext_expires_in: LIFETIME_S,
      access_token: token,
    });
  }

  #configuration(): object {
    const base = `${this.#endpoint()}${TENANT}`;
    return {
      issuer: this.#name,
      token_endpoint: `${base}/oauth2/v2.0/token`,
      authorization_endpoint: `${base}/oauth2/v2.0/authorize`,
      end_session_endpoint: `${base}/oauth2/v2.0/logout`,
      jwks_uri: `${base}/discovery/v2.0/keys`,
      token_endpoint_auth_methods_supported: ['client_secret_post'],
      response_types_supported: ['token'],
      subject_types_supported: ['pairwise'],
      id_token_signing_alg_values_supported: ['RS256'],
      scopes_supported: ['.default'],
    };
  }
}

const json = (status: number, value: object): Reply => ({ status, headers: {}, text: JSON.stringify(value) });
const denied = (error: string, description: string): Reply =>
  json(401, { error, error_description: description, message: description });
const unauthorized = (why: string, substatus: number): WireError => new WireError(401, blocked(why), substatus);

/** The object id of a principal: always the same for the same name. */
function idOf(name: string): string {
  return hash('sha256', name).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');
}

/** A time in the service's form: `1/30/2025, 10:38:31 AM (UTC)`. */
const timeText = (ms: number | undefined): string =>
  `${new Date(ms ?? 0).toLocaleString('en-US', { timeZone: 'UTC' })} (UTC)`;
