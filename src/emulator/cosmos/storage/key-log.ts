import { first } from '../../search.ts';

interface Placed {
  readonly lsn: number;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** The newest versions of one key by ascending lsn; those of one lsn in any order. It holds until the key's next write. */
export class KeyLog<V extends Placed> {
  readonly versions: readonly V[];
  /** For each version the latest time of those up to it: a clock may go back. */
  readonly #latest: number[] = [];

  constructor(versions: readonly V[]) {
    this.versions = versions.toSorted((a, b) => a.lsn - b.lsn);
    let latest = 0;
    for (const { at } of this.versions) this.#latest.push((latest = Math.max(latest, at)));
  }

  /** Index of the first version above `lsn`, without those that are older than `since`, as far as none of them isn't. */
  after(lsn: number, since: number): number {
    const { length } = this.versions;
    const later = first(length, (at) => this.#latest[at]! >= since);
    return Math.max(
      later,
      first(length, (at) => this.versions[at]!.lsn > lsn),
    );
  }
}
