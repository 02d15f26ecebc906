// What probes are asked on: the embedded server, any endpoint with a key, or an account of one's own in Azure that is
// made for the run and deleted after it.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { CosmosClient, type CosmosClientOptions } from '@azure/cosmos';
import { AzureCliCredential } from '@azure/identity';
import { z } from 'zod';
import { messageOf } from '../../src/base/errors.ts';
import { EMULATOR_KEY, startEmulator } from '../../src/emulator/index.ts';
import { type Az, az } from './az.ts';
import { type Bench, statusOf } from './probe.ts';

export type Target = Bench & AsyncDisposable;

type Say = (line: string) => void;
const pause = (ms: number, signal: AbortSignal): Promise<void> => sleep(ms, undefined, { signal });
const DATABASE = 'millrace-probes';
const READER = '00000000-0000-0000-0000-000000000001';

interface Opened {
  readonly kind: Bench['kind'];
  readonly client: CosmosClient;
  readonly reader?: CosmosClient;
  readonly az?: Az;
  readonly signal: AbortSignal;
  close(): Promise<void>;
}

async function targetOf(opened: Opened): Promise<Target> {
  const { client, kind, signal } = opened;
  // In Azure it is there already: the role is on it.
  const id = kind === 'azure' ? DATABASE : `${DATABASE}-${randomUUID().slice(0, 8)}`;
  const { database } = await client.databases.createIfNotExists({ id });
  return {
    ...opened,
    database,
    container: async (definition = {}) => {
      signal.throwIfAborted();
      const made = { partitionKey: { paths: ['/pk'], version: 2 }, ...definition, id: randomUUID() };
      return (await database.containers.create(made)).container;
    },
    [Symbol.asyncDispose]: async () => {
      try {
        if (kind === 'emulator') await database.delete();
      } finally {
        client.dispose();
        opened.reader?.dispose();
        await opened.close();
      }
    },
  };
}

export async function openEmbedded(signal: AbortSignal): Promise<Target> {
  const options = { tls: true, seed: 1, principals: { reader: 'reader' as const } };
  const emulator = await startEmulator(options);
  const { endpoint, key, httpClient } = emulator.clientOptions;
  return targetOf({
    kind: 'embedded',
    client: new CosmosClient({ endpoint, key, httpClient }),
    reader: new CosmosClient({ endpoint, httpClient, aadCredentials: emulator.credential('reader') }),
    signal,
    close: () => emulator.close(),
  });
}

/** An account that is there, the official emulator for one. What is made in it is one database, which is deleted. */
export function openEndpoint(endpoint: string, key: string | undefined, signal: AbortSignal): Promise<Target> {
  const client = new CosmosClient(keyed(endpoint, key ?? EMULATOR_KEY));
  return targetOf({ kind: 'emulator', client, signal, close: () => Promise.resolve() });
}

const keyed = (endpoint: string, key: string): CosmosClientOptions => ({
  endpoint,
  key,
  // An emulator names itself by an address that may not be reachable from here.
  connectionPolicy: { enableEndpointDiscovery: !/^https?:\/\/(127\.|localhost|\[::1\])/.test(endpoint) },
});

const shown = z.object({ id: z.string(), user: z.object({ name: z.string(), type: z.string() }) });
const account = z.object({ id: z.string(), documentEndpoint: z.string() });
const state = z.object({ provisioningState: z.string() });
const keys = z.object({ primaryMasterKey: z.string() });
const object = z.object({ id: z.string() });

/** What is asked of `az`, in this order. `name`: of account and resource group; `id`: of the account. */
export function commandsOf(name: string, location: string, id = '/ACCOUNT-ID') {
  const where = ['--resource-group', name] as const;
  const ofAccount = ['--account-name', name, ...where] as const;
  const region = ['--locations', `regionName=${location}`, 'failoverPriority=0', 'isZoneRedundant=False'];
  const backup = ['--backup-policy-type', 'Continuous', '--continuous-tier', 'Continuous7Days'];
  const kind = ['--capabilities', 'EnableServerless', '--default-consistency-level', 'Session'];
  const reads = ['--role-definition-id', READER, '--scope', `/dbs/${DATABASE}`];
  const feed = JSON.stringify({ properties: { enableAllVersionsAndDeletesChangeFeed: true } });
  const url = `https://management.azure.com${id}?api-version=2024-12-01-preview`;
  return {
    show: ['account', 'show'],
    group: ['group', 'create', '--name', name, '--location', location, '--tags', 'purpose=millrace-probes'],
    account: ['cosmosdb', 'create', '--name', name, ...where, ...region, ...backup, ...kind],
    feed: ['rest', '--method', 'patch', '--url', url, '--body', feed],
    state: ['cosmosdb', 'show', '--name', name, ...where],
    keys: ['cosmosdb', 'keys', 'list', '--name', name, ...where],
    database: ['cosmosdb', 'sql', 'database', 'create', ...ofAccount, '--name', DATABASE],
    role: ['cosmosdb', 'sql', 'role', 'assignment', 'create', ...ofAccount, ...reads, '--principal-id'],
    remove: ['group', 'delete', '--name', name, '--yes', '--no-wait'],
  };
}

