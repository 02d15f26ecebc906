/**
 * Discriminator of the placeholder that holds a document's place while it is restored. It is no document of anybody:
 * the feed's mapper passes over it as over everything of Millrace's own.
 */
export const RESTORING = 'millrace.restoring';

/** Of a restore that crashed: the next one takes its placeholder over in any case. Seconds. */
export const RESTORING_TTL_S = 300;
