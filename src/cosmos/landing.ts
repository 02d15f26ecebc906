// Apart from connect.ts, which needs the client of Cosmos DB: `millrace/client` is loaded without one.

/** The longest a request may take, milliseconds; R in base/bounds.ts is above it. */
export const REQUEST_TIMEOUT_MS = 60_000;

/**
 * For a write to a sink: ends it, the SDK's own repetitions of a request that could not be sent included, so that
 * nothing lands later than R (base/bounds.ts).
 */
export const landingSignal = (): AbortSignal => AbortSignal.timeout(REQUEST_TIMEOUT_MS);
