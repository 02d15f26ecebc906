// `--tenant T` of the archive's verbs: the tenant is the folder of the blobs.
import { isTenant, prefixOf } from '../../archive/blobs/layout.ts';
import { manifestPlaces } from '../../archive/blobs/manifests.ts';
import type { Archive } from '../../archive/types.ts';
import { suggestion } from '../../base/near.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { LIST_TENANTS, operationsError } from '../errors.ts';

/**
 * Looks at the paths of the manifests: a manifest that can't be read still shows its tenant.
 * @throws UsageError `not-found` if no archive has a document of the tenant
 */
export async function assertArchivedTenant(archives: readonly Archive[], tenant: string | undefined): Promise<void> {
  // A place that runs no archive has none of its tenants.
  if (tenant === undefined || archives.length === 0) return;
  const known = new Set<string>();
  for (const { store, spec } of archives) {
    for await (const place of manifestPlaces(store, prefixOf(spec))) {
      if (isTenant(place, tenant)) return;
      known.add(place.tenant);
    }
  }
  const what = `The archive has no documents of tenant ${tenant}${suggestion(tenant, [...known])}`;
  throw sharedError('not-found', what, { hint: LIST_TENANTS });
}

/** @throws UsageError `tenant-undeclared` if an archive keeps all tenants in one folder */
export function assertByTenant(archives: readonly Pick<Archive, 'spec'>[], tenant: string | undefined): void {
  const mixed = archives.find(({ spec }) => spec.tenantField === undefined);
  if (tenant === undefined || !mixed) return;
  throw operationsError('tenant-undeclared', `--tenant ${tenant}: archive ${mixed.spec.name} has no tenant`);
}
