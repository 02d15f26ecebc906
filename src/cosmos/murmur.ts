// MurmurHash3 (Austin Appleby, public domain algorithm) in 32-bit halves: BigInt is about fifty times slower, and the
// engine needs a hash for each change.

let high = 0;

/** High 32 bits of the unsigned product of two 32-bit numbers. */
function productHigh(a: number, b: number): number {
  const a0 = a & 0xffff;
  const a1 = a >>> 16;
  const b0 = b & 0xffff;
  const b1 = b >>> 16;
  const p01 = a0 * b1;
  const p10 = a1 * b0;
  const middle = ((a0 * b0) >>> 16) + (p01 & 0xffff) + (p10 & 0xffff);
  return (a1 * b1 + (p01 >>> 16) + (p10 >>> 16) + (middle >>> 16)) | 0;
}

// Each of these returns the low half and leaves the high half in `high`.
function multiply(ah: number, al: number, bh: number, bl: number): number {
  high = (productHigh(al, bl) + Math.imul(ah, bl) + Math.imul(al, bh)) | 0;
  return Math.imul(al, bl);
}

function add(ah: number, al: number, bh: number, bl: number): number {
  const low = (al >>> 0) + (bl >>> 0);
  high = (ah + bh + (low > 0xffffffff ? 1 : 0)) | 0;
  return low | 0;
}

function rotateLeft(ah: number, al: number, n: number): number {
  if (n < 32) {
    high = (ah << n) | (al >>> (32 - n));
    return (al << n) | (ah >>> (32 - n));
  }
  const m = n - 32;
  high = m === 0 ? al : (al << m) | (ah >>> (32 - m));
  return m === 0 ? ah : (ah << m) | (al >>> (32 - m));
}

function finish(ah: number, al: number): number {
  let h = ah;
  let l = al ^ (ah >>> 1);
  l = multiply(h, l, 0xff51afd7, 0xed558ccd);
  h = high;
  l ^= h >>> 1;
  l = multiply(h, l, 0xc4ceb9fe, 0x1a85ec53);
  h = high;
  l ^= h >>> 1;
  high = h;
  return l;
}

const word = (bytes: Uint8Array, at: number): number =>
  bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);

/** The x64 128-bit variant with seed 0: `[h1 high, h1 low, h2 high, h2 low]` as signed 32-bit numbers. */
export function murmur128(bytes: Uint8Array, length: number): readonly [number, number, number, number] {
  let ah = 0;
  let al = 0;
  let bh = 0;
  let bl = 0;
  let at = 0;
  for (; at + 16 <= length; at += 16) {
    let kl = multiply(word(bytes, at + 4), word(bytes, at), 0x87c37b91, 0x114253d5);
    kl = rotateLeft(high, kl, 31);
    kl = multiply(high, kl, 0x4cf5ad43, 0x2745937f);
    al = rotateLeft(ah ^ high, al ^ kl, 27);
    al = add(high, al, bh, bl);
    al = multiply(high, al, 0, 5);
    al = add(high, al, 0, 0x52dce729);
    ah = high;
    kl = multiply(word(bytes, at + 12), word(bytes, at + 8), 0x4cf5ad43, 0x2745937f);
    kl = rotateLeft(high, kl, 33);
    kl = multiply(high, kl, 0x87c37b91, 0x114253d5);
    bl = rotateLeft(bh ^ high, bl ^ kl, 31);
    bl = add(high, bl, ah, al);
    bl = multiply(high, bl, 0, 5);
    bl = add(high, bl, 0, 0x38495ab5);
    bh = high;
  }
  const rest = new Uint8Array(16);
  rest.set(bytes.subarray(at, length));
  if (length - at > 8) {
    let kl = multiply(word(rest, 12), word(rest, 8), 0x4cf5ad43, 0x2745937f);
    kl = rotateLeft(high, kl, 33);
    kl = multiply(high, kl, 0x87c37b91, 0x114253d5);
    bh ^= high;
    bl ^= kl;
  }
  if (length - at > 0) {
    let kl = multiply(word(rest, 4), word(rest, 0), 0x87c37b91, 0x114253d5);
    kl = rotateLeft(high, kl, 31);
    kl = multiply(high, kl, 0x4cf5ad43, 0x2745937f);
    ah ^= high;
    al ^= kl;
  }
  al ^= length;
  bl ^= length;
  al = add(ah, al, bh, bl);
  ah = high;
  bl = add(bh, bl, ah, al);
  bh = high;
  al = finish(ah, al);
  ah = high;
  bl = finish(bh, bl);
  bh = high;
  al = add(ah, al, bh, bl);
  ah = high;
  bl = add(bh, bl, ah, al);
  bh = high;
  return [ah, al, bh, bl];
}

function scramble(k: number): number {
  const mixed = Math.imul(k, 0xcc9e2d51);
  return Math.imul((mixed << 15) | (mixed >>> 17), 0x1b873593);
}

/** The x86 32-bit variant with seed 0, unsigned. */
export function murmur32(bytes: Uint8Array): number {
  let h = 0;
  let at = 0;
  for (; at + 4 <= bytes.length; at += 4) {
    h ^= scramble(word(bytes, at));
    h = (Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64) | 0;
  }
  let k = 0;
  for (let i = bytes.length - 1; i >= at; i--) k = (k << 8) | bytes[i]!;
  if (at < bytes.length) h ^= scramble(k);
  h ^= bytes.length;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
