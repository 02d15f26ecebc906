import type { Lease } from '../leases/lease.ts';
import { DECISIONS, type Decision, type Need, type Sighting } from './decisions.ts';

export interface Balance {
  readonly host: string;
  /** Leases that this host looks after now. */
  readonly supervised: ReadonlySet<string>;
  /** Leases nobody wrote for longer than the expiration, as this host saw them (L11: by observation, not by clocks). */
  readonly expired: ReadonlySet<string>;
  /** Leases whose former owner may still act: they are taken from nobody until that is over. */
  readonly handedOver?: ReadonlySet<string>;
  /** Of these, and of the free ones, those that nobody has taken since: whoever sees them takes them, whatever its share. */
  readonly left?: ReadonlySet<string>;
  /** Leases that this host gave up as nothing came of having them: others go first. */
  readonly standingBack?: ReadonlySet<string>;
  /** True in the first balance of a host: what is in its name is its own. */
  readonly starting?: boolean;
  /** A host's least and most leases, whatever its share; 0 or absent: no such limit. */
  readonly least?: number | undefined;
  readonly most?: number | undefined;
}

/** What becomes of a lease, and why (L12). */
export interface Verdict {
  readonly lease: Lease;
  readonly decision: Decision;
  readonly sighting: Sighting;
  readonly why: string;
}

/**
 * What this host does about each lease, so that every host converges on ceil(leases ÷ hosts) (L7): all free and expired
 * ones up to its share at once, else one from the largest owner. The rule is that of .NET's EqualPartitionsBalancingStrategy.
 */
export function balance(leases: readonly Lease[], options: Balance): Verdict[] {
  const { host, supervised, expired, handedOver, standingBack, starting = false, least = 0, most = 0 } = options;
  const sightings = new Map(leases.map((lease) => [lease, sightingOf(lease, options)]));
  const held = new Map<string, number>([[host, 0]]);
  for (const lease of leases) {
    if (lease.owner === null || (lease.owner !== host && expired.has(lease.id))) continue;
    held.set(lease.owner, (held.get(lease.owner) ?? 0) + 1);
  }
  const share = Math.max(least, Math.ceil(leases.length / held.size));
  const target = most > 0 ? Math.min(most, share) : share;
  // What this host had before it was started counts as its own, whether it runs by now or not.
  const mine = Math.max(held.get(host) ?? 0, supervised.size);
  let mayTake = target - mine;
  let room = most > 0 ? most - mine : Infinity;
  let mayOwn = most > 0 ? most : Infinity;
  const others = [...held].filter(([owner]) => owner !== host);
  const [largest, count] = others.reduce<[string, number]>((a, b) => (b[1] > a[1] ? b : a), ['', 0]);
  // Nothing is stolen while something can be had for nothing.
  let maySteal = leases.some((lease) => isIdle(sightings.get(lease)) && !standingBack?.has(lease.id))
    ? 0
    : Number(count > target - (mayTake > 1 ? 1 : 0));
  // The last listed of the largest owner's goes first: it is the one that its owner took last.
  const victim = leases.findLast(
    (lease) =>
      lease.owner === largest &&
      sightings.get(lease) === 'live' &&
      !handedOver?.has(lease.id) &&
      !standingBack?.has(lease.id),
  );
  return leases.map((lease): Verdict => {
    const sighting = sightings.get(lease) ?? 'live';
    const own = sighting === 'lapsed' || (sighting === 'own' && starting);
    const need: Need = own && mayOwn > 0 ? 'starting' : mayTake > 0 ? 'more' : 'none';
    const decision = DECISIONS[sighting][need];
    const verdict = (decided: Decision, why: string): Verdict => ({ lease, sighting, decision: decided, why });
    if (decision !== 'keep' && standingBack?.has(lease.id)) return verdict('leave', STANDING_BACK);
    if (sighting === 'left' && room <= 0) return verdict('leave', 'this host has as many as it may');
    if (decision === 'take') {
      room -= 1;
      if (own) mayOwn -= 1;
      else mayTake -= 1;
      return verdict('take', own ? 'it is in our name' : WHY[sighting]);
    }
    if (decision === 'steal') {
      if (lease !== victim || maySteal === 0)
        return verdict(
          'leave',
          count > target ? 'one is stolen at a time' : `${lease.owner} has no more than its share`,
        );
      maySteal = 0;
      return verdict('steal', `${largest} has ${count} leases, more than ${target}`);
    }
    if (decision === 'keep') return verdict('keep', WHY[sighting]);
    return verdict('leave', sighting === 'own' ? WHY.own : `this host has its share, ${target}`);
  });
}

const WHY: Readonly<Record<Sighting, string>> = {
  supervised: 'it is looked after here',
  own: 'it was given up here, and is taken again once it has expired',
  lapsed: 'it was given up here, and has expired since',
  free: 'it has no owner',
  expired: 'its owner has not written it for too long',
  left: 'nobody took it',
  live: 'its owner writes it',
};

const STANDING_BACK = 'nothing came of having it here: it is left to others for a while';

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
