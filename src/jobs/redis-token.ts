import { Redis, type RedisOptions } from 'ioredis';
import { type Clock, systemClock } from '../base/clock.ts';
import { type IssuedToken, type Token, identityToken } from './identity-token.ts';

/** What Azure Managed Redis takes for a password of a user that is an identity (Microsoft Entra authentication). */
const SCOPE = 'https://redis.azure.com/.default';
const AZURE = /\.(redis\.azure\.net|redis\.cache\.windows\.net)$/;
/** Azure asks for a new token three minutes before a connection's old one ends; the server closes it otherwise. */
const AHEAD_MS = 180_000;
/** Between two attempts to renew. */
const PAUSE_MS = 10_000;

/**
 * How to sign in to an address in Azure without a password, whose user name is the object id of this process's identity;
 * undefined for any other address, which the client takes as it is.
 */
export function redisByToken(url: string, token: Token = identityToken()): RedisByToken | undefined {
  const { protocol, hostname: host, port, username, password } = new URL(url);
  // Tokens are taken over TLS alone.
  if (password !== '' || username === '' || protocol !== 'rediss:' || !AZURE.test(host)) return undefined;
  const tls = { servername: host };
  return new RedisByToken({ host, port: Number(port || 10_000), username, tls, keepAlive: 60_000 }, token);
}

/** With replies of the form that BullMQ knows. */
type Options = RedisOptions & { readonly replyMapping?: 'legacy' };

/** Connections whose password is a token, which is renewed on all of them before it ends. */
export class RedisByToken {
  readonly options: Options;
  readonly #token: Token;
  readonly #clock: Clock;
  readonly #closed = new AbortController();
  readonly #clients = new Set<Redis>();
  #password = '';

  constructor(options: Options, token: Token, clock: Clock = systemClock) {
    this.options = options;
    this.#token = token;
    this.#clock = clock;
  }

  /** Rejects where no token is to be had. */
  async open(): Promise<Redis> {
    const first = await this.#token(SCOPE);
    this.#closed.signal.throwIfAborted();
    this.#password = first.token;
    this.#keepRenewing(first).catch(() => undefined);
    return this.#client(this.options);
  }

  /** Ends all of its connections. */
  close(): void {
    this.#closed.abort(new DOMException('The connections are closed', 'AbortError'));
    for (const client of this.#clients) client.disconnect();
  }

  #client(options: Options): Redis {
    const client = new Redis({ ...options, password: this.#password, maxRetriesPerRequest: null });
    this.#clients.add(client);
    client.once('end', () => this.#clients.delete(client));
    // BullMQ waits for jobs on a connection of its own.
    const duplicate = (more: Options = {}): Redis => this.#client({ ...options, ...more });
    return Object.assign(client, { duplicate });
  }

  /** Until it is closed. */
  async #keepRenewing({ expiresOnTimestamp: ends }: IssuedToken): Promise<never> {
    for (;;) {
      // The library gives the token it has until shortly before its end.
      await this.#clock.sleep(Math.max(ends - this.#clock.now() - AHEAD_MS, PAUSE_MS), this.#closed.signal);
      try {
        const { token, expiresOnTimestamp } = await this.#token(SCOPE);
        this.#password = token;
        await Promise.all([...this.#clients].map((client) => this.#signIn(client)));
        ends = expiresOnTimestamp;
      } catch (error) {
        for (const client of this.#clients) if (client.listenerCount('error') > 0) client.emit('error', error);
      }
    }
  }

  async #signIn(client: Redis): Promise<void> {
    const [user, token] = [client.options.username ?? 'default', this.#password];
    // For the next connection that it makes.
    client.options.password = token;
    if (client.status === 'ready') await client.auth(user, token);
    // One that is being made may have begun with the old one.
    else client.once('ready', () => void client.auth(user, token).catch(() => undefined));
  }
}
