// How much each tenant stores, by container.
import type { Container as CosmosContainer, Database } from '@azure/cosmos';
import { mapSettled } from '../../base/map-settled.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { type TenantRule, isOfTenants, tenantOf, tenantValue } from '../../pipeline/tenant.ts';
import { attempt } from '../../pipeline/fields/watched.ts';
import type { Container } from '../../model/model.ts';
import { isOnePartition, storedDocuments } from './documents.ts';

export interface TenantContainer {
  readonly container: string;
  readonly documents: number;
  /** Estimated: the number of documents times the average of `sampled` ones, as JSON. */
  readonly bytes: number;
  readonly sampled: number;
  /** `bytes` as a share of the 20 GB that a logical partition may have; null: the tenant has several partitions. */
  readonly ofPartition: number | null;
}

export interface TenantSize {
  readonly tenant: string;
  readonly documents: number;
  readonly bytes: number;
  /** The largest first. */
  readonly containers: readonly TenantContainer[];
}

export interface Sizes {
  /** The number of all tenants. */
  readonly count: number;
  /** Of all tenants. */
  readonly documents: number;
  /** The tenants with the most documents, by their bytes. */
  readonly tenants: readonly TenantSize[];
  /** Containers with documents that name no valid tenant, Millrace's own left out. */
  readonly without: readonly { readonly container: string; readonly documents: number }[];
  /** Tenants whose ids differ only by case. */
  readonly alike: readonly (readonly string[])[];
}

export interface SizesOptions {
  readonly database: Database;
  /** Those that the database has, of all kinds. */
  readonly containers: readonly Container[];
  readonly rule: TenantRule;
  /** One container; absent: all that belong to tenants. */
  readonly only?: string | undefined;
  /** The most tenants to return, and to estimate bytes for. */
  readonly most: number;
  readonly signal: AbortSignal;
  readonly progress?: (done: number, of: number) => void;
}

/** Bytes of a logical partition ([service limits](https://learn.microsoft.com/azure/cosmos-db/concepts-limits)). */
export const PARTITION_BYTES = 20 * 1024 ** 3;
/** Share of them from which verbs warn. */
export const NEAR_FULL = 0.5;
/** Documents of a tenant and container that are read for the average of their sizes. */
export const SAMPLE = 50;
const AT_ONCE = 8;

/** Counts the documents of each tenant in every container, and estimates the bytes of the tenants with the most. */
export async function sizesOf(options: SizesOptions): Promise<Sizes> {
  const { rule, only, most, signal, progress } = options;
  const containers = options.containers.filter(
    (one) => isOfTenants(one, rule.field) && (only === undefined || one.name === only),
  );
  const counts = new Map<string, Map<string, number>>();
  const without: { container: string; documents: number }[] = [];
  for (const [done, { name }] of containers.entries()) {
    progress?.(done, containers.length);
    let none = 0;
    for (const [tenant, documents] of await countsIn(name, options)) {
      if (tenant === undefined) none += documents;
      else counts.set(tenant, (counts.get(tenant) ?? new Map<string, number>()).set(name, documents));
    }
    if (none > 0) without.push({ container: name, documents: none });
  }
  const total = (of: ReadonlyMap<string, number>): number => [...of.values()].reduce((sum, count) => sum + count, 0);
  const documents = [...counts.values()].reduce((sum, of) => sum + total(of), 0);
  const largest = [...counts].toSorted(([, a], [, b]) => total(b) - total(a)).slice(0, most);
  const tenants = await mapSettled(
    largest,
    async ([tenant, of]): Promise<TenantSize> => {
      signal.throwIfAborted();
      const parts: TenantContainer[] = [];
      for (const container of containers) {
        const own = of.get(container.name) ?? 0;
        if (own > 0) parts.push(await estimated(container, tenant, own, options));
      }
      const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
      return { tenant, documents: total(of), bytes, containers: parts.toSorted((a, b) => b.bytes - a.bytes) };
    },
    { concurrency: AT_ONCE },
  );
  const alike = [...Map.groupBy(counts.keys(), (tenant) => tenant.toLowerCase()).values()].filter(
    (of) => of.length > 1,
  );
  return { count: counts.size, documents, tenants: tenants.toSorted((a, b) => b.bytes - a.bytes), without, alike };
}

/** Documents by tenant; undefined: those that name no valid one. */
async function countsIn(
  container: string,
  { database, rule, signal }: SizesOptions,
): Promise<Map<string | undefined, number>> {
  const counts = new Map<string | undefined, number>();
  const property = `c[${JSON.stringify(rule.field)}]`;
  for await (const { found: value, documents } of countsBy(database.container(container), property, signal)) {
    const tenant = attempt(() => tenantOf(rule, { [rule.field]: value }));
    counts.set(tenant, (counts.get(tenant) ?? 0) + documents);
  }
  return counts;
}

/** The documents of a container by a property; those of Millrace's own that don't have it are left out. */
export const countsBy = (
  container: CosmosContainer,
  property: string,
  signal: AbortSignal,
): AsyncIterable<{ readonly found?: unknown; readonly documents: number }> =>
  fetchAll(
    container,
    `SELECT ${property} AS found, COUNT(1) AS documents FROM c WHERE NOT STARTSWITH(c.type ?? '', 'millrace.') OR IS_DEFINED(${property}) GROUP BY ${property}`,
    signal,
  );

/** How many documents there are, and their mean size as JSON. */
export async function sampledBytes(
  documents: AsyncIterable<object>,
): Promise<{ readonly sampled: number; readonly mean: number }> {
  let [sampled, read] = [0, 0];
  for await (const document of documents) {
    sampled += 1;
    read += Buffer.byteLength(JSON.stringify(document));
  }
  return { sampled, mean: sampled === 0 ? 0 : read / sampled };
}

async function estimated(
  container: Container,
  tenant: string,
  documents: number,
  { database, rule, signal }: SizesOptions,
): Promise<TenantContainer> {
  const { name } = container;
  const value = tenantValue(rule, tenant);
  const some = storedDocuments<object>(database.container(name), container, { rule, value }, { signal, most: SAMPLE });
  const { sampled, mean } = await sampledBytes(some);
  const bytes = Math.round(documents * mean);
  return {
    container: name,
    documents,
    bytes,
    sampled,
    ofPartition: isOnePartition(container, rule) ? bytes / PARTITION_BYTES : null,
  };
}
