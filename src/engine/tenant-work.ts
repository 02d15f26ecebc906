// What the tenants of a pipeline cost a host.
import type { Change } from '../feed/reading/change.ts';

/** The work of a host for one tenant since the host started. */
export interface TenantWork {
  readonly tenant: string;
  /** Changes applied or parked. A change that two projections read counts twice. */
  readonly changes: number;
  readonly parked: number;
  /** Request units. A page's are shared out by its changes. */
  readonly charge: number;
  /** How long the oldest change of the tenant's last page had waited when it was applied, milliseconds. */
  readonly delayMs: number;
}

export interface TenantReport {
  /** The tenants with the highest charge, the costliest first. */
  readonly tenants: readonly TenantWork[];
  /** All other tenants together; `delayMs` is the longest. Null: there are none. */
  readonly others: Omit<TenantWork, 'tenant'> | null;
}

/** With more tenants than twice this, the cheapest are added up, so that memory is bounded. */
const MOST = 1_000;
const NOTHING = { changes: 0, parked: 0, charge: 0, delayMs: 0 };

/**
 * Adds up what each tenant costs. A tenant that was added to the others begins again at zero: its figures are then too
 * low, never too high.
 */
export class TenantWorks {
  readonly #most: number;
  readonly #works = new Map<string, TenantWork>();
  #others: Omit<TenantWork, 'tenant'> | null = null;

  constructor(most = MOST) {
    this.#most = most;
  }

  /** `charge`: RU of all the changes together. `now`: milliseconds since 1970. */
  add(changes: readonly Change[], charge: number, parked: ReadonlySet<Change>, now: number): void {
    for (const [tenant, own] of Map.groupBy(changes, ({ tenant: of }) => of)) {
      if (tenant === undefined) continue;
      const oldest = own.reduce((least, { at }) => Math.min(least, at), Infinity);
      const before = this.#works.get(tenant) ?? NOTHING;
      this.#works.set(tenant, {
        tenant,
        changes: before.changes + own.length,
        parked: before.parked + own.filter((change) => parked.has(change)).length,
        charge: before.charge + (charge * own.length) / changes.length,
        delayMs: Math.max(0, now - oldest),
      });
    }
    if (this.#works.size > 2 * this.#most) this.#shrink();
  }

  /** `isErased`: tenants that no report may name any more; they are forgotten. */
  report(most = 10, isErased: (tenant: string) => boolean = () => false): TenantReport {
    for (const tenant of this.#works.keys()) if (isErased(tenant)) this.#works.delete(tenant);
    const [tenants, rest] = this.#split(most);
    const all = this.#others ? [this.#others, ...rest] : rest;
    return { tenants, others: all.length === 0 ? null : tenantsTogether(all) };
  }

  #shrink(): void {
    const [, cheap] = this.#split(this.#most);
    for (const { tenant } of cheap) this.#works.delete(tenant);
    this.#others = tenantsTogether([this.#others ?? NOTHING, ...cheap]);
  }

  #split(most: number): [costly: TenantWork[], cheap: TenantWork[]] {
    const all = [...this.#works.values()].toSorted((a, b) => b.charge - a.charge || (a.tenant < b.tenant ? -1 : 1));
    return [all.slice(0, most), all.slice(most)];
  }
}

export const tenantsTogether = (works: readonly Omit<TenantWork, 'tenant'>[]): Omit<TenantWork, 'tenant'> =>
  works.reduce<Omit<TenantWork, 'tenant'>>(
    (sum, { changes, parked, charge, delayMs }) => ({
      changes: sum.changes + changes,
      parked: sum.parked + parked,
      charge: sum.charge + charge,
      delayMs: Math.max(sum.delayMs, delayMs),
    }),
    NOTHING,
  );

/** The reports of several engines of one host as one. */
export function mergeTenants(reports: readonly TenantReport[], most = 10): TenantReport {
  const [only, ...more] = reports;
  if (only && more.length === 0) return only;
  const named = Map.groupBy(
    reports.flatMap(({ tenants }) => tenants),
    ({ tenant }) => tenant,
  );
  const all = [...named]
    .map(([tenant, works]) => ({ tenant, ...tenantsTogether(works) }))
    .toSorted((a, b) => b.charge - a.charge || (a.tenant < b.tenant ? -1 : 1));
  const rest = [...all.slice(most), ...reports.flatMap(({ others }) => others ?? [])];
  return { tenants: all.slice(0, most), others: rest.length === 0 ? null : tenantsTogether(rest) };
}
