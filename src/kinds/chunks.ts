import { MAX_BATCH, MAX_BATCH_BYTES } from '../access/document-access.ts';

/** Divides a list so that each part fits one transactional batch and leaves `reserved` operations and bytes free. */
export function chunksOf<T>(
  items: readonly T[],
  bytesOf: (item: T) => number,
  reserved = { operations: 0, bytes: 0 },
  operationsOf: (item: T) => number = () => 1,
): T[][] {
  const chunks: T[][] = [];
  let chunk: T[] = [];
  let { operations, bytes } = reserved;
  for (const item of items) {
    const size = bytesOf(item);
    const count = operationsOf(item);
    if (chunk.length > 0 && (operations + count > MAX_BATCH || bytes + size > MAX_BATCH_BYTES)) {
      chunks.push(chunk);
      chunk = [];
      ({ operations, bytes } = reserved);
    }
    chunk.push(item);
    operations += count;
    bytes += size;
  }
  if (chunk.length > 0) chunks.push(chunk);
  return chunks;
}
