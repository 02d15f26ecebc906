// The time bounds of R0 (docs/SPEC-processor.md, pages). T > B + R + skew must hold, or a late writer could undo what came after it.

/** B: no sink write is started more than this after its page was read, milliseconds. */
export const WRITE_BOUND_MS = 120_000;
/** R: the longest a request already sent may still land, milliseconds: the client's request timeout and some. */
export const LANDING_BOUND_MS = 65_000;
/** Clocks of hosts may differ by this, milliseconds. */
export const CLOCK_SKEW_MS = 90_000;
/** T: how long tombstones and the locators of deleted documents live, seconds. */
export const TOMBSTONE_TTL_S = 3_600;
