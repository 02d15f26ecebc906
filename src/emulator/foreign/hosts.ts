import { CosmosClient } from '@azure/cosmos';
import type { Container as SdkContainer, CosmosClientOptions } from '@azure/cosmos';
import { messageOf, UsageError } from '../../base/errors.ts';
import type { Container } from '../cosmos/storage/container.ts';
import { ForeignHost } from './host.ts';
import type { ForeignHostOptions } from './host.ts';
import type { Played, Script, Step } from './script.ts';
import { emulatorError } from '../errors.ts';

/** A foreign host on this server. Containers are named `database/container`. */
export interface ForeignHostRequest extends Omit<ForeignHostOptions, 'source' | 'leases' | 'prefix'> {
  /** The container whose feed the host reads. */
  readonly container: string;
  /** The container of its leases; its partition key must be `/id`. */
  readonly leases: string;
  /** The prefix of its lease ids; absent: the one of .NET and Functions, which begins with the processor's name. */
  readonly prefix?: string | undefined;
  /** The processor's name; absent: none, as with the Functions trigger without `LeaseContainerPrefix`. */
  readonly processor?: string | undefined;
}

/** Finds a container; throws UsageError if there is none. */
export type Find = (name: string) => Container;

/**
 * The foreign hosts on one server. They are clients of it, and get its faults like others.
 * @internal
 */
export class ForeignHosts {
  readonly #client: CosmosClient;
  readonly #account: string;
  readonly #find: Find;
  readonly #now: () => number;
  readonly #named = new Map<string, { readonly host: ForeignHost; readonly as: Omit<Script, 'name' | 'steps'> }>();

  /** @param now the server's time, by which leases expire */
  constructor(options: CosmosClientOptions & { endpoint: string }, find: Find, now: () => number) {
    this.#account = new URL(options.endpoint).hostname;
    this.#client = new CosmosClient({
      ...options,
      consistencyLevel: 'Session',
      connectionPolicy: {
        enableEndpointDiscovery: false,
        retryOptions: { maxRetryAttemptCount: 0, fixedRetryIntervalInMilliseconds: 0, maxWaitTimeInSeconds: 0 },
      },
    });
    this.#find = find;
    this.#now = now;
  }

  /** Throws UsageError if a container is missing, or its partition key does not allow leases. */
  open({ container, leases, prefix, processor = '', ...options }: ForeignHostRequest): ForeignHost {
    const monitored = this.#find(container);
    const { paths } = this.#find(leases).keys.definition;
    if (paths.join() !== '/id') {
      throw emulatorError(
        'emulator-lease-container',
        `The partition key of ${leases} is ${paths.join()}; leases need /id.`,
      );
    }
    const [, databaseRid] = monitored.self.split('/');
    return new ForeignHost({
      ...options,
      now: options.now ?? this.#now,
      source: this.#open(container),
      leases: this.#open(leases),
      prefix: prefix ?? `${processor}${this.#account}_${databaseRid}_${monitored.rid}`,
    });
  }

  /** Runs steps of the named host. Throws UsageError if the host exists with other options, or a step fails. */
  async play({ name, steps, ...as }: Script): Promise<Played> {
    let { host } = this.#named.get(name) ?? {};
    this.#check(name, as);
    let read = 0;
    for (const step of steps) {
      host ??= this.open(as);
      this.#named.set(name, { host, as: { ...this.#named.get(name)?.as, ...as } });
      try {
        if (step === 'crash') {
          this.#named.delete(name);
          host = undefined;
        } else read += await ACTS[step](host);
      } catch (cause) {
        if (cause instanceof UsageError) throw cause;
        throw emulatorError('emulator-foreign-host', `The step ${step} of ${name} failed: ${messageOf(cause)}`, {
          cause,
          hint: 'Remove the faults, or run the step again: the host does not retry.',
        });
      }
    }
    return { owner: host?.owner ?? null, read, held: host ? positions(host) : {} };
  }

  close(): void {
    this.#client.dispose();
  }

  #check(name: string, asked: Omit<Script, 'name' | 'steps'>): void {
    const known = this.#named.get(name)?.as;
    if (!known) return;
    const other = (Object.keys(asked) as (keyof typeof asked)[]).find((key) => asked[key] !== known[key]);
    if (other === undefined) return;
    throw emulatorError('emulator-foreign-host', `The host ${name} exists already, with another ${other}.`, {
      hint: 'Use another name, or run the step crash of that host first.',
    });
  }

  #open(name: string): SdkContainer {
    const [database = '', id = ''] = name.split('/');
    return this.#client.database(database).container(id);
  }
}

/** Runs each step; returns the number of documents that the handler got. */
const ACTS: Readonly<Record<Exclude<Step, 'crash'>, (host: ForeignHost) => Promise<number>>> = {
  acquire: async (host) => {
    if (await host.bootstrap()) await host.acquire();
    return 0;
  },
  work: (host) => host.work(),
  fail: (host) => host.work(() => Promise.reject(new Error('The handler throws, because the step is fail.'))),
  renew: async (host) => {
    await host.renew();
    return 0;
  },
  stop: async (host) => {
    await host.stop();
    return 0;
  },
};

const positions = (host: ForeignHost): Played['held'] =>
  Object.fromEntries([...host.held].map(([token, { position }]) => [token, position]));
