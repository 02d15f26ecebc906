import { MAX_BATCH, MAX_BATCH_BYTES } from '../access/document-access.ts';

/** Divides a list so that each part fits one transactional batch and leaves `reserved` operations and bytes free. */
export function chunksOf<T>(
  items: readonly T[],
  bytesOf: (item: T) => number,
  reserved = { operations: 0, bytes: 0 },
): T[][] {
  const chunks: T[][] = [];
  let chunk: T[] = [];
  let bytes = reserved.bytes;
  for (const item of items) {
    const size = bytesOf(item);
    if (chunk.length > 0 && (chunk.length + reserved.operations >= MAX_BATCH || bytes + size > MAX_BATCH_BYTES)) {
      chunks.push(chunk);
      chunk = [];
      bytes = reserved.bytes;
    }
    chunk.push(item);
    bytes += size;
  }
  if (chunk.length > 0) chunks.push(chunk);
  return chunks;
}
