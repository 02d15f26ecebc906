// Not in connect.ts, which imports the Cosmos DB client: `millrace/client` must load without it.

/** Timeout of a request, milliseconds. R in base/bounds.ts is longer. */
export const REQUEST_TIMEOUT_MS = 60_000;

/**
 * For a write to a sink: ends the write, with the SDK's own retries of a request that it could not send, so that no
 * write takes effect later than R (base/bounds.ts).
 */
export const landingSignal = (): AbortSignal => AbortSignal.timeout(REQUEST_TIMEOUT_MS);
