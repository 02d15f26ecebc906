// RU a second that hosts spend for keys, as they report it for tenants.
import { systemClock } from '../../../base/clock.ts';
import { failureOf } from '../../../cosmos/failure.ts';
import { tenantRule, tenantValue } from '../../../definition/tenant.ts';
import { attempt } from '../../../definition/watched.ts';
import type { ShardMap } from '../../../shards/index.ts';
import { type HostStatus, readHostStatuses } from '../../host-status.ts';
import type { Context } from '../../operation.ts';
import { codeOf } from '../moving/keyed-part.ts';

export interface Rates {
  /** RU/s by the codes of keys. Hosts name those that cost them the most. */
  readonly keys: ReadonlyMap<string, number>;
  /** Of all keys that they don't name. */
  readonly others: number;
}

/** A host writes its report each half minute. One that didn't for so long has died. */
const SILENT_MS = 90_000;

/** Why there are none, if it isn't known which keys hosts work for. */
export async function ratesOf(
  map: Pick<ShardMap, 'keyType' | 'schema'>,
  { workspace, signal, clock = systemClock }: Pick<Context, 'workspace' | 'signal' | 'clock'>,
): Promise<Rates | string> {
  const loaded = await workspace.pipeline().catch(() => undefined);
  if (!loaded) return 'no pipeline is here that says which field names the tenant';
  const rule = tenantRule(loaded.pipeline, loaded.model);
  const paths = [...new Set(Object.values(map.schema.sharded))];
  if (!rule || paths.some((path) => path !== `/${rule.field}`))
    return `the tenant of the pipeline ${loaded.pipeline.name} is not the key of the map (${paths.join(', ')})`;
  const statuses = await readHostStatuses(await workspace.services(), signal).catch((error: unknown) => {
    if (failureOf(error).kind !== 'not-found') throw error;
    return [];
  });
  const codeOfTenant = (tenant: string) =>
    codeOf(
      map,
      attempt(() => tenantValue(rule, tenant)),
    );
  return sumOf(statuses, codeOfTenant, clock.now()) ?? 'no host that runs reports what it spends for tenants';
}

/** Of the hosts that run together; undefined: none reports tenants. */
export function sumOf(
  statuses: readonly HostStatus[],
  codeOfTenant: (tenant: string) => string | undefined,
  now: number,
): Rates | undefined {
  const keys = new Map<string, number>();
  let others = 0;
  let reports = 0;
  for (const { at, startedAt, tenants } of statuses) {
    const seconds = (Date.parse(at) - Date.parse(startedAt)) / 1_000;
    if (!tenants || seconds <= 0 || now - Date.parse(at) > SILENT_MS) continue;
    reports += 1;
    others += (tenants.others?.charge ?? 0) / seconds;
    for (const { tenant, charge } of tenants.tenants) {
      const code = codeOfTenant(tenant);
      if (code === undefined) others += charge / seconds;
      else keys.set(code, (keys.get(code) ?? 0) + charge / seconds);
    }
  }
  return reports === 0 ? undefined : { keys, others };
}
