import { CosmosClient } from '@azure/cosmos';
import type { Container as SdkContainer, CosmosClientOptions } from '@azure/cosmos';
import { messageOf, UsageError } from '../../base/errors.ts';
import type { Container } from '../cosmos/storage/container.ts';
import { ForeignHost } from './host.ts';
import type { ForeignHostOptions } from './host.ts';
import type { Played, Script, Step } from './script.ts';

/** A foreign host on this server. Containers are named `database/container`. */
export interface ForeignHostRequest extends Omit<ForeignHostOptions, 'source' | 'leases' | 'prefix'> {
  /** Whose feed it reads. */
  readonly container: string;
  /** Where its leases are; that container's key is `/id`. */
  readonly leases: string;
  /** What its lease ids begin with; absent: as .NET and Functions form it, the processor's name in front. */
  readonly prefix?: string | undefined;
  /** Absent: none, as for the Functions trigger without `LeaseContainerPrefix`. */
  readonly processor?: string | undefined;
}

/** Finds a container; throws UsageError where there is none. */
export type Find = (name: string) => Container;

/**
 * The foreign hosts on one server, each a client of it like any other: faults strike them too.
 * @internal
 */
export class ForeignHosts {
  readonly #client: CosmosClient;
  readonly #account: string;
  readonly #find: Find;
  readonly #now: () => number;
  readonly #named = new Map<string, { readonly host: ForeignHost; readonly as: Omit<Script, 'name' | 'steps'> }>();

  /** @param now of the server, by which leases expire */
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

  /** Throws UsageError where a container is missing, or leases can't be kept in it. */
  open({ container, leases, prefix, processor = '', ...options }: ForeignHostRequest): ForeignHost {
    const monitored = this.#find(container);
    const { paths } = this.#find(leases).keys.definition;
    if (paths.join() !== '/id') {
      throw new UsageError(
        'emulator-lease-container',
        `The key of ${leases} is ${paths.join()}, and leases need /id.`,
        {
          mend: 'Name a container whose partition key path is /id.',
        },
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

  /** Lets the host of a name do its steps. Throws UsageError where it is another already, or a step was refused. */
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
        throw new UsageError('emulator-foreign-host', `The step ${step} of ${name} was refused: ${messageOf(cause)}`, {
          cause,
          mend: 'It does nothing again of itself: take the faults away, or give it the step once more.',
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
    throw new UsageError('emulator-foreign-host', `The host ${name} is there already, with another ${other}.`, {
      mend: 'Give this one another name, or let that one crash first.',
    });
  }

  #open(name: string): SdkContainer {
    const [database = '', id = ''] = name.split('/');
    return this.#client.database(database).container(id);
  }
}

/** What a step is, and how many documents the handler got in it. */
const ACTS: Readonly<Record<Exclude<Step, 'crash'>, (host: ForeignHost) => Promise<number>>> = {
  acquire: async (host) => {
    if (await host.bootstrap()) await host.acquire();
    return 0;
  },
  work: (host) => host.work(),
  fail: (host) => host.work(() => Promise.reject(new Error('The handler throws, as it was told to.'))),
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
