/** The fields that Cosmos DB adds to a document; `_lsn` is added to a change only. */
export const SYSTEM_FIELDS: ReadonlySet<string> = new Set(['_rid', '_self', '_etag', '_attachments', '_ts', '_lsn']);

/** A document without the fields of Cosmos DB. */
export const withoutSystemFields = (document: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(document).filter(([field]) => !SYSTEM_FIELDS.has(field)));
