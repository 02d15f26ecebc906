import { Redis, type RedisOptions } from 'ioredis';
import { type Clock, systemClock } from '../base/clock.ts';
import { type IssuedToken, type IdentityToken, identityToken } from '../postgres/identity-token.ts';

/** Azure Managed Redis accepts a token of this scope as the password of a Microsoft Entra user. */
const SCOPE = 'https://redis.azure.com/.default';
const AZURE = /\.(redis\.azure\.net|redis\.cache\.windows\.net)$/;
/** Azure demands a new token three minutes before the old one ends; else the server closes the connection. */
const AHEAD_MS = 180_000;
/** Pause between two attempts to renew. */
const PAUSE_MS = 10_000;

/**
 * For an address in Azure without a password, whose user name is the object id of this process's identity. Undefined for
 * any other address, which the client can use unchanged.
 */
export function redisByToken(url: string, token: IdentityToken = identityToken()): RedisByToken | undefined {
  const { protocol, hostname: host, port, username, password } = new URL(url);
  // The service accepts tokens over TLS only.
  if (password !== '' || username === '' || protocol !== 'rediss:' || !AZURE.test(host)) return undefined;
  const tls = { servername: host };
  return new RedisByToken({ host, port: Number(port || 10_000), username, tls, keepAlive: 60_000 }, token);
}

/** `replyMapping: 'legacy'` gives the form of replies that BullMQ expects. */
type Options = RedisOptions & { readonly replyMapping?: 'legacy' };

/** Connections whose password is a token. Before it ends, all of them get a new one. */
export class RedisByToken {
  readonly options: Options;
  readonly #token: IdentityToken;
  readonly #clock: Clock;
  readonly #closed = new AbortController();
  readonly #clients = new Set<Redis>();
  #password = '';

  constructor(options: Options, token: IdentityToken, clock: Clock = systemClock) {
    this.options = options;
    this.#token = token;
    this.#clock = clock;
  }

  /** Rejects if there is no token. */
  async open(): Promise<Redis> {
    const first = await this.#token(SCOPE);
    this.#closed.signal.throwIfAborted();
    this.#password = first.token;
    this.#keepRenewing(first).catch(() => undefined);
    return this.#client(this.options);
  }

  /** Ends all connections. */
  close(): void {
    this.#closed.abort(new DOMException('The connections are closed', 'AbortError'));
    for (const client of this.#clients) client.disconnect();
  }

  #client(options: Options): Redis {
    const client = new Redis({ ...options, password: this.#password, maxRetriesPerRequest: null });
    this.#clients.add(client);
    client.once('end', () => this.#clients.delete(client));
    // BullMQ opens a second connection to wait for jobs.
    const duplicate = (more: Options = {}): Redis => this.#client({ ...options, ...more });
    return Object.assign(client, { duplicate });
  }

  /** Runs until `close`. */
  async #keepRenewing({ expiresOnTimestamp: ends }: IssuedToken): Promise<never> {
    for (;;) {
      // The library returns its cached token until shortly before that one ends.
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
    // For the client's next connection.
    client.options.password = token;
    if (client.status === 'ready') await client.auth(user, token);
    // A connection that is being opened may have started with the old token.
    else client.once('ready', () => void client.auth(user, token).catch(() => undefined));
  }
}
