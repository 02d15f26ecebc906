import type { Lease } from './lease.ts';

export interface Balance {
  readonly host: string;
  /** Leases nobody wrote for longer than the expiration, as this host saw them (L11: by observation, not by clocks). */
  readonly expired: ReadonlySet<string>;
}

/**
 * Which leases this host takes now, so that every host converges on ceil(leases ÷ hosts) (L7): all free and expired ones
 * up to its share at once, else one from the largest owner. The rule is that of .NET's EqualPartitionsBalancingStrategy.
 */
export function leasesToTake(leases: readonly Lease[], { host, expired }: Balance): Lease[] {
  const free = leases.filter((lease) => lease.owner === null || (lease.owner !== host && expired.has(lease.id)));
  const held = new Map<string, Lease[]>([[host, []]]);
  for (const lease of leases) {
    if (lease.owner === null || free.includes(lease)) continue;
    const of = held.get(lease.owner) ?? [];
    of.push(lease);
    held.set(lease.owner, of);
  }
  const target = Math.ceil(leases.length / held.size);
  const mine = held.get(host)?.length ?? 0;
  const need = target - mine;
  if (need <= 0) return [];
  if (free.length > 0) return free.slice(0, need);
  let largest: Lease[] = [];
  for (const [owner, of] of held) if (owner !== host && of.length > largest.length) largest = of;
  const spare = largest.length > target - (need > 1 ? 1 : 0);
  return spare ? largest.slice(-1) : [];
}
