import { createHash } from 'node:crypto';

/** So many, that of a million documents a bucket has some fifteen; they take half a megabyte. */
const BUCKETS = 2 ** 16;

const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest();
const bucketOf = (place: string): number => hashOf(place).readUInt16LE();

/**
 * Digests of what two sides have, by place, so that comparing them takes the same memory whatever their size. What both have
 * leaves no trace: each entry is added once for each side, and a bucket of which all entries were added twice is zero.
 */
export class Buckets {
  readonly #words = new Int32Array(3 * BUCKETS);

  add(place: string, entry = place): void {
    const at = 3 * bucketOf(place);
    const hash = hashOf(entry);
    // Not the bytes that choose the bucket.
    for (let word = 0; word < 3; word++) this.#words[at + word]! ^= hash.readInt32LE(4 + 4 * word);
  }

  get areSame(): boolean {
    return this.#words.every((word) => word === 0);
  }

  /** Whether the sides may differ there. */
  differs(place: string): boolean {
    const at = 3 * bucketOf(place);
    return [0, 1, 2].some((word) => this.#words[at + word] !== 0);
  }
}
