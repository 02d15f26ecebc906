import { setTimeout as delay } from 'node:timers/promises';
import type { CosmosClientOptions } from '@azure/cosmos';
import { UsageError } from '../base/errors.ts';
import { admin } from './admin.ts';
import { containerNamed, controls } from './controls.ts';
import type { Controls } from './controls.ts';
import { newAccount } from './cosmos/storage/account.ts';
import type { Account } from './cosmos/storage/account.ts';
import type { Faults } from './cosmos/physics/faults.ts';
import type { Clock } from './cosmos/physics/clock.ts';
import { sweep } from './cosmos/items/expiry.ts';
import { hostNames } from './cosmos/server/host-names.ts';
import { inProcess } from './cosmos/server/in-process.ts';
import { Journal } from './cosmos/storage/journal.ts';
import { seeded } from './random.ts';
import { restart as restartRules } from './cosmos/physics/rules.ts';
import { CosmosServer } from './cosmos/server/http-server.ts';
import { Service } from './cosmos/server/service.ts';
import type { Identity } from './cosmos/server/service.ts';
import type { EmulatorStats } from './cosmos/server/stats.ts';
import { exportTo, Importer, importFrom, lines } from './cosmos/resources/transfer.ts';
import { permit, TENANT } from './entra/access.ts';
import type { Principals } from './entra/access.ts';
import type { Issuer } from './entra/issuer.ts';
import { faultsOf } from './fault-input.ts';
import type { ForeignHost } from './foreign/host.ts';
import type { ForeignHostRequest, ForeignHosts } from './foreign/hosts.ts';
import { checkOptions, listenRefusal } from './options.ts';
import type { EmulatorOptions } from './options.ts';
import type { newCertificate } from './tls.ts';

export type { Controls } from './controls.ts';
export { TENANT as EMULATOR_TENANT } from './entra/access.ts';
export type { Assignment, Principals, Role } from './entra/access.ts';
export { ADVERSE } from './fault-input.ts';
export type { ForeignHost } from './foreign/host.ts';
export type { ForeignHostRequest } from './foreign/hosts.ts';
export type { EmulatorOptions } from './options.ts';
export type { Faults } from './cosmos/physics/faults.ts';
export type { Rule } from './cosmos/physics/rules.ts';
export type { EmulatorStats } from './cosmos/server/stats.ts';
export { startEventHubs } from './eventhubs/index.ts';
export type { EventHubFaults, EventHubs, EventHubsOptions, HubOptions, PublishedEvent } from './eventhubs/index.ts';

/** The key that Microsoft publishes for its own emulators. */
export const EMULATOR_KEY = 'C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==';

const PURGE_INTERVAL_MS = 1000;
const ROLES: Principals = { reader: 'reader', contributor: 'contributor' };

/** What the client takes as `aadCredentials`. */
export type Credential = NonNullable<CosmosClientOptions['aadCredentials']>;

export interface Emulator extends Controls {
  readonly endpoint: string;
  readonly key: string;
  readonly connectionString: string;
  /**
   * For `new CosmosClient(emulator.clientOptions)`, or to spread among other options: a client in this process that
   * needs no sockets, about twice as fast, and meets the same faults, broken connections among them.
   */
  readonly clientOptions: Required<Pick<CosmosClientOptions, 'endpoint' | 'key' | 'httpClient'>>;
  /** PEM, only with `tls`: what clients over sockets have to trust, by NODE_EXTRA_CA_CERTS or an agent's `ca`. */
  readonly certificate: string | undefined;
  /** For `aadCredentials`, only with `tls`: tokens for one of the principals. Throws UsageError for a name there isn't. */
  credential(principal: string): Credential;
  /** Replaces the faults from here on. Throws UsageError for what is none. */
  faults(faults: Faults | 'adverse'): void;
  /** Stops the world: nothing is answered for so long, and then everything. */
  stall(ms: number): void;
  /**
   * As if the process were killed and started again on the same port: connections break without answers, queries under
   * way are lost, and what isn't on disk is gone, where there is a disk; a server in memory keeps its memory.
   * @param downMs how long nothing listens in between
   */
  restart(downMs?: number): Promise<void>;
  /**
   * A host of .NET's change feed processor, or of the Functions trigger, to have beside one's own: it does one step at a
   * time, as it is told. Its client is in this process and meets the faults that others do.
   * Throws UsageError where a container is missing, or leases can't be kept in it.
   */
  foreignHost(request: ForeignHostRequest): Promise<ForeignHost>;
  /** Writes every database, container and item to a file, one JSON value a line; returns the number of items. */
  exportTo(path: string): Promise<number>;
  /** Reads such a file, beside what is there already; returns the number of items. Throws UsageError with the line. */
  importFrom(path: string): Promise<number>;
  stats(): EmulatorStats;
  close(): Promise<void>;
}

