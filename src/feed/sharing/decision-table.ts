/** The state of a lease, as a host sees it in a list. */
export type Sighting =
  /** This host manages it. */
  | 'supervised'
  /** It has this host's name, but isn't managed: from before a restart, or just given up. */
  | 'own'
  /** The same, but expired. */
  | 'lapsed'
  /** It has no owner. */
  | 'free'
  /** Another host has it, but did not write it for longer than the expiration while this host observed it. */
  | 'expired'
  /** Free or expired for so long that every host below its share could have taken it. */
  | 'left'
  /** Another host has it and writes it. */
  | 'live';

/** What this host needs. */
export type SharingNeed =
  /** Its own leases back: no other host uses its name. */
  | 'starting'
  /** Below its share. */
  | 'more'
  /** At or above its share, or leaving. */
  | 'none';

export type Decision = 'keep' | 'take' | 'steal' | 'leave';

/** The decision for each lease in a balance. At most one lease is stolen, and only from an owner with more leases. */
export const DECISIONS = {
  supervised: { starting: 'keep', more: 'keep', none: 'keep' },
  own: { starting: 'take', more: 'leave', none: 'leave' },
  lapsed: { starting: 'take', more: 'take', none: 'leave' },
  free: { starting: 'take', more: 'take', none: 'leave' },
  expired: { starting: 'take', more: 'take', none: 'leave' },
  left: { starting: 'take', more: 'take', none: 'take' },
  live: { starting: 'steal', more: 'steal', none: 'leave' },
} as const satisfies Record<Sighting, Record<SharingNeed, Decision>>;
