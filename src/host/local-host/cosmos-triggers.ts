import { isMissing } from '../../base/key-level.ts';
import { hostname } from 'node:os';
import type { Container, CosmosClient } from '@azure/cosmos';
import { UsageError, messageOf } from '../../base/errors.ts';
import { suggestion } from '../../base/near.ts';
import type { AccountSettings } from '../../base/accounts.ts';
import { loadSettings } from '../../base/settings.ts';
import type { KeyPath } from '../../cosmos/paths.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { ridOf } from '../../cosmos/rid.ts';
import { CosmosLeaseStore, leasePrefix } from '../../feed/leases/cosmos-lease-store.ts';
import { FeedHost } from '../../feed/sharing/feed-host.ts';
import { openSource } from '../../feed/reading/open-source.ts';
import type { Change } from '../../feed/reading/change.ts';
import type { FeedMode, Start } from '../../feed/reading/source.ts';
import { plural } from '../../procedures/table.ts';
import { openAccount } from '../../runtime/services.ts';
import type { FunctionMetadata, TriggerRetryOptions } from './core.ts';
import { resolveNames } from './names.ts';
import { refuseShared } from './refuse-shared.ts';
import { type RetryingOptions, retrying } from './retrying.ts';
import { hostError } from '../errors.ts';

/** A Cosmos DB trigger, with the values of its settings. */
export interface CosmosTrigger {
  readonly name: string;
  /** The names of its settings, for messages: those of the pipeline may be of another account. */
  readonly connection: string;
  readonly leaseConnection: string;
  readonly account: AccountSettings;
  readonly database: string;
  readonly container: string;
  readonly leaseAccount: AccountSettings;
  readonly leaseDatabase: string;
  readonly leaseContainer: string;
  readonly prefix: string;
  readonly mode: FeedMode;
  readonly createLeases: boolean;
  readonly maxItems: number;
  readonly start: Start;
  readonly pollMs: number;
  readonly retry: TriggerRetryOptions | undefined;
}

/** The values of `changeFeedMode`. */
const MODES = new Map<unknown, FeedMode>([
  ['LatestVersion', 'latest-version'],
  ['AllVersionsAndDeletes', 'all-versions'],
]);

export const cosmosTrigger = ({ bindings }: FunctionMetadata) =>
  Object.values(bindings).find(({ type }) => String(type).toLowerCase() === 'cosmosdbtrigger');

/**
 * The Cosmos DB triggers of an app, ready to run.
 * @throws UsageError `setting-missing`, `setting-invalid`, `app-invalid`
 */
export function cosmosTriggers(
  functions: readonly FunctionMetadata[],
  environment: NodeJS.ProcessEnv,
): CosmosTrigger[] {
  const triggers = functions.flatMap((of) => {
    const binding = cosmosTrigger(of);
    return binding ? [read(of, binding, environment)] : [];
  });
  refuseShared(
    triggers,
    ({ account, database, container, leaseAccount, leaseDatabase, leaseContainer, prefix }) => {
      const leases = [leaseAccount.endpoint, leaseDatabase, leaseContainer, prefix];
      return JSON.stringify([account.endpoint, database, container, ...leases]);
    },
    (one, { name, container, leaseContainer, prefix }) =>
      hostError(
        'app-invalid',
        `${one.name} and ${name} read ${container} with the same leases (${leaseContainer}, prefix ${JSON.stringify(prefix)}): each would get only a part of the changes`,
        { hint: 'Give each function its own `leaseContainerPrefix`.' },
      ),
  );
  return triggers;
}

