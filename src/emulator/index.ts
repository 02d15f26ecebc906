import { setTimeout as delay } from 'node:timers/promises';
import type { CosmosClientOptions } from '@azure/cosmos';
import { sharedError } from '../base/shared-errors.ts';
import type { UsageError } from '../base/errors.ts';
import { admin } from './admin.ts';
import { controls } from './controls.ts';
import type { Controls } from './controls.ts';
import { newAccount } from './cosmos/storage/account.ts';
import type { StoredAccount } from './cosmos/storage/account.ts';
import type { Faults } from './cosmos/time-and-charge/faults.ts';
import type { EmulatorClock } from './cosmos/time-and-charge/clock.ts';
import { sweepExpired } from './cosmos/items/expiry.ts';
import { hostNames } from './cosmos/server/host-names.ts';
import { inProcess } from './cosmos/server/in-process.ts';
import { StoredJournal } from './cosmos/storage/journal.ts';
import { seeded } from './random.ts';
import { restart as restartRules } from './cosmos/time-and-charge/rules.ts';
import { CosmosServer } from './cosmos/server/http-server.ts';
import { Service } from './cosmos/server/service.ts';
import type { RequestIdentity } from './cosmos/server/service.ts';
import type { EmulatorStats } from './cosmos/server/stats.ts';
import { permit } from './entra/access.ts';
import type { Principals } from './entra/access.ts';
import type { Issuer } from './entra/issuer.ts';
import { emulatorFaultsOf } from './fault-input.ts';
import { emulatorCheckOptions, listenRefusal } from './options.ts';
import type { EmulatorOptions } from './options.ts';
import type { newCertificate } from './tls.ts';

export type { Controls } from './controls.ts';
export type { Assignment, Principals, EntraRole as Role } from './entra/access.ts';
export { ADVERSE } from './fault-input.ts';
export type { EmulatorOptions } from './options.ts';
export type { Faults } from './cosmos/time-and-charge/faults.ts';
export type { FaultRule as Rule } from './cosmos/time-and-charge/rules.ts';
export type { EmulatorStats } from './cosmos/server/stats.ts';
export { startEventHubs } from './eventhubs/index.ts';
export type { EventHubFaults, EventHubs, EventHubsOptions, HubOptions, PublishedEvent } from './eventhubs/index.ts';

/** The key that Microsoft publishes for its own emulators. */
export const EMULATOR_KEY = 'C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==';

const PURGE_INTERVAL_MS = 1000;
const ROLES: Principals = { reader: 'reader', contributor: 'contributor' };

/** The type of the client's option `aadCredentials`. */
export type Credential = NonNullable<CosmosClientOptions['aadCredentials']>;

export interface Emulator extends Controls {
  readonly endpoint: string;
  readonly key: string;
  readonly connectionString: string;
  /**
   * For `new CosmosClient(emulator.clientOptions)`, alone or with other options: a client in this process that uses no
   * sockets. It is about twice as fast, and gets the same faults, also broken connections.
   */
  readonly clientOptions: Required<Pick<CosmosClientOptions, 'endpoint' | 'key' | 'httpClient'>>;
  /** PEM, only with `tls`: the certificate that clients over sockets must trust (NODE_EXTRA_CA_CERTS, an agent's `ca`). */
  readonly certificate: string | undefined;
  /** For `aadCredentials`, only with `tls`: tokens for one of the principals. Throws UsageError for an unknown name. */
  credential(principal: string): Credential;
  /** Replaces the faults from now on. Throws UsageError if they are not valid. */
  faults(faults: Faults | 'adverse'): void;
  /** Answers no request for `ms` milliseconds, and then all of them. */
  stall(ms: number): void;
  /**
   * Acts as if the process were killed and started again on the same port: connections break without answers, running
   * queries are lost, and data that isn't on disk is lost. A server without a data folder keeps its data.
   * @param downMs how long the server doesn't listen
   */
  restart(downMs?: number): Promise<void>;
  stats(): EmulatorStats;
  close(): Promise<void>;
}

/**
 * Starts a Cosmos DB server inside this process. The unmodified `@azure/cosmos` client can use it over HTTP or HTTPS on
 * the loopback interface, or without a network through `clientOptions`.
 * Throws UsageError if another process uses the port, the data folder can't be used, or an option is invalid.
 */
