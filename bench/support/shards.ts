import { fileURLToPath } from 'node:url';
import type { Settings } from '../../src/base/settings.ts';
import { planModel } from '../../src/procedures/apply/apply.ts';
import { loadPipeline } from '../../src/runtime/pipeline/load-pipeline.ts';
import { type OpenServices, openServices } from '../../src/runtime/services.ts';
import type { LoadedPipeline } from '../../src/runtime/workspace.ts';
import { shopSettings } from '../../test/support/shop-settings.ts';
import type { Stage } from './stage.ts';

/** The storefront over shards on a stage, with the containers of its global place and no shard yet. */
export async function openShards({
  endpoint,
  key,
}: Stage): Promise<{ settings: Settings; services: OpenServices; loaded: LoadedPipeline }> {
  const settings = shopSettings({ endpoint, key }, { shardMaps: { endpoint, database: 'maps' } });
  const services = await openServices(settings);
  const loaded = await loadPipeline(fileURLToPath(new URL('../../examples/storefront-shards', import.meta.url)));
  for (const step of await planModel(loaded, services)) await step.apply();
  return { settings, services, loaded };
}