function read(
  { name, retryOptions }: FunctionMetadata,
  binding: Readonly<Record<string, unknown>>,
  environment: NodeJS.ProcessEnv,
): CosmosTrigger {
  const old = ['collectionName', 'connectionStringSetting', 'leaseCollectionName'].find((field) => field in binding);
  if (old !== undefined) {
    throw hostError('app-invalid', `Function ${name} uses ${old}, which version 4 of the extension does not know`, {
      hint: 'Use `connection`, `containerName` and `leaseContainerName`.',
    });
  }
  const named = binding['changeFeedMode'] ?? 'LatestVersion';
  const mode = MODES.get(named);
  if (mode === undefined)
    throw hostError('app-invalid', `Function ${name} has the unknown changeFeedMode ${JSON.stringify(named)}`, {
      hint: 'Run the app with Core Tools (`func start`).',
    });
  const text = (field: string, fallback = ''): string => {
    const value = binding[field];
    return typeof value === 'string' ? resolveNames(value, environment, name) : fallback;
  };
  const number = (field: string, fallback: number): number => {
    const value = binding[field];
    return typeof value === 'number' ? value : fallback;
  };
  const connection = text('connection');
  const account = accountOf(connection, environment);
  const database = text('databaseName');
  const since = text('startFromTime');
  if (mode === 'all-versions' && (binding['startFromBeginning'] === true || since !== ''))
    throw hostError(
      'app-invalid',
      `Function ${name} reads the all-versions feed, which begins when it is first read, and names a start`,
      { hint: 'Run the app with Core Tools (`func start`).' },
    );
  const refuse = (why: string): never => {
    throw hostError('app-invalid', `Function ${name} ${why}`, {
      hint: 'Correct its start; the extension refuses it too.',
    });
  };
  if (since !== '' && binding['startFromBeginning'] === true) refuse('names both startFromBeginning and startFromTime');
  if (since !== '' && Number.isNaN(Date.parse(since)))
    refuse(`has the startFromTime ${JSON.stringify(since)}, which is no time`);
  const leaseConnection = text('leaseConnection', connection);
  return {
    name,
    connection,
    leaseConnection,
    account,
    database,
    container: text('containerName'),
    leaseAccount: accountOf(leaseConnection, environment),
    leaseDatabase: text('leaseDatabaseName', database),
    leaseContainer: text('leaseContainerName', 'leases'),
    prefix: text('leaseContainerPrefix'),
    mode,
    createLeases: binding['createLeaseContainerIfNotExists'] === true,
    maxItems: number('maxItemsPerInvocation', 100),
    start: binding['startFromBeginning'] === true ? 'beginning' : since === '' ? 'now' : new Date(since),
    pollMs: number('feedPollDelay', 5_000),
    retry: retryOptions,
  };
}

/** Reads the settings of a connection. Their names begin with its name, and the rules of the setting COSMOS apply. */
function accountOf(connection: string, environment: NodeJS.ProcessEnv): AccountSettings {
  const processEnv = {
    COSMOS: environment[connection],
    COSMOS__accountEndpoint: environment[`${connection}__accountEndpoint`],
    COSMOS_DATABASE: 'none',
  };
  try {
    return loadSettings({ processEnv }).cosmos;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const named = (words: string): string => words.replaceAll(/\bCOSMOS\b/g, connection);
    throw UsageError.from({ code: error.code, message: named(error.message), hint: named(error.hint ?? '') });
  }
}

export interface CosmosTriggersOptions extends RetryingOptions {
  /** Delivers a batch; rejects when the function rejects. */
  readonly deliver: (name: string, documents: readonly unknown[], retryCount: number) => Promise<void>;
}

/** A running trigger. */
export interface RunningTrigger extends AsyncDisposable {
  readonly name: string;
}

/**
 * Reads a container's feed for a trigger with Millrace's processor. The leases have the form and the names of the
 * Functions host's leases, so that either host can resume where the other stopped.
 * @throws UsageError `app-invalid`, `unreachable`, `denied`
 */
export async function runCosmosTrigger(
  trigger: CosmosTrigger,
  options: CosmosTriggersOptions,
): Promise<RunningTrigger> {
  const { account, leaseAccount, connection, leaseConnection } = trigger;
  const client = await openAccount(account, {}, { setting: connection });
  const leaseClient =
    leaseAccount.endpoint === account.endpoint
      ? client
      : await openAccount(leaseAccount, {}, { setting: leaseConnection });
  try {
    return await runOn(client, leaseClient, trigger, options);
  } catch (error) {
    throw await explained(trigger, client, leaseClient, error);
  }
}

