import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseEnv } from 'node:util';
import { Cron } from 'croner';
import { z } from 'zod';
import type { AccountSettings, Accounts, SettingsSource } from './accounts.ts';
import { messageOf } from './errors.ts';
import { sharedError } from './shared-errors.ts';

/** The storage account of the archive. */
export interface StorageSettings {
  readonly account:
    | { readonly kind: 'key'; readonly connectionString: string }
    | { readonly kind: 'identity'; readonly endpoint: string }
    /** Of `millrace dev`: a folder of this machine. */
    | { readonly kind: 'folder'; readonly path: string };
  /** Name of the blob container. */
  readonly container: string;
}

/** An Event Hubs namespace. */
export interface EventHubsSettings {
  readonly account:
    | { readonly kind: 'key'; readonly connectionString: string }
    | { readonly kind: 'identity'; readonly namespace: string };
  /** Name of the blob container where ingests store their positions. */
  readonly checkpoints: string;
}

/** A place of a pipeline over shards. */
export interface ShardSettings {
  /** The shard's, or that of the settings for the global place. */
  readonly database: string;
  /** Address of its account. */
  readonly endpoint: string;
  /** The `_rid` of the database, which is in the names of leases. */
  readonly rid?: string;
}

export interface Settings extends Accounts {
  readonly database: string;
  readonly leases: { readonly account: AccountSettings; readonly database: string; readonly container: string };
  /** Where the shard maps are. Absent: not set. Only the verbs of shards need it (`requireShardMaps`). */
  readonly shardMaps?: { readonly endpoint: string; readonly database: string };
  /** The place of a pipeline over shards that the function app works on. Absent: not set (`requireShard`). */
  readonly shard?: ShardSettings;
  /** Container of Millrace's own documents that belong to no sink: locators, join state, dead letters, progress. */
  readonly stateContainer: string;
  /** Absent: not set. Only a pipeline with an archive needs it (`requireStorage`). */
  readonly storage?: StorageSettings;
  /** Absent: not set. Only a pipeline that publishes or ingests needs it (`requireEventHubs`). */
  readonly eventHubs?: EventHubsSettings;
  /** Request units a second that all processes of the database may spend on each physical partition. Absent: no limit. */
  readonly ruBudget?: number;
  /** The throughput bucket of bulk work, 1 to 5. Absent: no bucket. */
  readonly bulkBucket?: number;
  /** When hosts verify by themselves: cron expressions in UTC. Absent: never. */
  readonly verify?: { readonly sample?: string; readonly whole?: string };
  /** The lease prefix of a pipeline, renamed or without its leases, that may read everything from the beginning. */
  readonly startAnew?: string;
  /** The function app's triggers read all-versions feeds, by leases of their own. */
  readonly triggerAllVersions?: true;
  /** Address of the datastore of background jobs. Absent: not set (`requireJobsUrl`). */
  readonly jobsUrl?: string;
  /** The database of the tables. */
  readonly postgresUrl?: string;
}

