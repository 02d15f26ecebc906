import type { Container } from '@azure/cosmos';
import type { Emulator } from '../../src/emulator/index.ts';
import { type World, openWorld } from '../patterns/world.ts';

export const LONG = 'x'.repeat(999);
/** Two of each kind that could be taken for one another. */
export const TENANTS = ['Acme', 'acme', `${LONG}a`, `${LONG}b`, 1, '1', 0, '0'];
/** Partition keys of one, two and three levels, and one that ends in the id. */
export const KEYS = [['/tenant'], ['/tenant', '/user'], ['/tenant', '/user', '/day'], ['/tenant', '/id']];

/** A prefix of a key is no filter, and whatever needs a plan gets one (ASM-E72, ASM-E74). */
export const UNHELPFUL = { loosePrefixes: true, demandPlans: true };

export async function openTenants(seed: number): Promise<World> {
  const world = await openWorld(seed);
  world.emulator.faults(UNHELPFUL);
  return world;
}

/** A container of several physical partitions. */
export const several = (world: World, id: string, paths: readonly string[]): Promise<Container> =>
  world.create(id, paths, { throughput: 18_000 });

/** Splits the fullest physical partitions, so that a tenant's documents are in several. */
export function scatter(emulator: Emulator, container: string, splits: number): void {
  for (let n = 0; n < splits; n++) emulator.split(`patterns/${container}`);
}
