import type { Container } from '@azure/cosmos';
import type { FeedRange } from '../../cosmos/ranges.ts';
import { withRetry } from '../../cosmos/retry.ts';

interface Partition {
  readonly id: string;
  readonly range: FeedRange;
  /** Every partition it came from, by splits and merges. */
  readonly parents: readonly string[];
}

/** A container's physical partitions at one moment. */
export class Partitions {
  readonly #all: readonly Partition[];

  constructor(all: readonly Partition[]) {
    this.#all = all;
  }

  static async read(container: Container): Promise<Partitions> {
    const { resources } = await withRetry(() => container.readPartitionKeyRanges().fetchAll(), { reads: true });
    const found = resources as { id: string; minInclusive: string; maxExclusive: string; parents?: string[] | null }[];
    return new Partitions(
      found.map(({ id, minInclusive: min, maxExclusive: max, parents }) => ({
        id,
        range: { min, max },
        parents: parents ?? [],
      })),
    );
  }

  get ranges(): readonly FeedRange[] {
    return this.#all.map(({ range }) => range);
  }

  /** The partition that is exactly this range. */
  idOf({ min, max }: FeedRange): string | undefined {
    return this.#all.find(({ range }) => range.min === min && range.max === max)?.id;
  }

  /**
   * The range of a partition by its id, also of one that was split since: what came of it, together. After a merge that is
   * wider than it was, since nobody remembers its borders; undefined where nothing came of it (another container's).
   */
  rangeOf(id: string): FeedRange | undefined {
    const now = this.#all.find((each) => each.id === id);
    if (now) return now.range;
    const heirs = this.#all.filter(({ parents }) => parents.includes(id)).map(({ range }) => range);
    const [first, ...others] = heirs;
    return first && others.reduce(hull, first);
  }
}

const hull = (a: FeedRange, b: FeedRange): FeedRange => ({
  min: a.min < b.min ? a.min : b.min,
  max: a.max > b.max ? a.max : b.max,
});
