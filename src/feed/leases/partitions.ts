import type { Container } from '@azure/cosmos';
import type { FeedRange } from '../../cosmos/ranges.ts';
import { withRetry } from '../../cosmos/retry.ts';

interface Partition {
  readonly id: string;
  readonly range: FeedRange;
  /** Every earlier partition that became this one by splits and merges. */
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

  /** The id of the partition with exactly this range. */
  idOf({ min, max }: FeedRange): string | undefined {
    return this.#all.find(({ range }) => range.min === min && range.max === max)?.id;
  }

  /**
   * The range of a partition by its id. If it was split since, the range of its parts together. After a merge that range
   * is wider than the old one, whose borders are not stored. Undefined if no partition came from it (another container).
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
