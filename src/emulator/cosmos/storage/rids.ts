const ridText = (bytes: Buffer): string => bytes.toString('base64').replaceAll('/', '-');

/** 4 bytes. */
export function databaseRid(n: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(n);
  return ridText(bytes);
}

/** 8 bytes: the client drops session tokens of a container whose id decodes to anything else. */
export function containerRid(database: string, n: number): string {
  const bytes = Buffer.alloc(8);
  Buffer.from(database.replaceAll('-', '/'), 'base64').copy(bytes);
  bytes.writeUInt32BE((0x80000000 + n) >>> 0, 4);
  return ridText(bytes);
}

/** The number that a container's id was made from. */
export const ridNumber = (rid: string): number =>
  Buffer.from(rid.replaceAll('-', '/'), 'base64').readUInt32BE(4) - 0x80000000;

// One buffer for all items, for speed: each call overwrites the same twelve bytes, and the last four stay zero.
const item = Buffer.alloc(16);

/** 16 bytes for an item. */
export function itemRid(container: string, n: number): string {
  item.write(container.replaceAll('-', '/'), 0, 8, 'base64');
  item.writeUInt32LE(n >>> 0, 8);
  return ridText(item);
}