/** What is missing or wrong of a trigger's containers, by what its binding names. */
async function explained(
  { name, connection, leaseConnection, database, leaseDatabase }: CosmosTrigger,
  client: CosmosClient,
  leaseClient: CosmosClient,
  error: unknown,
): Promise<unknown> {
  // Only the creation of the lease container asks without an answer of Millrace's own.
  const code = error instanceof UsageError ? error.code : 'lease-container-missing';
  if (!(error instanceof UsageError) && failureOf(error).kind !== 'not-found') return error;
  if (!/^(lease-)?container-(missing|key|denied|unfit)$/.test(code)) return error;
  const ofLeases = code.startsWith('lease-');
  const [account, wanted, at, field] = ofLeases
    ? [leaseClient, leaseDatabase, leaseConnection, 'lease']
    : [client, database, connection, ''];
  const fieldOf = (what: string): string => `\`${field === '' ? what.toLowerCase() : `${field}${what}`}Name\``;
  const refused = (why: string, hint: string): UsageError =>
    hostError('app-invalid', `Function ${name}: ${why}`, { hint, cause: error });
  const known = await account.databases
    .readAll()
    .fetchAll()
    .then(
      ({ resources }) => resources.map(({ id }) => id),
      () => [wanted],
    );
  if (!known.includes(wanted))
    return refused(
      `the account of ${at} has no database ${wanted}${suggestion(wanted, known)}`,
      `Correct ${fieldOf('Database')} of the function, or the setting that it names.`,
    );
  const create = ofLeases
    ? ', create the container with the key /id, or set `createLeaseContainerIfNotExists`'
    : ', or create the container';
  return refused(
    `${messageOf(error).replace(/\.$/, '')} (account of ${at})`,
    code.endsWith('denied')
      ? `Give the identity of ${at} the role "Cosmos DB Built-in Data Contributor" on it.`
      : `Correct ${fieldOf('Container')} of the function${create}.`,
  );
}

async function runOn(
  client: CosmosClient,
  leaseClient: CosmosClient,
  trigger: CosmosTrigger,
  options: CosmosTriggersOptions,
): Promise<RunningTrigger> {
  const { account, database, container: name, mode } = trigger;
  const monitored = client.database(database).container(name);
  const { rid, source, keyPaths } = await openSource(monitored, { mode, pageSize: trigger.maxItems });
  const leases = leaseClient.database(trigger.leaseDatabase).container(trigger.leaseContainer);
  if (trigger.createLeases) await createLeases(leases);
  const host = new FeedHost({
    container: name,
    host: `local-${hostname()}`,
    source,
    leases: new CosmosLeaseStore({
      monitored,
      leases,
      host: `local-${hostname()}`,
      prefix: leasePrefix(trigger.prefix, account.endpoint, await ridOf(monitored.database), rid),
      mode,
    }),
    mode,
    start: trigger.start,
    timings: { pollMs: trigger.pollMs },
    handle: async ({ changes }) => {
      const documents = changes.map((change) => (mode === 'all-versions' ? entryOf(change, keyPaths) : change.doc));
      const what = plural(documents.length, 'document');
      await retrying({ name: trigger.name, retry: trigger.retry, what }, options, (retryCount) =>
        options.deliver(trigger.name, documents, retryCount),
      );
    },
  });
  await host.start();
  return {
    name: trigger.name,
    [Symbol.asyncDispose]: async () => {
      await host.stop();
      client.dispose();
      if (leaseClient !== client) leaseClient.dispose();
    },
  };
}

/** An entry of the all-versions feed, as the Functions host delivers it (ASM-F18). */
function entryOf({ doc, operation, version, at, id, key }: Change, keyPaths: readonly KeyPath[]): object {
  const deleted = operation === 'delete' || operation === 'expired';
  const metadata = { operationType: deleted ? 'delete' : operation, lsn: version.lsn, crts: Math.floor(at / 1_000) };
  if (!deleted) return { current: doc, metadata };
  const levels = keyPaths.map((path, level) => [path.at(-1), key[level]]).filter(([, level]) => !isMissing(level));
  const partitionKey = Object.fromEntries(levels);
  return { current: null, metadata: { ...metadata, timeToLiveExpired: operation === 'expired', id, partitionKey } };
}

async function createLeases(leases: Container): Promise<void> {
  const definition = { id: leases.id, partitionKey: { paths: ['/id'] }, defaultTtl: -1 };
  await withRetry(() => leases.database.containers.createIfNotExists(definition), { reads: true });
}