/** The name of a database or a container, by the rules of Cosmos DB. */
export const resourceName = (what: string) =>
  z
    .string()
    .regex(/^[^/\\#?]{1,255}$/, `${what} has 1 to 255 characters, and none of / \\ # ?`)
    .refine((value) => value.trim() === value, `${what} must not begin or end with a space`);
/** No part of an endpoint may be a secret, because Millrace prints and stores it. */
const address = (example: string) =>
  z
    .url({ protocol: /^https?$/, error: `must be an address such as ${example}` })
    .refine(isBare, `must be an address without user, password, query or fragment, such as ${example}`);
const isBare = (text: string): boolean => {
  const url = URL.parse(text);
  return url === null || url.username + url.password + url.search + url.hash === '';
};
const endpoint = address('https://NAME.documents.azure.com:443/');

const blobContainerName = z
  .string()
  .regex(
    /^(?!.*--)[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/,
    'A blob container name has 3 to 63 characters: a-z, 0-9, and single dashes between them',
  );

/** A cron expression of five fields, or of six with seconds first, as in NCRONTAB. */
const schedule = z.string().refine((value) => {
  try {
    return value === 'off' || new Cron(value, { paused: true }).nextRun() !== null;
  } catch {
    return false;
  }
}, 'must be off, or a cron expression such as 30 3 * * * (each day at 3:30 UTC)');

/** The environment variables Millrace reads; the Functions bindings name the same ones. */
const schema = z.object({
  COSMOS: z.string().optional(),
  COSMOS__accountEndpoint: endpoint.optional(),
  COSMOS_ACCOUNTS: z.string().optional(),
  COSMOS_DATABASE: resourceName('A database name').optional(),
  COSMOS_PREFERRED_REGIONS: z.string().optional(),
  LEASES: z.string().optional(),
  LEASES__accountEndpoint: endpoint.optional(),
  LEASES_DATABASE: resourceName('A database name').optional(),
  LEASES_CONTAINER: resourceName('A container name').default('leases'),
  LEASES_START_ANEW: z.string().optional(),
  STATE_CONTAINER: resourceName('A container name').default('millrace'),
  SHARD_MAPS__accountEndpoint: endpoint.optional(),
  SHARD_MAPS_DATABASE: resourceName('A database name').optional(),
  SHARD_COSMOS: z.string().optional(),
  SHARD_COSMOS__accountEndpoint: endpoint.optional(),
  SHARD_DATABASE: resourceName('A database name').optional(),
  SHARD_RID: z
    .string()
    .regex(/^[A-Za-z0-9+/=-]{1,64}$/, 'must be the _rid of a database, such as dGVuAA==')
    .optional(),
  STORAGE: z.string().optional(),
  STORAGE__blobServiceUri: address('https://NAME.blob.core.windows.net').optional(),
  STORAGE_CONTAINER: blobContainerName.default('archive'),
  EVENTHUBS: z.string().optional(),
  EVENTHUBS__fullyQualifiedNamespace: z
    .string()
    .regex(/^[A-Za-z0-9.-]+$/, 'must be a host name such as NAME.servicebus.windows.net')
    .optional(),
  CHECKPOINTS_CONTAINER: blobContainerName.default('checkpoints'),
  JOBS_URL: z.string().optional(),
  POSTGRES_URL: z.string().optional(),
  TRIGGER_ALL_VERSIONS: z.literal('on', 'must be on').optional(),
  RU_BUDGET: z.coerce
    .number('must be a number of request units a second')
    .min(10, 'must be at least 10')
    .max(10_000, 'must be at most 10,000, the most that a physical partition has')
    .optional(),
  VERIFY_SAMPLE: schedule.default('30 3 * * *'),
  VERIFY_FULL: schedule.default('0 4 * * 0'),
  BULK_THROUGHPUT_BUCKET: z.coerce
    .number('must be the id of a throughput bucket')
    .int('must be the id of a throughput bucket, 1 to 5')
    .min(1, 'must be the id of a throughput bucket, 1 to 5')
    .max(5, 'must be the id of a throughput bucket, 1 to 5')
    .optional(),
});
type Variables = z.infer<typeof schema>;
/** For infra/, which sets them, and for the test that compares infra/ with this schema. */
export const SETTING_NAMES: readonly string[] = Object.keys(schema.shape);

/** The hint for each setting: what to set it to, and where to find the value. */
const HINTS: Readonly<Record<keyof Variables, string>> = {
  COSMOS:
    'Set COSMOS to a connection string (Azure portal: account → Keys → PRIMARY CONNECTION STRING), or COSMOS__accountEndpoint to the address to sign in with your identity. While `millrace dev` runs, run the `export` lines that it prints.',
  COSMOS__accountEndpoint: 'Set COSMOS__accountEndpoint to the account’s URI (Azure portal: account → Overview → URI).',
  COSMOS_ACCOUNTS:
    'Set COSMOS_ACCOUNTS to the connection strings of the other accounts, separated by spaces, or leave it out to sign in to them with your identity.',
  COSMOS_DATABASE: 'Set COSMOS_DATABASE to the name of the database (Azure portal: account → Data Explorer).',
  COSMOS_PREFERRED_REGIONS:
    'Set COSMOS_PREFERRED_REGIONS to region names, separated by commas, such as "West Europe,North Europe".',
  LEASES: 'Set LEASES to a connection string like COSMOS, or leave it out to keep leases in the same account.',
  LEASES__accountEndpoint:
    'Set LEASES__accountEndpoint to the account’s URI, or leave it out to keep leases in the same account.',
  LEASES_DATABASE:
    'Set LEASES_DATABASE to the database of the lease container, or leave it out to use COSMOS_DATABASE.',
  LEASES_CONTAINER: 'Set LEASES_CONTAINER to the name of the lease container, or leave it out to use `leases`.',
  LEASES_START_ANEW:
    'Set LEASES_START_ANEW to the pipeline’s name and a dot if a pipeline that was renamed, or lost its leases, must read everything from the beginning.',
  STATE_CONTAINER:
    'Set STATE_CONTAINER to the name of the container for Millrace’s own documents, or leave it out to use `millrace`.',
  SHARD_MAPS__accountEndpoint:
    'Set SHARD_MAPS__accountEndpoint to the account’s URI, or leave it out if the shard maps are in the account of COSMOS.',
  SHARD_MAPS_DATABASE:
    'Set SHARD_MAPS_DATABASE to the name of the database that has the shard maps. It isn’t a shard; `millrace shards init` creates it.',
  SHARD_COSMOS:
    'Set SHARD_COSMOS to a connection string of the shard’s account like COSMOS, or leave it out if the shard of the function app is in the account of COSMOS.',
  SHARD_COSMOS__accountEndpoint:
    'Set SHARD_COSMOS__accountEndpoint to the URI of the shard’s account, or leave it out if the shard of the function app is in the account of COSMOS.',
  SHARD_DATABASE:
    'Set SHARD_DATABASE to the place that this function app works on: the database of one shard, or the value of COSMOS_DATABASE for the global place. Each place needs an app of its own.',
  SHARD_RID:
    'Set SHARD_RID to the `_rid` of the shard’s database if the shards read containers of the global place; `…/health/ready` of the function app names it.',
  STORAGE:
    'Set STORAGE to a connection string (Azure portal: storage account → Access keys → Connection string), or STORAGE__blobServiceUri to the address to sign in with your identity. `millrace dev` needs neither.',
  STORAGE__blobServiceUri:
    'Set STORAGE__blobServiceUri to the blob service’s address (Azure portal: storage account → Endpoints → Blob service).',
  STORAGE_CONTAINER: 'Set STORAGE_CONTAINER to the name of the blob container, or leave it out to use `archive`.',
  RU_BUDGET:
    'Set RU_BUDGET to the request units a second that all processes of this database together may spend on each physical partition, or leave it out for no limit.',
  BULK_THROUGHPUT_BUCKET:
    'Set BULK_THROUGHPUT_BUCKET to the id of the throughput bucket that limits bulk work (Azure portal: container → Scale & Settings → Throughput buckets), or leave it out for none.',
  VERIFY_SAMPLE:
    'Set VERIFY_SAMPLE to off, or to a cron expression in UTC such as 30 3 * * *, or leave it out to verify a sample each day.',
  VERIFY_FULL:
    'Set VERIFY_FULL to off, or to a cron expression in UTC such as 0 4 * * 0, or leave it out to verify all documents each Sunday.',
  JOBS_URL:
    'Set JOBS_URL to redis://HOST:6379, rediss://:PASSWORD@HOST:6380, or postgres://USER:PASSWORD@HOST:5432/DATABASE. In Azure, a user without a password signs in by identity.',
  POSTGRES_URL:
    'Set POSTGRES_URL to postgres://USER:PASSWORD@HOST:5432/DATABASE, the database of the tables. In Azure, a user without a password signs in by identity. `millrace dev` needs none.',
  TRIGGER_ALL_VERSIONS:
    'Set TRIGGER_ALL_VERSIONS to on if the triggers of the function app read all-versions feeds, or leave it out to refuse them.',
  EVENTHUBS:
    'Set EVENTHUBS to a connection string of the namespace (Azure portal: Event Hubs namespace → Shared access policies), or EVENTHUBS__fullyQualifiedNamespace to its host name to sign in with your identity. `millrace dev` needs neither.',
  EVENTHUBS__fullyQualifiedNamespace:
    'Set EVENTHUBS__fullyQualifiedNamespace to the namespace’s host name (Azure portal: Event Hubs namespace → Overview → Host name).',
  CHECKPOINTS_CONTAINER:
    'Set CHECKPOINTS_CONTAINER to the name of the blob container for the checkpoints of ingests, or leave it out to use `checkpoints`.',
};

/** Of each setting: what to set it to, and its JSON schema, for docs/reference/settings.md. */
export function describeSettings(): { name: string; hint: string; schema: object }[] {
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return Object.entries(HINTS).map(([name, hint]) => ({ name, hint, schema: Object(properties[name]) as object }));
}

/**
 * Reads and checks the settings. Call it when the settings are first needed, never at import.
 * @throws UsageError `setting-missing`, `setting-invalid`, `unreadable`
 */
export function loadSettings(source: SettingsSource = {}): Settings {
  const variables = readVariables(source);
  const accounts = accountsOf(variables);
  const { cosmos } = accounts;
  const database = variables.COSMOS_DATABASE ?? missing('COSMOS_DATABASE');
  const storage = storageAccount(variables);
  const eventHubs = eventHubsNamespace(variables);
  return {
    ...accounts,
    database,
    leases: {
      account: account(variables, 'LEASES') ?? cosmos,
      database: variables.LEASES_DATABASE ?? database,
      container: variables.LEASES_CONTAINER,
    },
    ...(variables.SHARD_MAPS_DATABASE !== undefined && {
      shardMaps: {
        endpoint: variables.SHARD_MAPS__accountEndpoint ?? cosmos.endpoint,
        database: variables.SHARD_MAPS_DATABASE,
      },
    }),
    ...(variables.SHARD_DATABASE !== undefined && {
      shard: {
        database: variables.SHARD_DATABASE,
        endpoint: (account(variables, 'SHARD_COSMOS') ?? cosmos).endpoint,
        ...(variables.SHARD_RID !== undefined && { rid: variables.SHARD_RID }),
      },
    }),
    stateContainer: variables.STATE_CONTAINER,
    ...(storage ? { storage: { account: storage, container: variables.STORAGE_CONTAINER } } : {}),
    ...(eventHubs ? { eventHubs: { account: eventHubs, checkpoints: variables.CHECKPOINTS_CONTAINER } } : {}),
    ...(variables.RU_BUDGET === undefined ? {} : { ruBudget: variables.RU_BUDGET }),
    ...(variables.BULK_THROUGHPUT_BUCKET === undefined ? {} : { bulkBucket: variables.BULK_THROUGHPUT_BUCKET }),
    verify: {
      ...(variables.VERIFY_SAMPLE === 'off' ? {} : { sample: variables.VERIFY_SAMPLE }),
      ...(variables.VERIFY_FULL === 'off' ? {} : { whole: variables.VERIFY_FULL }),
    },
    ...(variables.LEASES_START_ANEW === undefined ? {} : { startAnew: variables.LEASES_START_ANEW }),
    ...(variables.JOBS_URL === undefined ? {} : { jobsUrl: variables.JOBS_URL }),
    ...(variables.POSTGRES_URL === undefined ? {} : { postgresUrl: variables.POSTGRES_URL }),
    ...(variables.TRIGGER_ALL_VERSIONS === undefined ? {} : { triggerAllVersions: true }),
  };
}

/**
 * The settings of the accounts alone.
 * @throws UsageError `setting-missing`, `setting-invalid`, `unreadable`
 */
export const loadAccounts = (source: SettingsSource = {}): Accounts => accountsOf(readVariables(source));

function accountsOf(variables: Variables): Accounts {
  const cosmos = account(variables, 'COSMOS') ?? missing('COSMOS');
  const others = (variables.COSMOS_ACCOUNTS ?? '').split(/\s+/).filter(Boolean);
  const shard = account(variables, 'SHARD_COSMOS');
  const accounts = [
    ...(shard?.kind === 'key' ? [shard] : []),
    ...others.map((text) => parseConnectionString(text, 'COSMOS_ACCOUNTS')),
  ];
  return {
    cosmos,
    ...(accounts.length > 0 && { accounts }),
    preferredRegions: (variables.COSMOS_PREFERRED_REGIONS ?? '')
      .split(',')
      .map((region) => region.trim())
      .filter(Boolean),
  };
}

/** @throws UsageError `setting-missing` */
export const requireStorage = ({ storage }: Pick<Settings, 'storage'>): StorageSettings =>
  storage ?? missing('STORAGE');

/** @throws UsageError `setting-missing` */
export const requireShardMaps = ({ shardMaps }: Pick<Settings, 'shardMaps'>): NonNullable<Settings['shardMaps']> =>
  shardMaps ?? missing('SHARD_MAPS_DATABASE');

/** @throws UsageError `setting-missing` */
export const requireShard = ({ shard }: Pick<Settings, 'shard'>): ShardSettings => shard ?? missing('SHARD_DATABASE');

/** @throws UsageError `setting-missing` */
export const requireEventHubs = ({ eventHubs }: Pick<Settings, 'eventHubs'>): EventHubsSettings =>
  eventHubs ?? missing('EVENTHUBS');

/** @throws UsageError `setting-missing` */
export const requirePostgresUrl = ({ postgresUrl }: Pick<Settings, 'postgresUrl'>): string =>
  postgresUrl ?? missing('POSTGRES_URL');

/** @throws UsageError `setting-missing`; in Azure `setting-missing` */
export function requireJobsUrl({ jobsUrl }: Settings, processEnv: NodeJS.Dict<string> = process.env): string {
  if (jobsUrl !== undefined) return jobsUrl;
  if (!processEnv['WEBSITE_INSTANCE_ID'] && !processEnv['FUNCTIONS_WORKER_RUNTIME']) return missing('JOBS_URL');
  const why =
    'Background jobs need a datastore in Azure: a queue inside this process would lose its jobs when the process ends';
  throw sharedError('setting-missing', why, { hint: HINTS.JOBS_URL });
}

function readVariables({ env, processEnv = process.env, directory = '.' }: SettingsSource): Variables {
  if (env !== undefined && !ENV_NAME.test(env)) {
    throw sharedError('setting-invalid', `--env ${JSON.stringify(env)} is not a valid name`, {
      hint: 'Use letters, digits, - and _: `--env production` reads `millrace.production.env`.',
    });
  }
  const fromFile = env === undefined ? {} : readEnvFile(resolve(directory, `millrace.${env}.env`), env);
  const merged: Record<string, string | undefined> = { ...fromFile };
  // An empty variable counts as not set, as it does in shells and CI systems.
  for (const [key, value] of Object.entries(processEnv)) if (value) merged[key] = value;
  for (const [key, value] of Object.entries(merged)) if (!value) delete merged[key];
  const parsed = schema.safeParse(merged);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const setting = String(issue?.path[0]) as keyof Variables;
  throw invalid(setting, issue?.message ?? 'is wrong');
}

/** The name becomes a part of a file name. */
const ENV_NAME = /^[A-Za-z0-9_-]{1,64}$/;

function readEnvFile(file: string, env: string): NodeJS.Dict<string> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw sharedError('unreadable', `The settings file of --env ${env} can't be read: ${messageOf(error)}`, {
      cause: error,
      hint: `Write millrace.${env}.env with lines such as COSMOS_DATABASE=shop.`,
    });
  }
  return parseEnv(text);
}

/** `COSMOS` wins over `COSMOS__accountEndpoint`, as in the Functions host. */
function account(variables: Variables, prefix: 'COSMOS' | 'LEASES' | 'SHARD_COSMOS'): AccountSettings | undefined {
  const text = variables[prefix];
  if (text !== undefined) return parseConnectionString(text, prefix);
  const at = variables[`${prefix}__accountEndpoint`];
  return at === undefined ? undefined : { kind: 'identity', endpoint: at };
}

/** No message may contain the value, because it holds a key. */
function storageAccount({ STORAGE, STORAGE__blobServiceUri: at }: Variables): StorageSettings['account'] | undefined {
  if (STORAGE === undefined) return at === undefined ? undefined : { kind: 'identity', endpoint: at };
  const known = /(^|;)\s*(UseDevelopmentStorage=true|AccountKey=.|SharedAccessSignature=.)/i;
  if (known.test(STORAGE)) return { kind: 'key', connectionString: STORAGE };
  if (URL.parse(STORAGE)?.protocol === 'file:') return { kind: 'folder', path: fileURLToPath(STORAGE) };
  const form = 'DefaultEndpointsProtocol=https;AccountName=…;AccountKey=…;EndpointSuffix=core.windows.net';
  throw invalid('STORAGE', `must be a connection string of the form ${form}`);
}

/** No message may contain the value, because it holds a key. */
function eventHubsNamespace(variables: Variables): EventHubsSettings['account'] | undefined {
  const { EVENTHUBS: connectionString, EVENTHUBS__fullyQualifiedNamespace: namespace } = variables;
  if (connectionString === undefined) return namespace === undefined ? undefined : { kind: 'identity', namespace };
  if (/(^|;)\s*EntityPath=/i.test(connectionString))
    throw invalid(
      'EVENTHUBS',
      'must be the connection string of the namespace, without EntityPath: the pipeline names the event hubs',
    );
  const isKnown =
    /(^|;)\s*Endpoint=sb:\/\/./i.test(connectionString) && /SharedAccess(Key|Signature)=./i.test(connectionString);
  if (isKnown) return { kind: 'key', connectionString };
  const form = 'Endpoint=sb://NAME.servicebus.windows.net/;SharedAccessKeyName=…;SharedAccessKey=…';
  throw invalid('EVENTHUBS', `must be a connection string of the form ${form}`);
}

/** No message may contain the value, because it holds a key. */
function parseConnectionString(
  text: string,
  setting: 'COSMOS' | 'COSMOS_ACCOUNTS' | 'LEASES' | 'SHARD_COSMOS',
): AccountSettings {
  const parts = new Map<string, string>();
  for (const part of text.split(';')) {
    const at = part.indexOf('=');
    if (at > 0) parts.set(part.slice(0, at).trim().toLowerCase(), part.slice(at + 1).trim());
  }
  const at = parts.get('accountendpoint');
  const key = parts.get('accountkey');
  if (!at || !key)
    throw invalid(setting, 'must be a connection string of the form AccountEndpoint=https://…;AccountKey=…;');
  const [wrong] = endpoint.safeParse(at).error?.issues ?? [];
  if (wrong) throw invalid(setting, `its AccountEndpoint ${wrong.message}`);
  return { kind: 'key', endpoint: at, key };
}

const invalid = (setting: keyof Variables, why: string) =>
  sharedError('setting-invalid', `The setting ${setting}: ${why}`, { hint: HINTS[setting] });

function missing(setting: keyof Variables): never {
  throw sharedError('setting-missing', `The setting ${setting} is missing`, { hint: HINTS[setting] });
}
