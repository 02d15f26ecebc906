import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { CosmosClient, type Database } from '@azure/cosmos';
import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob';
import { SOURCES, millrace } from '../../test/support/process.ts';
import { startEmbeddedJobs } from '../../src/host/dev/jobs-embedded.ts';
import type { Installed } from './packages.ts';
import { type Env, verb } from './processes.ts';

/** An account, a storage account and a job datastore, in other processes than the hosts, so that a kill stops none of them. */
export interface Stage extends AsyncDisposable {
  readonly env: Env;
  readonly database: Database;
  readonly blobs: ContainerClient;
}

/** Starts the services. The version `by` creates the pipeline's containers. */
export async function openStage(place: string, by: Installed, seed: number): Promise<Stage> {
  await using opened = new AsyncDisposableStack();
  const faults = ['--fail-after-effect', '0.01', '--throttle', '0.01', '--replica-lag', '50'];
  const server = opened.use(
    millrace(['emulator', 'start', '--port', '0', '--seed', String(seed), ...faults], { bin: SOURCES }),
  );
  const [, account = ''] = await server.until(/COSMOS='([^']+)'/);

  const secret = Buffer.from('upgrade').toString('base64');
  const azurite = createRequire(import.meta.url).resolve('azurite/dist/src/blob/main.js');
  const options = ['--location', join(place, 'blobs'), '--silent', '--skipApiVersionCheck', '--disableTelemetry'];
  const accounts = { AZURITE_ACCOUNTS: `millrace:${secret}` };
  const storage = opened.use(millrace([...options, '--blobPort', '0'], { bin: azurite, env: accounts }));
  const [, address = ''] = await storage.until(/listens on (http:\S+)/);
  const connection = `DefaultEndpointsProtocol=http;AccountName=millrace;AccountKey=${secret};BlobEndpoint=${address}/millrace`;

  const jobs = opened.use(await startEmbeddedJobs());
  const env: Env = {
    COSMOS: account,
    COSMOS_DATABASE: 'upgrades',
    LEASES: account,
    STORAGE: connection,
    JOBS_URL: jobs.url,
    MILLRACE_PIPELINE: 'pipeline',
  };
  const [endpoint = '', key = ''] = account.split(';').map((part) => part.slice(part.indexOf('=') + 1));
  const client = new CosmosClient({ endpoint, key, connectionPolicy: { enableEndpointDiscovery: false } });
  opened.defer(() => client.dispose());
  await verb(by, env, ['model', 'apply']);
  const moved = opened.move();
  return {
    env,
    database: client.database('upgrades'),
    blobs: BlobServiceClient.fromConnectionString(connection).getContainerClient('archive'),
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  };
}

/** Repeats a request that failed, because the server loses answers and throttles. At most 20 attempts. */
export async function asked<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++)
    try {
      return await ask();
    } catch (error) {
      if (tries === 20) throw error;
      await delay(50);
    }
}

/** Waits until a condition holds. */
export async function until(what: string, holds: () => Promise<boolean>, withinMs = 180_000): Promise<void> {
  const end = performance.now() + withinMs;
  while (!(await asked(holds))) {
    if (performance.now() > end) throw new Error(`Not within ${withinMs / 1_000} s: ${what}`);
    await delay(100);
  }
}
