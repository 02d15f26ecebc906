// The time bounds of PROC-L13 and PROC-L13a: T > B + R + skew. Otherwise a late write could undo a newer one.

/** B: the longest time from reading a page to starting a write for it, milliseconds. */
export const WRITE_BOUND_MS = 120_000;
/** R: how long a request may still take effect after it was sent, milliseconds: more than the client's timeout. */
export const LANDING_BOUND_MS = 65_000;
/** The most that the clocks of two hosts may differ, milliseconds. */
export const CLOCK_SKEW_MS = 90_000;
/** After this, nothing takes effect any more that was decided by what was read before: B + R + skew, milliseconds. */
export const WRITE_GRACE_MS = WRITE_BOUND_MS + LANDING_BOUND_MS + CLOCK_SKEW_MS;
/** T: how long tombstones, and the locators of deleted documents, are kept, seconds. */
export const TOMBSTONE_TTL_S = 3_600;
