// Which tenants outgrow a shard that they share, and whether the nodes are out of balance.
import { literal } from '../../pipeline/tables/literal.ts';

export interface SqlSizes {
  readonly tenants: readonly { readonly tenant: string; readonly bytes: number }[];
  readonly nodes: readonly { readonly node: string; readonly bytes: number }[];
}

export interface Limits {
  /** A tenant with this share of an average node gets a shard of its own. */
  readonly isolate: number;
  /** A node that is this much above the average makes a rebalance worth its while. */
  readonly threshold: number;
}

export interface Growth {
  readonly average: number;
  readonly isolate: readonly { readonly tenant: string; readonly bytes: number; readonly share: number }[];
  /** The nodes above the threshold. */
  readonly full: readonly { readonly node: string; readonly bytes: number; readonly above: number }[];
  /** Tenants that are larger than an average node: no move of shards can balance them. */
  readonly beyond: readonly string[];
  readonly statements: readonly string[];
}

export function growthOf({ tenants, nodes }: SqlSizes, table: string, { isolate: share, threshold }: Limits): Growth {
  const average = nodes.reduce((sum, { bytes }) => sum + bytes, 0) / Math.max(1, nodes.length);
  const isolate = tenants
    .filter(({ bytes }) => average > 0 && bytes >= share * average)
    .map(({ tenant, bytes }) => ({ tenant, bytes, share: bytes / average }))
    .toSorted((a, b) => b.bytes - a.bytes);
  const full = nodes
    .filter(({ bytes }) => bytes > (1 + threshold) * average)
    .map(({ node, bytes }) => ({ node, bytes, above: bytes / average - 1 }));
  return {
    average,
    isolate,
    full,
    beyond: isolate.filter(({ bytes }) => bytes > average).map(({ tenant }) => tenant),
    statements: [
      ...isolate.map(
        ({ tenant }) => `SELECT isolate_tenant_to_new_shard(${literal(table)}, ${tenantLiteral(tenant)}, 'CASCADE');`,
      ),
      // An isolated shard stays on its node until the shards are moved.
      ...(nodes.length > 1 && (isolate.length > 0 || full.length > 0)
        ? [
            'SELECT * FROM get_rebalance_table_shards_plan();',
            'SELECT citus_rebalance_start();',
            'SELECT * FROM citus_rebalance_status();',
          ]
        : []),
    ],
  };
}

/** The function takes any type, so that a text must say that it is one. */
const tenantLiteral = (tenant: string): string => `${literal(tenant)}::text`;

/** Whether a tenant has a shard of its own already: Citus refuses to isolate it again. */
export const isAlone = (table: string, tenant: string): string =>
  `SELECT shardminvalue = shardmaxvalue AS alone FROM pg_dist_shard WHERE shardid = get_shard_id_for_distribution_column(${literal(table)}, ${tenantLiteral(tenant)})`;

/** The queries that measure what `growthOf` takes. */
export const measuringQueries = (table: string, tenant: string): [tenants: string, nodes: string] => {
  const column = `"${tenant.replaceAll('"', '""')}"`;
  return [
    `SELECT ${column} AS tenant, sum(pg_column_size(t.*)) AS bytes FROM ${table} t GROUP BY 1 ORDER BY 2 DESC LIMIT 100;`,
    "SELECT nodename || ':' || nodeport AS node, sum(shard_size) AS bytes FROM citus_shards GROUP BY 1 ORDER BY 1;",
  ];
};