/**
 * Starts a Cosmos DB server inside this process that the unmodified `@azure/cosmos` client can use over HTTP or HTTPS on
 * the loopback interface, or without any of it by `clientOptions`.
 * Throws UsageError where the port is taken, the data folder can't be used, or an option makes no sense.
 */
export async function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  checkOptions(options);
  const { port = 0, host = '127.0.0.1', names = [], key = EMULATOR_KEY, principals = ROLES } = options;
  const random = seeded(options.seed ?? Math.floor(Math.random() * 2 ** 32));
  const secured = options.tls === true ? await secure() : undefined;
  const certificate = await secured?.newCertificate([host, ...names]);
  const face = { isOwn: hostNames(host, names), certificate };
  let endpoint = '';
  let { account, journal } = open(options, random);
  const now = (): number => account.now();
  /** Throws UsageError where memory is ahead of the disk. */
  const intact = (): Account => {
    journal?.flush();
    if (journal?.failure) throw journal.failure;
    return account;
  };
  const issuer = await secured?.Issuer.create(principals, key, () => endpoint, now);
  const orders = {
    ...controls(intact),
    faults: (next: Faults | 'adverse'): void => {
      const checked = faultsOf(next);
      restartRules(checked.rules ?? []);
      account.faults = checked;
    },
    stall: (ms: number): void => {
      service.stalledUntil = Date.now() + ms;
    },
    restart: (downMs = 0): Promise<void> => (restarting ??= again(downMs).finally(() => (restarting = undefined))),
    stats: (): EmulatorStats => service.snapshot(),
  };
  let hosts: Promise<ForeignHosts> | undefined;
  const foreign = (): Promise<ForeignHosts> =>
    (hosts ??= import('./foreign/hosts.ts').then(
      (room) => new room.ForeignHosts(clientOptions(), (name) => containerNamed(account, name), now),
    ));
  const commands = admin(
    {
      ...orders,
      now,
      play: async (script) => (await foreign()).play(script),
      export: () => lines(intact()),
      importer: (into, first) => new Importer(intact(), into, first),
    },
    key,
  );
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
    sweep(account);
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
      // It says so to whoever asks, until another restart finds the disk in order.
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
    foreignHost: async (request) => (await foreign()).open(request),
    exportTo: async (path) => exportTo(intact(), path),
    importFrom: async (path) => {
      const count = await importFrom(intact(), path);
      intact();
      return count;
    },
    close: () =>
      (closing ??= (async () => {
        clearInterval(sweeping);
        (await hosts)?.close();
        await server.close();
        journal?.close();
      })()),
  };
}

/** The account as it is on disk, or a new one in memory. */
function open(
  { data, faults = {}, previousImages = false }: EmulatorOptions,
  random: () => number,
  clock?: Clock,
): { account: Account; journal: Journal | undefined } {
  const journal = data === undefined ? undefined : new Journal(data);
  const account = newAccount(journal, journal?.boot ?? 0, random, faultsOf(faults), clock);
  account.previousImages = previousImages;
  journal?.load(account);
  return { account, journal };
}

/** What few servers need, and what takes longer to load than all the rest. */
async function secure(): Promise<{ newCertificate: typeof newCertificate; Issuer: typeof Issuer }> {
  const [{ newCertificate: made }, { Issuer: tokens }] = await Promise.all([
    import('./tls.ts'),
    import('./entra/issuer.ts'),
  ]);
  return { newCertificate: made, Issuer: tokens };
}

const identityOf = (issuer: Issuer): Identity => ({
  tenant: TENANT,
  authorize: async (token, call) => permit(await issuer.verify(token), call),
  answer: (call) => issuer.answer(call),
});

/** Throws UsageError where there are no tokens, or none for that name. */
function credentialOf(issuer: Issuer | undefined, name: string): Credential {
  if (!issuer) {
    throw new UsageError(
      'emulator-without-tokens',
      'This server hands out no tokens: the client sends them over TLS only.',
      {
        mend: 'Start it with `tls: true`.',
      },
    );
  }
  if (!issuer.names.includes(name)) {
    throw new UsageError('emulator-principal-unknown', `There is no principal '${name}'.`, {
      mend: `Name one of ${issuer.names.join(', ')}.`,
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
