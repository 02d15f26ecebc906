/** A lease as a host sees it in a listing. */
export type Sighting =
  /** Ours, and supervised. */
  | 'supervised'
  /** In our name, but not supervised: from before a restart, or given up by us a moment ago. */
  | 'own'
  /** The same, and long enough ago for it to have expired. */
  | 'lapsed'
  /** Without owner. */
  | 'free'
  /** Somebody's who has not written it for longer than the expiration, as long as we have watched. */
  | 'expired'
  /** One of these two for so long that nobody below its share can want it. */
  | 'left'
  /** Somebody's who writes it. */
  | 'live';

/** What this host is looking for. */
export type Need =
  /** Its own back: nobody else uses its name. */
  | 'starting'
  /** Below its share. */
  | 'more'
  /** At or above its share, or leaving. */
  | 'none';

export type Decision = 'keep' | 'take' | 'steal' | 'leave';

/** What becomes of a lease in a balance; `steal` is granted to one lease at most, and only from a larger owner. */
export const DECISIONS = {
  supervised: { starting: 'keep', more: 'keep', none: 'keep' },
  own: { starting: 'take', more: 'leave', none: 'leave' },
  lapsed: { starting: 'take', more: 'take', none: 'leave' },
  free: { starting: 'take', more: 'take', none: 'leave' },
  expired: { starting: 'take', more: 'take', none: 'leave' },
  left: { starting: 'take', more: 'take', none: 'take' },
  live: { starting: 'steal', more: 'steal', none: 'leave' },
} as const satisfies Record<Sighting, Record<Need, Decision>>;
