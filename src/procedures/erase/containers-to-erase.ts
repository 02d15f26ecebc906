// Which containers an erasure looks at in a place.
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { type KeyPath, splitPath } from '../../cosmos/paths.ts';
import { isOfTenants } from '../../pipeline/tenant.ts';
import { Views } from '../../engine/views/views.ts';
import { existingContainers } from '../../runtime/existing-containers.ts';
import type { PlaceParts } from './erase-options.ts';

export interface ErasedContainer {
  readonly name: string;
  readonly keyPaths: readonly KeyPath[];
  /** The level of the key that has the tenant; -1: none. */
  readonly level: number;
  /** Whether its documents each belong to a tenant. */
  readonly ofTenants: boolean;
}

/**
 * The containers of the model that a place has, then those that Millrace has copied from or to, or filled, and that still exist: they may
 * have the tenant's documents as long as they aren't deleted.
 */
export async function containersOf({
  loaded,
  services,
  containers,
  asked,
  signal,
}: PlaceParts): Promise<ErasedContainer[]> {
  const { field } = asked.rule;
  const designed = containers.map((container): ErasedContainer => {
    const { name, partitionKey } = container;
    const ofTenants = isOfTenants(container, field);
    return { name, keyPaths: partitionKey.map(splitPath), level: partitionKey.indexOf(`/${field}`), ofTenants };
  });
  const others = new Set<string>();
  const migrations = "SELECT c.name, c['into'] FROM c WHERE c.pk = 'migrations'";
  for await (const of of fetchAll<{ name: string; into: string }>(services.place.state, migrations, signal, {
    anyFormat: true,
  }))
    for (const name of [of.name, of.into]) others.add(name);
  for (const { current, staged, previous } of Object.values(
    (await new Views(services.global.state, loaded.pipeline.name).read()) ?? {},
  ))
    for (const version of [current, staged, previous]) if (version) others.add(version.container);
  const known = loaded.model.containers.map(({ name }) => name);
  for (const name of [...known, services.place.state.id, services.global.leases.id]) others.delete(name);
  const existing = others.size > 0 ? await existingContainers(services.place.database) : undefined;
  return [
    ...designed,
    ...[...others].flatMap((name): ErasedContainer[] => {
      const paths = existing?.get(name)?.partitionKey?.paths;
      return paths
        ? [{ name, keyPaths: paths.map(splitPath), level: paths.indexOf(`/${field}`), ofTenants: true }]
        : [];
    }),
  ];
}
