import { LANDING_BOUND_MS } from '../../base/bounds.ts';

/** The longest time between two heartbeats of a member. */
export const HEARTBEAT_MS = 3_000;
/** This long after it sent its last acknowledged heartbeat, a member lets no write through until another is acknowledged. */
export const EXPIRY_MS = 15_000;
/**
 * How long a member's document lives after its last heartbeat. By then the last write that it allowed has taken effect.
 * Two seconds are added, because the service counts whole seconds.
 */
export const MEMBER_TTL_S = (EXPIRY_MS + LANDING_BOUND_MS) / 1_000 + 2;
/** A gate that stays closed for this long is opened again by its members. */
export const REOPEN_MS = 120_000;
/** How often a member reads a gate that has just closed, or is about to close, and for how long. */
export const CLOSING_POLL_MS = 40;
export const CLOSING_POLLED_MS = 10_000;
/** Work that holds keys of a shard for longer isn't waited for by the next: it may have died. */
export const TURN_MS = 5_000;
