/** What Cosmos DB adds to a document, and to a change the `_lsn`. */
export const SYSTEM_FIELDS: ReadonlySet<string> = new Set(['_rid', '_self', '_etag', '_attachments', '_ts', '_lsn']);

/** A document as whoever stores it has it. */
export const withoutSystemFields = (document: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(document).filter(([field]) => !SYSTEM_FIELDS.has(field)));