export async function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  emulatorCheckOptions(options);
  const { port = 0, host = '127.0.0.1', names = [], key = EMULATOR_KEY, principals = ROLES } = options;
  const random = seeded(options.seed ?? Math.floor(Math.random() * 2 ** 32));
  const secured = options.tls === true ? await secure() : undefined;
  const certificate = await secured?.newCertificate([host, ...names]);
  const face = { isOwn: hostNames(host, names), certificate };
  let endpoint = '';
  let { account, journal } = open(options, random);
  const now = (): number => account.now();
  /** Throws UsageError if memory has writes that the disk lacks. */
  const intact = (): StoredAccount => {
    journal?.flush();
    if (journal?.failure) throw journal.failure;
    return account;
  };
  const issuer = await secured?.Issuer.create(principals, () => endpoint, now);
  const orders = {
    ...controls(intact),
    faults: (next: Faults | 'adverse'): void => {
      const checked = emulatorFaultsOf(next);
      restartRules(checked.rules ?? []);
      account.faults = checked;
    },
    stall: (ms: number): void => {
      service.stalledUntil = Date.now() + ms;
    },
    restart: (downMs = 0): Promise<void> => (restarting ??= again(downMs).finally(() => (restarting = undefined))),
    stats: (): EmulatorStats => service.snapshot(),
  };
  const commands = admin({ ...orders, now }, key);
  const serve = (): Service => new Service(account, key, commands, issuer && identityOf(issuer));
  let service = serve();
  let server = new CosmosServer(service, face);
  const bound = await server.listen(port, host).catch((error: unknown) => {
    journal?.close();
    throw listenRefusal(error, port, host);
  });
  endpoint = `${certificate ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${bound}/`;
  const clientOptions = (): Emulator['clientOptions'] => ({ endpoint, key, httpClient: inProcess(() => service) });
  const sweeping = setInterval(() => {
    sweepExpired(account);
    service.sweep();
  }, PURGE_INTERVAL_MS).unref();
  let restarting: Promise<void> | undefined;
  let closing: Promise<void> | undefined;

  async function again(downMs: number): Promise<void> {
    const stopped = server.close();
    journal?.crash();
    let failure: UsageError | undefined;
    try {
      if (journal) ({ account, journal } = open({ ...options, faults: account.faults }, random, account.clock));
    } catch (error) {
      // Every request gets this error, until a restart can use the disk again.
      failure = journal?.fail(error);
    }
    await stopped;
    if (downMs > 0) await delay(downMs, undefined, { ref: false });
    if (closing) return;
    const { stats } = service;
    const next = serve();
    next.stats = stats;
    server = new CosmosServer(next, face);
    await server.listen(bound, host);
    service = next;
    if (failure) throw failure;
  }

  return {
    ...orders,
    endpoint,
    key,
    connectionString: `AccountEndpoint=${endpoint};AccountKey=${key};`,
    certificate: certificate?.cert,
    credential: (name) => credentialOf(issuer, name),
    clientOptions: clientOptions(),
    close: () =>
      (closing ??= (async () => {
        clearInterval(sweeping);
        await server.close();
        journal?.close();
      })()),
  };
}

/** Loads the account from disk, or creates one in memory. */
function open(
  { data, faults = {}, previousImages = false, onUnwritable }: EmulatorOptions,
  random: () => number,
  clock?: EmulatorClock,
): { account: StoredAccount; journal: StoredJournal | undefined } {
  const journal = data === undefined ? undefined : new StoredJournal(data, onUnwritable);
  const account = newAccount(journal, journal?.boot ?? 0, random, emulatorFaultsOf(faults), clock);
  account.previousImages = previousImages;
  journal?.load(account);
  return { account, journal };
}

/** Loads the modules for TLS: few servers need them, and they take longer to load than all others. */
async function secure(): Promise<{ newCertificate: typeof newCertificate; Issuer: typeof Issuer }> {
  const [{ newCertificate: made }, { Issuer: tokens }] = await Promise.all([
    import('./tls.ts'),
    import('./entra/issuer.ts'),
  ]);
  return { newCertificate: made, Issuer: tokens };
}

const identityOf = (issuer: Issuer): RequestIdentity => ({
  authorize: async (token, call) => permit(await issuer.verify(token), call),
});

/** Throws UsageError if the server issues no tokens, or has no principal of that name. */
function credentialOf(issuer: Issuer | undefined, name: string): Credential {
  if (!issuer) {
    throw sharedError('option-invalid', 'This server issues no tokens: clients send them only over TLS.', {
      hint: 'Start it with `tls: true`.',
    });
  }
  if (!issuer.names.includes(name)) {
    throw sharedError('not-found', `There is no principal '${name}'.`, {
      hint: `Name one of: ${issuer.names.join(', ')}.`,
    });
  }
  return {
    getToken: async (scopes) => {
      const [scope = ''] = typeof scopes === 'string' ? [scopes] : scopes;
      const { token, expiresAt } = await issuer.token(name, scope.replace(/\/\.default$/, ''));
      return { token, expiresOnTimestamp: expiresAt };
    },
  };
}
