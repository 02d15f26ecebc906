// A comparison while two shards have a document, each in a version of its own. MOVE-V50.
import { expect, it, vi } from 'vitest';
import { compare } from '../../../../src/procedures/verify/compare.ts';
import { comparedHere } from '../../../../src/procedures/projections/over-shards.ts';
import { placesOf } from '../../../../src/runtime/places.ts';
import { given } from '../../../runtime/spread-world.ts';
import { SPREAD_VERSIONS } from '../../../verbs/projections/spread-versions.ts';

const { signal } = new AbortController();

it('what a key has left behind is compared with nothing, though it was written in the same second or later', async (context) => {
  const { stage, application, host } = await given(context, ['north', 'west'], { folder: SPREAD_VERSIONS });
  for (const [name, value] of Object.entries(stage.env)) vi.stubEnv(name, value);
  context.onTestFinished(() => void vi.unstubAllEnvs());
  const north = await stage.map.shard({ database: 'north' });
  const west = await stage.map.shard({ database: 'west' });
  const mapping = await stage.map.createMapping({ key: 's0', shard: north });
  await application.order('s0', 'north', 'o1', 100);
  const app = await host();
  await app.drained(signal);
  await app.stop();
  // As the application wrote it before the key came from there: its hosts had it, and it is not removed yet.
  const { _ts: _, ...order } = { ...(await stage.at('north', 'Orders').item('o1', 's0').read()).resource! };
  await stage.at('west', 'Orders').items.create({ ...order, cents: 7 });
  const home = await (await placesOf(stage).list())[0]!.open();
  const loaded = { ...home.loaded, pipeline: comparedHere(home.loaded.pipeline) };
  const kept = loaded.pipeline.projections.filter(({ version }) => version === 1);
  const differing = async (settings = stage.settings): Promise<string[]> => {
    const asked = { signal, screen: { progress: () => undefined }, readLagMs: 0, settings, chosen: kept, kept };
    const { differences } = await compare(loaded, home.services, asked);
    return differences.map(({ container }) => container);
  };
  expect(await differing()).toEqual([]);
  // If the map had the key there, the total and the copy would be other ones.
  await stage.map.updateMapping(await stage.map.markOffline(mapping), { shard: west, status: 'online' });
  expect(new Set(await differing())).toEqual(new Set(['Totals', 'AllOrders']));
});
