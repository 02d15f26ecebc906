import type { Container } from '@azure/cosmos';
import { rangeId } from '../../cosmos/ranges.ts';
import type { FeedStartOption } from '../../feed/processor/processor-options.ts';
import {
  type ChangesPage,
  type OpenChanges,
  type ReadChangesOptions,
  changesOf,
  readChanges,
} from '../../feed/processor/read-changes.ts';
import type { Change } from '../../feed/reading/change.ts';
import type { RangePosition } from '../../feed/reading/position.ts';
import type { Nearing } from './nearing.ts';
import type { MigrationPart } from './part.ts';

/** How far a feed is copied. */
export interface CopyProgress {
  positions: RangePosition[];
}

export interface Following {
  readonly from: Container | OpenChanges;
  /** Default: the whole container. Of a feed that is open: the part for which it was opened. */
  readonly part?: MigrationPart | undefined;
  /** Copies a page, and resolves with the number of documents written. */
  readonly copy: (changes: readonly Change[]) => Promise<number>;
  /** Called after each page, when `positions` are those after it. Throws to end the copying. */
  readonly after: (copied: number) => Promise<void>;
  readonly nearing?: Nearing | undefined;
  readonly signal: AbortSignal;
}

/** A page with fewer changes counts as caught up while writers write; the rest is copied during the pause. */
const NEAR = 500;

export const startAt = ({ positions }: CopyProgress): FeedStartOption =>
  positions.length === 0 ? 'beginning' : { checkpoint: positions };

/**
 * Copies a feed from the positions of `progress`, up to where it ended when the reading began. With `near`, while writers
 * write, it copies on until every range has answered with a small page, or a whole reading was small. Resolves with the
 * number of changes.
 */
export async function follow(
  { from, part, copy, after, nearing, signal }: Following,
  progress: CopyProgress,
  until: 'near' | { readonly endOrThrow: () => void },
): Promise<number> {
  let changes = 0;
  const round = new Set<string>();
  const reading = (options: ReadChangesOptions): AsyncGenerator<ChangesPage> =>
    'source' in from
      ? changesOf(from, options)
      : readChanges(from, { ...options, ...(part && { ranges: part.ranges }) });
  for (;;) {
    let read = 0;
    for await (const page of reading({ from: startAt(progress), signal })) {
      const own = part ? page.changes.filter(({ doc }) => part.has(doc ?? {})) : page.changes;
      const copied = await copy(own);
      changes += own.length;
      read += page.changes.length;
      progress.positions = [...page.checkpoint];
      await after(copied);
      if (until !== 'near') {
        until.endOrThrow();
        continue;
      }
      if (page.changes.length >= NEAR) {
        round.clear();
        await nearing?.look(progress.positions);
        continue;
      }
      // Ranges take turns: a range that comes again with no large page between means that all had small pages.
      if (round.has(rangeId(page.range))) return changes;
      round.add(rangeId(page.range));
    }
    if (until !== 'near' || read < NEAR) return changes;
  }
}

/** Copies to the end of the feed twice: the last write may have become visible in a range after the first time. */
export async function untilCopied(
  following: Following,
  progress: CopyProgress,
  endOrThrow: () => void,
): Promise<number> {
  let changes = 0;
  for (let quiet = 0; quiet < 2;) {
    const found = await follow(following, progress, { endOrThrow });
    changes += found;
    quiet = found === 0 ? quiet + 1 : 0;
  }
  return changes;
}
