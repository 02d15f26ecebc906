// The ranges of one container's feed, as the hosts of a random history read them: where each is, and where they have been.
import { effectivePartitionKey } from '../../src/cosmos/effective-partition-key.ts';
import { type FeedRange, FULL_RANGE } from '../../src/cosmos/ranges.ts';
import { type RangePosition, contains, lsnOf, positionIn } from '../../src/feed/reading/position.ts';
import type { RangeGone } from '../../src/feed/reading/source.ts';

export interface Part extends RangePosition {
  position: string;
  /** How far any host has applied it. */
  shownTo: number;
}

export class Ranges {
  #parts: Part[] = [{ range: FULL_RANGE, position: '', shownTo: 0 }];
  readonly #saved: (readonly RangePosition[])[] = [];

  get parts(): readonly Part[] {
    return this.#parts;
  }

  /** What the leases keep now. */
  save(): readonly RangePosition[] {
    const saved = this.#parts.map(({ range, position }) => ({ range, position }));
    this.#saved.push(saved);
    return saved;
  }

  get saved(): readonly (readonly RangePosition[])[] {
    return this.#saved;
  }

  rewind(to: readonly RangePosition[]): void {
    for (const part of this.#parts) part.position = positionIn(part.range, to) ?? never();
  }

  /** The parts of a range that was split continue where it was. */
  split(part: Part, { children }: RangeGone): void {
    const parts = children.map((range) => ({ ...part, range }));
    this.#parts = this.#parts.flatMap((one) => (one === part ? parts : one));
  }

  /** A host may be late with a range that was split meanwhile. */
  applied(range: FeedRange, next: string): void {
    for (const part of this.#parts) if (contains(range, part.range)) part.shownTo = Math.max(part.shownTo, lsnOf(next));
  }
}

/** How far the feed of a partition key was applied. The containers of the histories have keys of the first version. */
export function shownOf(parts: readonly Part[], key: string): number {
  const epk = effectivePartitionKey([key], 'Hash', 1);
  return parts.find(({ range }) => range.min <= epk && epk < range.max)?.shownTo ?? never();
}

function never(): never {
  throw new Error('The ranges do not cover the feed');
}
