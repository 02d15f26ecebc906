import { suggestion } from '../../base/near.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { isOfTenants } from '../../pipeline/tenant.ts';
import type { AskedTenant } from '../tenants/tenant-flag.ts';
import type { ErasePlace } from './erase-options.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { LIST_TENANTS } from '../errors.ts';

/** The error for a tenant of which nothing was found, with the one that may be meant. */
export async function unknownTenant(
  tenant: string,
  { rule }: AskedTenant,
  places: readonly Pick<ErasePlace, 'services' | 'containers'>[],
  signal: AbortSignal,
): Promise<Error> {
  const known = new Set<string>();
  for (const { services, containers } of places)
    for (const container of containers) {
      if (!isOfTenants(container, rule.field)) continue;
      const query = `SELECT DISTINCT VALUE c[${JSON.stringify(rule.field)}] FROM c`;
      const stored = services.place.database.container(container.name);
      for await (const value of fetchAll<unknown>(stored, query, signal, { anyFormat: true }))
        if (typeof value === rule.kind) known.add(String(value));
    }
  return sharedError('not-found', `There is no tenant ${tenant}${suggestion(tenant, [...known])}`, {
    hint: LIST_TENANTS,
  });
}
