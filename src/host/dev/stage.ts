import { basename, join } from 'node:path';
import type { Settings } from '../../base/settings.ts';
import type { Context } from '../../operations/operation.ts';
import type { LoadedPipeline, Services } from '../../operations/workspace.ts';
import { openServices } from '../services.ts';
import { type Beside, type EmbeddedInput, startBeside } from './embedded.ts';
import { startAzurite } from './storage.ts';

export interface StageInput extends EmbeddedInput {
  readonly port: number;
  readonly account: boolean;
  readonly once: boolean;
}

/** What a development run works on. */
export interface Stage extends AsyncDisposable {
  readonly settings: Settings;
  readonly services: Services;
  /** Aborted if one of the embedded servers ends by itself. */
  readonly ended?: AbortSignal;
}

/** The accounts that a development run works on: the embedded servers, or those of the settings where asked for. */
export async function openStage(
  options: StageInput,
  { workspace, screen }: Context,
  { folder, pipeline }: LoadedPipeline,
): Promise<Stage> {
  if (options.account) {
    return {
      settings: workspace.settings(),
      services: await workspace.services(),
      [Symbol.asyncDispose]: async () => {},
    };
  }
  const { data } = options;
  const server = await startBeside(options.port, options);
  const blobs =
    pipeline.archives.length > 0 ? { folder: data === undefined ? undefined : join(data, 'blob') } : undefined;
  const storage = blobs && (await startAzurite(blobs).catch((error: unknown) => abandon(server, error)));
  const database = basename(folder);
  if (!options.once) {
    screen.line(
      `Cosmos DB listens at ${server.endpoint}; COSMOS_DATABASE=${database} COSMOS='${server.connectionString}'`,
    );
    if (storage) screen.line(`Its archive goes to Azurite; STORAGE='${storage.connectionString}'`);
  }
  const account = { kind: 'key', endpoint: server.endpoint, key: server.key } as const;
  const settings: Settings = {
    cosmos: account,
    database,
    leases: { account, database, container: 'leases' },
    stateContainer: 'millrace',
    preferredRegions: [],
    ...(storage && {
      storage: { account: { kind: 'key', connectionString: storage.connectionString }, container: 'archive' },
    }),
  };
  const services = await openServices(settings);
  return {
    settings,
    services,
    ended: storage ? AbortSignal.any([server.ended, storage.ended]) : server.ended,
    [Symbol.asyncDispose]: async () => {
      services.close();
      await storage?.close();
      await server.close();
    },
  };
}

async function abandon(server: Beside, error: unknown): Promise<never> {
  await server.close();
  throw error;
}
