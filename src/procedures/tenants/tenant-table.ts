// What tenants took, from the reports of all hosts together.
import type { Container } from '@azure/cosmos';
import { withRetry } from '../../cosmos/retry.ts';
import { type TenantWork, tenantsTogether } from '../../engine/tenant-work.ts';
import type { HostStatus } from '../status/host-status.ts';

/** A tenant with its dead letters, of any age; the work is since the hosts started. */
export interface ShownTenant extends TenantWork {
  readonly deadLetters: number;
}

export interface ShownTenants {
  readonly tenants: readonly ShownTenant[];
  readonly others: Omit<ShownTenant, 'tenant'> | null;
}

const MOST = 10;
/** Characters of a tenant in a column. */
export const SHOWN_OF_TENANT = 40;

/**
 * The tenants that cost the most on all hosts, and all others together; null if no host knows a tenant. `only`: this
 * tenant alone; hosts that don't name it among their costliest count it with the others.
 */
export async function tenantsOf(
  said: readonly HostStatus[],
  lettersOf: () => Promise<ReadonlyMap<string, number>>,
  only?: string,
): Promise<ShownTenants | null> {
  const reports = said.flatMap(({ tenants }) => tenants ?? []);
  if (reports.length === 0) return null;
  const letters = await lettersOf();
  const byTenant = Map.groupBy(
    reports.flatMap(({ tenants }) => tenants),
    ({ tenant }) => tenant,
  );
  const all = [...byTenant]
    .map(([tenant, works]) => ({ tenant, ...tenantsTogether(works), deadLetters: letters.get(tenant) ?? 0 }))
    .toSorted((a, b) => b.charge - a.charge || (a.tenant < b.tenant ? -1 : 1));
  if (only !== undefined) return { tenants: all.filter(({ tenant }) => tenant === only), others: null };
  const tenants = all.slice(0, MOST);
  const named = tenants.reduce((sum, { deadLetters }) => sum + deadLetters, 0);
  const deadLetters = [...letters.values()].reduce((sum, count) => sum + count, 0) - named;
  const rest = [...all.slice(MOST), ...reports.flatMap(({ others }) => others ?? [])];
  return { tenants, others: rest.length + deadLetters === 0 ? null : { ...tenantsTogether(rest), deadLetters } };
}

/** The number of dead letters by tenant. Letters that name no tenant are left out. */
export async function lettersByTenant(state: Container): Promise<Map<string, number>> {
  const query = "SELECT c.tenant FROM c WHERE c.kind = 'dead-letter' AND IS_DEFINED(c.tenant)";
  const { resources } = await withRetry(() => state.items.query<{ tenant: string }>(query).fetchAll(), { reads: true });
  return new Map([...Map.groupBy(resources, ({ tenant }) => tenant)].map(([tenant, of]) => [tenant, of.length]));
}