/**
 * Makes a resource group with a serverless account, which bills requests alone: a run is some thousand request units,
 * far below a cent. The group is deleted whatever happens; where even that fails, the command that does it is printed.
 */
export async function openAzure(location: string, say: Say, signal: AbortSignal): Promise<Target> {
  const run = az(signal);
  const name = `millrace-probes-${randomUUID().slice(0, 8)}`;
  const ask = commandsOf(name, location);
  const { id: subscription, user } = shown.parse(await run(...ask.show));
  const remove = async (): Promise<void> => {
    say(`Deleting the resource group ${name}.`);
    // Not by the signal: it is what Ctrl-C asks for.
    await az()(...ask.remove).catch((error: unknown) => {
      const by = `az group delete --subscription ${subscription} --name ${name} --yes`;
      throw new Error(`${messageOf(error)}\nThe resource group is still there. Delete it: ${by}`, { cause: error });
    });
  };
  say(`Making the resource group ${name} in ${location}, subscription ${subscription}, as ${user.name}.`);
  try {
    await run(...ask.group);
    say('Making a serverless account; that takes some minutes.');
    const { id, documentEndpoint: endpoint } = account.parse(await run(...ask.account));
    const made = { run, ask: commandsOf(name, location, id), signal, say };
    await switchOnAllVersions(made);
    const { primaryMasterKey: key } = keys.parse(await run(...ask.keys));
    await run(...ask.database);
    const reader = await openReader({ ...made, user, endpoint });
    const client = new CosmosClient({ endpoint, key });
    return await targetOf({ kind: 'azure', client, ...(reader && { reader }), az: run, signal, close: remove });
  } catch (error) {
    await remove();
    throw error;
  }
}

/** The all-versions feed, by an interface in preview; without it ASM-A7 and ASM-E31 are not probed. */
async function switchOnAllVersions({ run, ask, signal, say }: Omit<ReaderOptions, 'user' | 'endpoint'>): Promise<void> {
  try {
    await run(...ask.feed);
    const deadline = performance.now() + 900_000;
    while (state.parse(await run(...ask.state)).provisioningState !== 'Succeeded') {
      if (performance.now() > deadline) throw new Error('the account is not ready after a quarter of an hour');
      await pause(5_000, signal);
    }
  } catch (error) {
    signal.throwIfAborted();
    say(`The all-versions feed was not switched on: ${messageOf(error)}`);
  }
}

interface ReaderOptions {
  readonly run: Az;
  readonly ask: ReturnType<typeof commandsOf>;
  readonly user: { readonly name: string; readonly type: string };
  readonly endpoint: string;
  readonly signal: AbortSignal;
  readonly say: Say;
}

/** Gives whoever is signed in the reader's role on the database, and waits for it. Undefined where that isn't to be had. */
async function openReader({ run, ask, user, endpoint, signal, say }: ReaderOptions): Promise<CosmosClient | undefined> {
  try {
    const who =
      user.type === 'user'
        ? await run('ad', 'signed-in-user', 'show')
        : await run('ad', 'sp', 'show', '--id', user.name);
    await run(...ask.role, object.parse(who).id);
    const reader = new CosmosClient({ endpoint, aadCredentials: new AzureCliCredential() });
    const deadline = performance.now() + 600_000;
    say('Waiting until the role counts.');
    while ((await statusOf(reader.database(DATABASE).read())) !== '200') {
      if (performance.now() > deadline) throw new Error('the role does not count after ten minutes');
      await pause(5_000, signal);
    }
    return reader;
  } catch (error) {
    signal.throwIfAborted();
    say(`No role could be given, so what roles allow is not probed: ${messageOf(error)}`);
    return undefined;
  }
}
