import type { Lease } from '../leases/lease.ts';
import { DECISIONS, type Decision, type SharingNeed, type Sighting } from './decision-table.ts';

export interface Balance {
  readonly host: string;
  /** Leases that this host manages now. */
  readonly supervised: ReadonlySet<string>;
  /**
   * Leases that no host wrote for longer than the expiration, while this host observed them (PROC-L11: no clocks are
   * compared).
   */
  readonly expired: ReadonlySet<string>;
  /** Leases whose former owner may still act. No host steals them until that is over. */
  readonly handedOver?: ReadonlySet<string>;
  /** Expired or free leases that no host has taken for long. Any host takes them, even above its share. */
  readonly left?: ReadonlySet<string>;
  /** Leases that this host gave up because its work made no progress. Other hosts may take them first. */
  readonly standingBack?: ReadonlySet<string>;
  /** True in the first balance of a host: the leases in its name are its own. */
  readonly starting?: boolean;
  /** The fewest and the most leases of a host, whatever its share. 0 or absent: no such limit. */
  readonly least?: number | undefined;
  readonly most?: number | undefined;
}

/** What this host does about a lease, and why (PROC-L12). */
export interface LeaseDecision {
  readonly lease: Lease;
  readonly decision: Decision;
  readonly sighting: Sighting;
  readonly why: string;
}

/**
 * Decides about each lease, so that every host gets ceil(leases ÷ hosts) in the end (PROC-L7). The host takes all free and
 * expired leases up to its share, else one lease from the owner with the most. .NET's EqualPartitionsBalancingStrategy
 * has the same rule.
 */
export function balance(leases: readonly Lease[], options: Balance): LeaseDecision[] {
  const { host, supervised, expired, handedOver, standingBack, starting = false, least = 0, most = 0 } = options;
  const sightings = new Map(leases.map((lease) => [lease, sightingOf(lease, options)]));
  const counts = new Map<string, number>([[host, 0]]);
  for (const lease of leases) {
    if (lease.owner === null || (lease.owner !== host && expired.has(lease.id))) continue;
    counts.set(lease.owner, (counts.get(lease.owner) ?? 0) + 1);
  }
  const share = Math.max(least, Math.ceil(leases.length / counts.size));
  const target = most > 0 ? Math.min(most, share) : share;
  // Leases from before a restart count as this host's own, even if it doesn't manage them yet.
  const mine = Math.max(counts.get(host) ?? 0, supervised.size);
  let mayTake = target - mine;
  let room = most > 0 ? most - mine : Infinity;
  let mayOwn = most > 0 ? most : Infinity;
  const others = [...counts].filter(([owner]) => owner !== host);
  const [largest, count] = others.reduce<[string, number]>((a, b) => (b[1] > a[1] ? b : a), ['', 0]);
  // Nothing is stolen while there is a free or expired lease.
  let maySteal = leases.some((lease) => isIdle(sightings.get(lease)) && !standingBack?.has(lease.id))
    ? 0
    : Number(count > target - (mayTake > 1 ? 1 : 0));
  // The lease that is listed last: its owner took it last.
  const victim = leases.findLast(
    (lease) =>
      lease.owner === largest &&
      sightings.get(lease) === 'live' &&
      !handedOver?.has(lease.id) &&
      !standingBack?.has(lease.id),
  );
  return leases.map((lease): LeaseDecision => {
    const sighting = sightings.get(lease) ?? 'live';
    const own = sighting === 'lapsed' || (sighting === 'own' && starting);
    const need: SharingNeed = own && mayOwn > 0 ? 'starting' : mayTake > 0 ? 'more' : 'none';
    const decision = DECISIONS[sighting][need];
    const decide = (decided: Decision, why: string): LeaseDecision => ({ lease, sighting, decision: decided, why });
    if (decision !== 'keep' && standingBack?.has(lease.id)) return decide('leave', STANDING_BACK);
    if (sighting === 'left' && room <= 0) return decide('leave', 'this host has the most leases that it may have');
    if (decision === 'take') {
      room -= 1;
      if (own) mayOwn -= 1;
      else mayTake -= 1;
      return decide('take', own ? 'it has the name of this host' : WHY[sighting]);
    }
    if (decision === 'steal') {
      if (lease !== victim || maySteal === 0)
        return decide(
          'leave',
          count > target ? 'this host steals one lease at a time' : `${lease.owner} has no more than its share`,
        );
      maySteal = 0;
      return decide('steal', `${largest} has ${count} leases, more than ${target}`);
    }
    if (decision === 'keep') return decide('keep', WHY[sighting]);
    return decide('leave', sighting === 'own' ? WHY.own : `this host has its share, ${target}`);
  });
}

const WHY: Readonly<Record<Sighting, string>> = {
  supervised: 'this host manages it',
  own: 'this host gave it up, and takes it again once it has expired',
  lapsed: 'this host gave it up, and it has expired since',
  free: 'it has no owner',
  expired: 'its owner has not written it for too long',
  left: 'no host took it',
  live: 'its owner writes it',
};

const STANDING_BACK = 'this host made no progress with it, and leaves it to other hosts for a while';

const isIdle = (sighting: Sighting | undefined): boolean =>
  sighting === 'free' || sighting === 'expired' || sighting === 'left';

export function sightingOf(
  lease: Lease,
  { host, supervised, expired, left }: Pick<Balance, 'host' | 'supervised' | 'expired' | 'left'>,
): Sighting {
  if (supervised.has(lease.id)) return 'supervised';
  if (left?.has(lease.id) && lease.owner !== host) return 'left';
  if (lease.owner === null) return 'free';
  if (expired.has(lease.id)) return lease.owner === host ? 'lapsed' : 'expired';
  return lease.owner === host ? 'own' : 'live';
}
