// A pipeline over shards with two versions of each projection: what they must be by the application's writes alone.
import { join } from 'node:path';
import { type Pipeline, projectionId } from '../../../src/pipeline/specs.ts';
import type { Application } from '../../runtime/spread-world.ts';
import { rows } from '../../runtime/application.ts';
import type { SpreadStage } from '../../support/spread-stage.ts';
import { fast, options } from './versions.ts';

export const SPREAD_VERSIONS = join(import.meta.dirname, '../../fixtures/spread-versions');

/** The pipeline without some versions, as it was before they were declared. */
export const without = ({ loaded }: Pick<SpreadStage, 'loaded'>, ids: readonly string[]): SpreadStage['loaded'] => {
  const { pipeline } = loaded;
  const projections: Pipeline['projections'] = pipeline.projections.filter((spec) => !ids.includes(projectionId(spec)));
  return { ...loaded, pipeline: { ...pipeline, projections } };
};

/** Options for an operation on one version, with waits for tests. */
export const optionsOver = (
  stage: Pick<SpreadStage, 'settings' | 'services' | 'loaded'>,
  id: string,
  signal: AbortSignal,
) => ({ ...options(stage, id, signal), ...fast });

/** Totals of all shards in one version. */
export const totalsOf = async (stage: SpreadStage, container: string) =>
  (await rows<{ day: string; orders: number }>(stage.container(container), 'c.day, c.orders, c.cents, c.largest'))
    .filter(({ orders }) => orders > 0)
    .toSorted((a, b) => (a.day < b.day ? -1 : 1));

/** The orders that a shard has a summary of. */
export const summariesOf = async (stage: SpreadStage, shard: string, container: string): Promise<string[]> =>
  (await rows<{ id: string; storeId: string; cents: number }>(stage.at(shard, container), 'c.id, c.storeId, c.cents'))
    .map(({ id, storeId, cents }) => `${storeId}-${id} ${cents}`)
    .toSorted();

/** The same by the application's writes. `s0` is in the first shard, and so on. */
export const ordersOf = (application: Application, store: string): string[] =>
  [...application.orders]
    .filter(([, order]) => order.storeId === store && !order.cancelled)
    .map(([id, { cents }]) => `${id} ${cents}`)
    .toSorted();

/** The ids of the leases that no live host has. */
export async function ownLeases(stage: SpreadStage, of: string): Promise<string[]> {
  const query = {
    // The lock of one that died while it made its leases expires by itself.
    query: "SELECT VALUE c.id FROM c WHERE CONTAINS(c.id, @of) AND NOT ENDSWITH(c.id, '.lock')",
    parameters: [{ name: '@of', value: of }],
  };
  return (await stage.services.global.leases.items.query<string>(query).fetchAll()).resources;
}
