/**
 * Discriminator of the placeholder that keeps a document's place while it is restored. The feed's mapper ignores it, as
 * it ignores all documents of Millrace's own.
 */
export const RESTORING = 'millrace.restoring';

/** Time to live of a placeholder after a restore that crashed, seconds. The next restore may take it over before. */
export const RESTORING_TTL_S = 300;
