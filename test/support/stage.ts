import { join } from 'node:path';
import type { Container } from '@azure/cosmos';
import type { Settings, StorageSettings } from '../../src/base/settings.ts';
import { startEmulator, type Emulator, type EmulatorOptions } from '../../src/emulator/index.ts';
import { loadPipeline } from '../../src/runtime/pipeline/load-pipeline.ts';
import { type OpenServices, openServices } from '../../src/runtime/services.ts';
import { planStorage } from '../../src/procedures/archive/open.ts';
import { planModel } from '../../src/procedures/apply/apply.ts';
import type { LoadedPipeline } from '../../src/runtime/workspace.ts';
import { shopSettings } from './shop-settings.ts';
import { reachInProcess } from './transports.ts';

/** The smallest pipeline with both kinds. */
export const SHOP = join(import.meta.dirname, '../fixtures/shop');
/** The same containers with an archive. */
export const COLD = join(import.meta.dirname, '../fixtures/cold');

/** The shop, its orders read by the all-versions feed. */
export const ALL_VERSIONS = join(import.meta.dirname, '../fixtures/all-versions');

/** An embedded server with a pipeline's containers on it. */
export interface Stage extends AsyncDisposable {
  readonly emulator: Emulator;
  readonly settings: Settings;
  readonly services: OpenServices;
  readonly loaded: LoadedPipeline;
  container(name: string): Container;
  /** As the environment of a process that is to work on it. */
  readonly env: Readonly<Record<string, string>>;
}

export async function openStage(
  options: EmulatorOptions = {},
  folder = SHOP,
  storage?: { readonly connectionString: string; readonly container: string },
): Promise<Stage> {
  const emulator = await startEmulator(options);
  const settings = shopSettings(emulator, storage && { storage: storageSettings(storage) });
  const services = await openServices(settings, { httpClient: emulator.clientOptions.httpClient });
  const unreached = reachInProcess(emulator);
  const loaded = await loadPipeline(folder);
  for (const step of await planModel(loaded, services)) await step.apply();
  const { signal } = new AbortController();
  if (storage) for (const step of await planStorage(loaded, services, signal)) await step.apply();
  return {
    emulator,
    settings,
    services,
    loaded,
    container: (name) => services.place.database.container(name),
    env: {
      COSMOS: emulator.connectionString,
      COSMOS_DATABASE: 'shop',
      LEASES: emulator.connectionString,
      LEASES_DATABASE: 'shop',
      LEASES_CONTAINER: 'leases',
      ...(storage && { STORAGE: storage.connectionString, STORAGE_CONTAINER: storage.container }),
    },
    [Symbol.asyncDispose]: async () => {
      services.close();
      unreached();
      await emulator.close();
    },
  };
}

const storageSettings = ({
  connectionString,
  container,
}: {
  readonly connectionString: string;
  readonly container: string;
}): StorageSettings => ({ account: { kind: 'key', connectionString }, container });
