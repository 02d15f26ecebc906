import { suggestion } from '../../base/near.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { isOfTenants } from '../../definition/tenant.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import type { AskedTenant } from './asked.ts';
import { tenantsError } from './errors.ts';

/** The error for a tenant of which nothing was found, with the one that may be meant. */
export async function unknownTenant(
  tenant: string,
  { rule }: AskedTenant,
  { model }: Pick<LoadedPipeline, 'model'>,
  { place: { database } }: Services,
  signal: AbortSignal,
): Promise<Error> {
  const known = new Set<string>();
  for (const container of model.containers) {
    if (!isOfTenants(container, rule.field)) continue;
    const query = `SELECT DISTINCT VALUE c[${JSON.stringify(rule.field)}] FROM c`;
    for await (const value of fetchAll<unknown>(database.container(container.name), query, signal, { anyFormat: true }))
      if (typeof value === rule.kind) known.add(String(value));
  }
  return tenantsError('tenant-unknown', `There is no tenant ${tenant}${suggestion(tenant, [...known])}`);
}
