import { lookup } from 'node:dns/promises';
import { CosmosClient, type CosmosClientOptions } from '@azure/cosmos';
import { UsageError, messageOf } from '../base/errors.ts';
import type { AccountSettings } from '../base/settings.ts';
import { failureOf } from './failure.ts';
import { REQUEST_TIMEOUT_MS } from './landing.ts';

/**
 * A client as Millrace needs it: session consistency, so that a read after our own write is not older than it; no
 * retries of throttled requests by the SDK itself, which neither know the fence nor count (see retry.ts).
 * `transport`: how requests travel, where the server is in this very process.
 */
export async function connect(
  account: AccountSettings,
  preferredRegions: readonly string[] = [],
  transport: Pick<CosmosClientOptions, 'httpClient'> = {},
): Promise<CosmosClient> {
  const options: CosmosClientOptions = {
    ...transport,
    endpoint: account.endpoint,
    consistencyLevel: 'Session',
    connectionPolicy: {
      requestTimeout: REQUEST_TIMEOUT_MS,
      preferredLocations: [...preferredRegions],
      enableEndpointDiscovery: !isLoopback(account.endpoint),
      retryOptions: { maxRetryAttemptCount: 0, fixedRetryIntervalInMilliseconds: 0, maxWaitTimeInSeconds: 0 },
    },
  };
  if (account.kind === 'key') return new CosmosClient({ ...options, key: account.key });
  const { DefaultAzureCredential } = await import('@azure/identity');
  return new CosmosClient({ ...options, aadCredentials: new DefaultAzureCredential() });
}

const isLoopback = (endpoint: string): boolean => /^https?:\/\/(127\.|localhost|\[::1\])/.test(endpoint);

/**
 * Asks the account once, so that a wrong address or key is one clear message before anything starts. Refuses
 * multi-region writes, which break order, ETags and leases (A6).
 */
export async function checkAccount(client: CosmosClient, endpoint: string, setting = 'COSMOS'): Promise<void> {
  try {
    // The SDK tries a name that is none for two minutes before it says so.
    await lookup(new URL(endpoint).hostname.replace(/^\[|\]$/g, ''));
    const { resource } = await client.getDatabaseAccount();
    if (resource?.enableMultipleWritableLocations) {
      throw new UsageError(
        'multi-region-writes',
        `The account at ${endpoint} has multi-region writes, which Millrace can't keep right (order, ETags and leases break).`,
        {
          mend: 'Use an account with one write region for sources, sinks and leases.',
        },
      );
    }
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const failure = failureOf(error);
    if (failure.kind === 'denied') {
      throw new UsageError(
        'account-denied',
        `The Cosmos DB account at ${endpoint} refused us: ${failure.message.split('\n')[0]}`,
        {
          cause: error,
          mend: `Check the key in ${setting}, or give the identity the role "Cosmos DB Built-in Data Contributor".`,
        },
      );
    }
    throw new UsageError(
      'account-unreachable',
      `The Cosmos DB account at ${endpoint} can't be reached: ${messageOf(error)}`,
      {
        cause: error,
        mend: `Check the endpoint in ${setting} and the network; \`millrace dev\` needs no account at all.`,
      },
    );
  }
}
