import { first } from '../../search.ts';
import { compareAny } from '../../sql/values.ts';
import type { QueryBound } from '../../sql/restrictions.ts';
import type { StoredItem, StoredVersion } from './logical-partition.ts';
import { storedValueAt } from './keys.ts';
import type { WireDoc } from '../wire/wire.ts';

const CHUNK = 2048;

interface Entry {
  readonly value: unknown;
  readonly item: StoredItem;
}

const order = (a: Entry, b: Entry): number => compareAny(a.value, b.value) || a.item.seq - b.item.seq;

/**
 * An index: the sorted values at one path of a container's items, for equalities and ranges. It is stored in chunks, so
 * that a write moves a few thousand entries at most.
 */
export class ValueIndex {
  readonly #path: readonly string[];
  #chunks: Entry[][] = [];
  readonly #entries = new Map<StoredItem, Entry>();

  constructor(path: readonly string[], versions: Iterable<StoredVersion>) {
    this.#path = path;
    const all: Entry[] = [];
    for (const version of versions) {
      const entry = this.#entryOf(version.item, version.parsed());
      if (entry) all.push(entry);
    }
    all.sort(order);
    for (let at = 0; at < all.length; at += CHUNK) this.#chunks.push(all.slice(at, at + CHUNK));
  }

  /** Updates the entry of an item; without `doc` it removes the entry. */
  update(item: StoredItem, doc: WireDoc | undefined): void {
    const before = this.#entries.get(item);
    if (before && doc && storedValueAt(doc, this.#path) === before.value) return;
    if (before) this.#remove(before);
    this.#entries.delete(item);
    const entry = doc && this.#entryOf(item, doc);
    if (entry) this.#insert(entry);
  }

  /** The items whose value is within the bound, each once. */
  *find({ values, low, high }: QueryBound): Generator<StoredItem, void> {
    if (!values) yield* this.#between(low, high);
    else for (const value of new Set(values)) yield* this.#between(value, value);
  }

  /** How many items `find` gives, without going through them. */
  count({ values, low, high }: QueryBound): number {
    if (!values) return this.#countBetween(low, high);
    let sum = 0;
    for (const value of new Set(values)) sum += this.#countBetween(value, value);
    return sum;
  }

  /** Whether `find` gives this item. */
  has(item: StoredItem, { values, low, high }: QueryBound): boolean {
    const entry = this.#entries.get(item);
    if (!entry) return false;
    const isBetween = (least: unknown, most: unknown): boolean =>
      (least === undefined || compareAny(entry.value, least) >= 0) &&
      (most === undefined || compareAny(entry.value, most) <= 0);
    return values ? values.some((value) => isBetween(value, value)) : isBetween(low, high);
  }

  #countBetween(low: unknown, high: unknown): number {
    const [begin, offset] = this.#from(low);
    const [end, beyond] =
      high === undefined ? [this.#chunks.length, 0] : this.#seek((value) => compareAny(value, high) > 0);
    let sum = beyond - offset;
    for (let chunk = begin; chunk < end; chunk++) sum += this.#chunks[chunk]!.length;
    return sum;
  }

  #from(low: unknown): [chunk: number, at: number] {
    return low === undefined ? [0, 0] : this.#seek((value) => compareAny(value, low) >= 0);
  }

  *#between(low: unknown, high: unknown): Generator<StoredItem, void> {
    const [begin, offset] = this.#from(low);
    for (let chunk = begin; chunk < this.#chunks.length; chunk++) {
      const entries = this.#chunks[chunk]!;
      for (let at = chunk === begin ? offset : 0; at < entries.length; at++) {
        const { value, item } = entries[at]!;
        if (high !== undefined && compareAny(value, high) > 0) return;
        yield item;
      }
    }
  }

  #entryOf(item: StoredItem, doc: WireDoc): Entry | undefined {
    const value = storedValueAt(doc, this.#path);
    if (value === undefined) return undefined;
    const entry = { value, item };
    this.#entries.set(item, entry);
    return entry;
  }

  #insert(entry: Entry): void {
    const [chunk, at] = this.#seek((value, item) => order({ value, item }, entry) >= 0);
    const entries = this.#chunks[Math.min(chunk, this.#chunks.length - 1)];
    if (!entries) {
      this.#chunks.push([entry]);
      return;
    }
    entries.splice(chunk < this.#chunks.length ? at : entries.length, 0, entry);
    if (entries.length > 2 * CHUNK) this.#chunks.splice(this.#chunks.indexOf(entries) + 1, 0, entries.splice(CHUNK));
  }

  #remove(entry: Entry): void {
    const [chunk, at] = this.#seek((value, item) => order({ value, item }, entry) >= 0);
    const entries = this.#chunks[chunk];
    if (entries?.[at] !== entry) return;
    entries.splice(at, 1);
    if (entries.length === 0) this.#chunks.splice(chunk, 1);
  }

  /** The place of the first entry for which `enough` holds: its chunk, and its place there. */
  #seek(enough: (value: unknown, item: StoredItem) => boolean): [chunk: number, at: number] {
    const far = ({ value, item }: Entry): boolean => enough(value, item);
    const chunk = first(this.#chunks.length, (at) => far(this.#chunks[at]!.at(-1)!));
    const entries = this.#chunks[chunk] ?? [];
    return [chunk, first(entries.length, (at) => far(entries[at]!))];
  }
}
