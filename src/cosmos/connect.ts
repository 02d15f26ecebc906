import { createHmac, createSecretKey } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import {
  Constants,
  CosmosClient,
  type CosmosClientOptions,
  type PluginConfig,
  PriorityLevel,
  ResourceType,
} from '@azure/cosmos';
import { sharedError } from '../base/shared-errors.ts';
import { UsageError, messageOf } from '../base/errors.ts';
import { once } from '../base/once.ts';
import type { AccountSettings } from '../base/accounts.ts';
import { cosmosError } from './errors.ts';
import { failureOf } from './failure.ts';
import { REQUEST_TIMEOUT_MS } from './request-timeout.ts';
import { requestSpans } from './request-spans.ts';
import { sessionPlugin } from './sessions.ts';

/**
 * Marks each request of a client as bulk work, for the account to throttle it first: with priority level Low, which an
 * account without priority-based execution ignores (ASM-A14), and with a throughput bucket, if one is given (ASM-A16).
 * Requests of other clients carry no mark; the account's default is High unless its owner changed it.
 */
export const bulkMarks = (bucket?: number): Pick<CosmosClientOptions, 'defaultHeaders' | 'throughputBucket'> => ({
  defaultHeaders: { [Constants.HttpHeaders.PriorityLevel]: PriorityLevel.Low },
  ...(bucket !== undefined && { throughputBucket: bucket }),
});

/**
 * A client with session consistency, so that a read after our own write is not older than the write. The SDK's own
 * retries of throttled requests are off: they know no fence and count no requests (see retry.ts).
 * `more`: the transport to a server in this process, `bulkMarks`, or another identity than the environment's.
 */
export function connect(
  account: AccountSettings,
  preferredRegions: readonly string[] = [],
  more: Pick<CosmosClientOptions, 'httpClient' | 'defaultHeaders' | 'throughputBucket' | 'aadCredentials'> = {},
): CosmosClient {
  // The SDK's type hides `plugins`, whose own type it exports.
  const options: CosmosClientOptions & { readonly plugins: PluginConfig[] } = {
    ...more,
    plugins: [requestSpans, sessionPlugin(() => client)],
    endpoint: account.endpoint,
    consistencyLevel: 'Session',
    connectionPolicy: {
      requestTimeout: REQUEST_TIMEOUT_MS,
      preferredLocations: [...preferredRegions],
      enableEndpointDiscovery: !isLoopback(account.endpoint),
      retryOptions: { maxRetryAttemptCount: 0, fixedRetryIntervalInMilliseconds: 0, maxWaitTimeInSeconds: 0 },
    },
  };
  const client =
    account.kind === 'key'
      ? new CosmosClient({ ...options, tokenProvider: signer(account.key) })
      : new CosmosClient({ ...options, aadCredentials: more.aadCredentials ?? environment });
  return client;
}

type TokenProvider = NonNullable<CosmosClientOptions['tokenProvider']>;
/** The SDK's type doesn't say that the account itself has no id. */
type Signed = Omit<Parameters<TokenProvider>[0], 'resourceId'> & { readonly resourceId?: string };

/** Signs requests as the SDK does with the key, but makes the key's object once: that costs more than a signature. */
function signer(key: string): TokenProvider {
  const secret = createSecretKey(key, 'base64');
  return async ({ verb, resourceType, resourceId = '', headers }: Signed) => {
    const link = resourceType === ResourceType.offer ? resourceId.toLowerCase() : resourceId;
    const date = String(headers[Constants.HttpHeaders.XDate]).toLowerCase();
    const text = `${verb.toLowerCase()}\n${resourceType.toLowerCase()}\n${link}\n${date}\n\n`;
    return `type=master&ver=1.0&sig=${createHmac('sha256', secret).update(text).digest('base64')}`;
  };
}

/** The identity of the environment. The library is loaded for the first token, and all clients share its tokens. */
const ofEnvironment = once(async () => new (await import('@azure/identity')).DefaultAzureCredential());
const environment: NonNullable<CosmosClientOptions['aadCredentials']> = {
  getToken: async (...given) => (await ofEnvironment()).getToken(...given),
};

const isLoopback = (endpoint: string): boolean => /^https?:\/\/(127\.|localhost|\[::1\])/.test(endpoint);

/**
 * Sends one request to the account, so that a wrong address or key gives one clear message before anything starts.
 * Refuses an account with multi-region writes, which break order, ETags and leases (ASM-A6).
 */
export async function checkAccount(client: CosmosClient, endpoint: string, setting = 'COSMOS'): Promise<void> {
  try {
    // The SDK would retry an unknown host name for two minutes.
    await lookup(new URL(endpoint).hostname.replace(/^\[|\]$/g, ''));
    const { resource } = await client.getDatabaseAccount();
    if (resource?.enableMultipleWritableLocations) {
      throw cosmosError(
        'multi-region-writes',
        `The account at ${endpoint} has multi-region writes. Order, ETags and leases are not reliable there.`,
      );
    }
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const failure = failureOf(error);
    if (failure.kind === 'denied') {
      throw sharedError(
        'denied',
        `The Cosmos DB account at ${endpoint} refused access: ${failure.message.split('\n')[0]}`,
        {
          cause: error,
          hint: `Check the key in ${setting}, or give the identity the role "Cosmos DB Built-in Data Contributor".`,
        },
      );
    }
    throw sharedError('unreachable', `The Cosmos DB account at ${endpoint} can't be reached: ${messageOf(error)}`, {
      cause: error,
      hint: `Check the endpoint in ${setting} and the network. While \`millrace dev\` runs, run the \`export\` lines that it prints: each start has others.`,
    });
  }
}
