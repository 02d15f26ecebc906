import type { CosmosClientOptions } from '@azure/cosmos';
import { UsageError } from '../base/errors.ts';
import { admin } from './admin.ts';
import { controls } from './controls.ts';
import type { Controls } from './controls.ts';
import { newAccount } from './cosmos/account.ts';
import type { Account, Faults } from './cosmos/account.ts';
import type { Clock } from './cosmos/clock.ts';
import { sweep } from './cosmos/expiry.ts';
import { inProcess } from './cosmos/in-process.ts';
import { Journal } from './cosmos/journal.ts';
import { seeded } from './cosmos/random.ts';
import { restart as restartRules } from './cosmos/rules.ts';
import { CosmosServer } from './cosmos/server.ts';
import { Service } from './cosmos/service.ts';
import type { EmulatorStats } from './cosmos/stats.ts';
import { exportTo, importFrom } from './cosmos/transfer.ts';

export type { Controls } from './controls.ts';
export type { Faults } from './cosmos/account.ts';
export type { Rule } from './cosmos/rules.ts';
export type { EmulatorStats } from './cosmos/stats.ts';
export { startEventHubs } from './eventhubs/index.ts';
export type { EventHubFaults, EventHubs, EventHubsOptions, HubOptions, PublishedEvent } from './eventhubs/index.ts';

/** The key that Microsoft publishes for its own emulators. */
export const EMULATOR_KEY = 'C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==';

const PURGE_INTERVAL_MS = 1000;

export interface EmulatorOptions {
  /** 0, the default, takes any free port. */
  readonly port?: number;
  /** Default 127.0.0.1: nobody but this machine. Any other name needs `allowRemote`. */
  readonly host?: string;
  /** Lets other machines in, who then need nothing but the key, and see everything unencrypted. */
  readonly allowRemote?: boolean;
  /** A folder to keep everything in; without it, everything is gone at the end. */
  readonly data?: string;
  /** Base64; default the published emulator key. */
  readonly key?: string;
  /** Makes faults and the order inside an lsn repeatable. */
  readonly seed?: number;
  readonly faults?: Faults;
  /** Whether the all-versions feed brings what a document was before. */
  readonly previousImages?: boolean;
}

export interface Emulator extends Controls {
  readonly endpoint: string;
  readonly key: string;
  readonly connectionString: string;
  /**
   * For `new CosmosClient(emulator.clientOptions)`, or to spread among other options: a client in this process that
   * needs no sockets, about twice as fast, and meets the same faults, broken connections among them.
   */
  readonly clientOptions: Required<Pick<CosmosClientOptions, 'endpoint' | 'key' | 'httpClient'>>;
  /** Replaces the faults from here on. */
  faults(faults: Faults): void;
  /** Stops the world: nothing is answered for so long, and then everything. */
  stall(ms: number): void;
  /**
   * As if the process were killed and started again on the same port: connections break without answers, queries under
   * way are lost, and what isn't on disk is gone, where there is a disk; a server in memory keeps its memory.
   */
  restart(): Promise<void>;
  /** Writes every database, container and item to a file, one JSON value a line; returns the number of items. */
  exportTo(path: string): Promise<number>;
  /** Reads such a file, beside what is there already; returns the number of items. Throws UsageError with the line. */
  importFrom(path: string): Promise<number>;
  stats(): EmulatorStats;
  close(): Promise<void>;
}

/**
 * Starts a Cosmos DB server inside this process that the unmodified `@azure/cosmos` client can use over plain HTTP.
 * Throws UsageError where the port is taken, the key isn't Base64 or the data folder can't be used.
 */
export async function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  const { port = 0, host = '127.0.0.1', key = EMULATOR_KEY, allowRemote = false } = options;
  const seed = options.seed ?? Math.floor(Math.random() * 2 ** 32);
  checkKey(key);
  checkHost(host, allowRemote);
  const random = seeded(seed);
  let { account, journal } = open(options, random);
  const commands = controls(() => account);
  const stall = (ms: number): void => {
    service.stalledUntil = Date.now() + ms;
  };
  const now = (): number => account.now();
  const serve = (): Service => new Service(account, key, admin({ ...commands, stall, restart, now }, key));
  let service = serve();
  let server = new CosmosServer(service);
  const bound = await server.listen(port, host).catch((error: unknown) => {
    journal?.close();
    throw refusal(error, port, host);
  });
  const sweeping = setInterval(() => sweep(account), PURGE_INTERVAL_MS).unref();
  const endpoint = `http://${host.includes(':') ? `[${host}]` : host}:${bound}/`;
  let closing: Promise<void> | undefined;

  let restarting: Promise<void> | undefined;
  function restart(): Promise<void> {
    return (restarting ??= again().finally(() => (restarting = undefined)));
  }
  async function again(): Promise<void> {
    const stopped = server.close();
    journal?.crash();
    if (journal) ({ account, journal } = open({ ...options, faults: account.faults }, random, account.clock));
    await stopped;
    const { stats } = service;
    const next = serve();
    next.stats = stats;
    server = new CosmosServer(next);
    await server.listen(bound, host);
    service = next;
  }

  return {
    ...commands,
    endpoint,
    key,
    connectionString: `AccountEndpoint=${endpoint};AccountKey=${key};`,
    clientOptions: { endpoint, key, httpClient: inProcess(() => service) },
    faults: (next) => {
      restartRules(next.rules ?? []);
      account.faults = next;
    },
    stall,
    restart,
    exportTo: (path) => exportTo(account, path),
    importFrom: (path) => importFrom(account, path),
    stats: () => service.stats.snapshot(),
    close: () =>
      (closing ??= (async () => {
        clearInterval(sweeping);
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
  const account = newAccount(journal, journal?.boot ?? 0, random, faults, clock);
  account.previousImages = previousImages;
  journal?.load(account);
  return { account, journal };
}

function checkHost(host: string, allowRemote: boolean): void {
  if (/^(?:127\.|::1$|localhost$)/.test(host)) return;
  if (!allowRemote) {
    throw new UsageError('emulator-host-not-local', `The host ${host} lets other machines in.`, {
      mend: 'Leave the host out, or set `allowRemote` if they shall have every document here.',
    });
  }
  process.emitWarning(`The embedded Cosmos DB server listens on ${host}: other machines can reach it, unencrypted.`);
}

function checkKey(key: string): void {
  if (/^[A-Za-z0-9+/]+={0,2}$/.test(key) && key.length % 4 === 0) return;
  throw new UsageError('emulator-key-invalid', 'The emulator key is not Base64.', {
    mend: 'Leave the key out to use the published emulator key.',
  });
}

function refusal(error: unknown, port: number, host: string): unknown {
  const code = (error as { code?: string }).code;
  if (code === 'EADDRINUSE') {
    return new UsageError('emulator-port-in-use', `Port ${port} on ${host} is already in use.`, {
      cause: error,
      mend: 'Stop what is listening there, name another port, or name port 0 for any free one.',
    });
  }
  return new UsageError(
    'emulator-cannot-listen',
    `The emulator can't listen on ${host}:${port} (${code ?? 'unknown reason'}).`,
    {
      cause: error,
      mend: 'Name another host or port.',
    },
  );
}
