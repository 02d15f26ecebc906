/**
 * The event hub partition of a partition key, 0 to `partitions` - 1: Bob Jenkins' lookup3 over its UTF-8, folded to
 * 16 bits. Event Hubs and the buffered producer of its client use the same hash; a test compares this one with the
 * client's.
 */
export function partitionOf(partitionKey: string, partitions: number): number {
  const { b, c } = lookup3(Buffer.from(partitionKey, 'utf8'));
  const folded = ((b ^ c) << 16) >> 16;
  return Math.abs(folded % partitions);
}

const rotate = (value: number, by: number): number => (value << by) | (value >>> (32 - by));

function lookup3(data: Buffer): { b: number; c: number } {
  let a = (0xdeadbeef + data.length) | 0;
  let b = a;
  let c = a;
  let at = 0;
  for (; data.length - at > 12; at += 12) {
    a = (a + data.readInt32LE(at)) | 0;
    b = (b + data.readInt32LE(at + 4)) | 0;
    c = (c + data.readInt32LE(at + 8)) | 0;
    a = (a - c) ^ rotate(c, 4);
    c = (c + b) | 0;
    b = (b - a) ^ rotate(a, 6);
    a = (a + c) | 0;
    c = (c - b) ^ rotate(b, 8);
    b = (b + a) | 0;
    a = (a - c) ^ rotate(c, 16);
    c = (c + b) | 0;
    b = (b - a) ^ rotate(a, 19);
    a = (a + c) | 0;
    c = (c - b) ^ rotate(b, 4);
    b = (b + a) | 0;
  }
  if (at === data.length) return { b, c };
  // What is left is padded with zeros, which add nothing.
  const rest = Buffer.alloc(12);
  data.copy(rest, 0, at);
  a = (a + rest.readInt32LE(0)) | 0;
  b = (b + rest.readInt32LE(4)) | 0;
  c = (c + rest.readInt32LE(8)) | 0;
  c = ((c ^ b) - rotate(b, 14)) | 0;
  a = ((a ^ c) - rotate(c, 11)) | 0;
  b = ((b ^ a) - rotate(a, 25)) | 0;
  c = ((c ^ b) - rotate(b, 16)) | 0;
  a = ((a ^ c) - rotate(c, 4)) | 0;
  b = ((b ^ a) - rotate(a, 14)) | 0;
  c = ((c ^ b) - rotate(b, 24)) | 0;
  return { b, c };
}
