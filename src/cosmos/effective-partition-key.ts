import { murmur128, murmur32 } from './murmur.ts';

/** One level of a partition key. `undefined`, or an object (`{}` on the wire), means that the document lacks the field. */
export type KeyPart = string | number | boolean | null | undefined | object;

export type PartitionKind = 'Hash' | 'MultiHash';

const TAG = { undefined: 0, null: 1, false: 2, true: 3, number: 5, string: 8 } as const;
const LONGEST_V1 = 100;
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0').toUpperCase());

const encoder = new TextEncoder();
const double = new DataView(new ArrayBuffer(8));
let scratch = new Uint8Array(8192);

/**
 * The effective partition key: upper-case hex, in the same text order as the service's feed ranges. A hierarchical key
 * (`MultiHash`) may be a prefix: every full key below it starts with the hash of the prefix, so the prefix covers
 * [hash, hash + 'FF'). Tested with `test/cosmos/epk-vectors.json`.
 */
export function effectivePartitionKey(values: readonly KeyPart[], kind: PartitionKind, version: 1 | 2): string {
  if (kind === 'MultiHash') return values.map(hashV2).join('');
  return version === 1 ? hashV1(values[0]) : hashV2(values[0]);
}

function hashV2(part: KeyPart): string {
  const [ah, al, bh, bl] = murmur128(scratch, write(part));
  // The service reverses the bytes of the hash, so the second half comes first. It clears two bits: every key is below 'FF'.
  return hex32(bh & 0x3fffffff) + hex32(bl) + hex32(ah) + hex32(al);
}

const hex32 = (n: number): string => HEX[n >>> 24]! + HEX[(n >>> 16) & 255]! + HEX[(n >>> 8) & 255]! + HEX[n & 255]!;

/** Writes the tagged bytes of one level into `scratch` and returns their number. */
function write(part: KeyPart): number {
  if (typeof part === 'string') {
    if (part.length * 3 + 2 > scratch.length) scratch = new Uint8Array(part.length * 3 + 2);
    scratch[0] = TAG.string;
    const { written } = encoder.encodeInto(part, scratch.subarray(1));
    scratch[written + 1] = 0xff;
    return written + 2;
  }
  if (typeof part === 'number') {
    scratch[0] = TAG.number;
    double.setFloat64(0, part, true);
    for (let i = 0; i < 8; i++) scratch[i + 1] = double.getUint8(i);
    return 9;
  }
  scratch[0] = tagOf(part);
  return 1;
}

function tagOf(part: boolean | null | undefined | object): number {
  if (part === null) return TAG.null;
  return typeof part === 'boolean' ? (part ? TAG.true : TAG.false) : TAG.undefined;
}

function hashV1(part: KeyPart): string {
  const bytes: number[] = [];
  let value: number[];
  if (typeof part === 'string') {
    const text = encoder.encode(part.slice(0, LONGEST_V1));
    bytes.push(TAG.string, ...text, 0);
    value = [TAG.string, ...text.map((byte) => (byte < 0xff ? byte + 1 : byte)), 0];
  } else if (typeof part === 'number') {
    double.setFloat64(0, part, true);
    bytes.push(TAG.number);
    for (let i = 0; i < 8; i++) bytes.push(double.getUint8(i));
    value = orderedNumber(part);
  } else {
    bytes.push(tagOf(part));
    value = [tagOf(part)];
  }
  return [...orderedNumber(murmur32(Uint8Array.from(bytes))), ...value].map((byte) => HEX[byte]!).join('');
}

/** Encodes a number so that the bytes sort like the numbers: 8 bits, then groups of 7 with a continuation bit. */
function orderedNumber(value: number): number[] {
  double.setFloat64(0, value);
  const raw = double.getBigUint64(0);
  const sign = 1n << 63n;
  const all = (1n << 64n) - 1n;
  let rest = raw < sign ? raw ^ sign : (~raw + 1n) & all;
  const bytes = [TAG.number, Number(rest >> 56n)];
  rest = (rest << 8n) & all;
  let pending: number | undefined;
  do {
    if (pending !== undefined) bytes.push(pending);
    pending = Number(rest >> 56n) | 1;
    rest = (rest << 7n) & all;
  } while (rest !== 0n);
  if ((pending & 0xfe) !== 0) bytes.push(pending & 0xfe);
  return bytes;
}

/**
 * The boundaries between the physical partitions of a new container: `count - 1` effective partition keys, evenly
 * spaced over the hash space (2^126 for version 2, 2^32 for version 1).
 */
export function evenBoundaries(count: number, version: 1 | 2): string[] {
  return Array.from({ length: count - 1 }, (_, i) =>
    version === 1
      ? orderedNumber(Math.floor(((i + 1) * 2 ** 32) / count))
          .map((byte) => HEX[byte]!)
          .join('')
      : ((BigInt(i + 1) << 126n) / BigInt(count)).toString(16).padStart(32, '0').toUpperCase(),
  );
}
