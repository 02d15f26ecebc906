/** Bytes of an id (service quotas). */
export const MOST_ID_BYTES = 1_023;

/** Why Cosmos DB doesn't take a text as the id of a document; undefined: it does (ASM-E38). */
export function refusalOfId(id: string): string | undefined {
  const bytes = Buffer.byteLength(id);
  if (id === '') return 'is empty';
  if (bytes > MOST_ID_BYTES) return `has ${bytes.toLocaleString('en-US')} bytes; Cosmos DB takes 1,023 at most`;
  return /[/\\#]/.test(id) ? 'contains one of / \\ #' : undefined;
}
