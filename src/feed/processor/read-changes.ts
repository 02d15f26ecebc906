import type { Container } from '@azure/cosmos';
import { type Clock, systemClock } from '../../base/clock.ts';
import { type FeedRange, rangeId } from '../../cosmos/ranges.ts';
import { physicalRanges } from '../../cosmos/physical-ranges.ts';
import { spendingOf } from '../../cosmos/budget/meter.ts';
import { type RangePosition, intersection, lsnOf } from '../reading/position.ts';
import type { HandedChange, VersionChange } from './handed-change.ts';
import type { FeedStartOption, VersionsStartOption } from './processor-options.ts';
import { feedStartOf } from './start-of.ts';
import { until } from '../../base/until.ts';
import { openSource } from '../reading/open-source.ts';
import { type ChangeSource, type FeedMode, RangeGone, anchor, newestOf } from '../reading/source.ts';

export interface ReadChangesOptions {
  /** Default `beginning`. */
  readonly from?: FeedStartOption;
  readonly mode?: 'latest-version' | undefined;
  /** Only these parts of the container. Default: all of it. */
  readonly ranges?: readonly FeedRange[];
  /** Most changes a page. Default 1,000. */
  readonly maxItems?: number;
  /**
   * True: waits for more changes at the end of the feed. False, the default: ends there. Where writers write on, it ends
   * with what a range had when its reading began: a feed that is always written has no end.
   */
  readonly follow?: boolean;
  /** Time between two reads at the end of the feed, milliseconds. Default 5,000. */
  readonly pollMs?: number;
  readonly epoch?: number;
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
}

export interface ReadVersionsOptions extends Omit<ReadChangesOptions, 'from' | 'mode'> {
  readonly mode: 'all-versions-and-deletes';
  /** Default `now`. */
  readonly from?: VersionsStartOption;
}

/** `C` is `Change<T>`, or `VersionChange<T>` in all versions and deletes. */
export interface ChangesPage<C = HandedChange> {
  readonly changes: readonly C[];
  readonly range: FeedRange;
  /** Request units. */
  readonly charge: number;
  /** The positions of all ranges after this page: `from: { checkpoint }` resumes here. Store it once the page is handled. */
  readonly checkpoint: readonly RangePosition[];
}

interface Cursor {
  readonly range: FeedRange;
  position: string;
  atEnd: boolean;
  /** Where the range ended when its first page was read. Undefined: it was not yet. */
  end?: number;
}

/**
 * Reads a container's changes without leases: for one reader, a script or a copy. Ranges take turns, each in its order;
 * it follows splits and merges. It stores nothing: the caller stores the page's checkpoint.
 * @throws UsageError `container-missing`, `continuation-invalid`
 */
export function readChanges<T = Record<string, unknown>>(
  container: Container,
  options?: ReadChangesOptions,
): AsyncGenerator<ChangesPage<HandedChange<T>>, void, undefined>;
export function readChanges<T = Record<string, unknown>>(
  container: Container,
  options: ReadVersionsOptions,
): AsyncGenerator<ChangesPage<VersionChange<T>>, void, undefined>;
export async function* readChanges(
  container: Container,
  options: ReadChangesOptions | ReadVersionsOptions = {},
): AsyncGenerator<ChangesPage<unknown>, void, undefined> {
  yield* pagesOf(await openChanges(container, options), options);
}

/** A container's feed, opened for several readings: each goes on where the one before ended, with one request a range. */
export interface OpenChanges {
  readonly container: Container;
  readonly rid: string;
  readonly source: ChangeSource;
  readonly ranges: readonly FeedRange[];
}

/** @throws UsageError `container-missing` */
export async function openChanges(
  container: Container,
  options: Pick<ReadChangesOptions, 'epoch' | 'ranges' | 'clock'> &
    Pick<ReadChangesOptions | ReadVersionsOptions, 'mode'>,
): Promise<OpenChanges> {
  const { epoch = 1, clock = systemClock } = options;
  const budget = spendingOf(container.database)?.reading(container.id);
  const [{ rid, source }, ranges] = await Promise.all([
    openSource(container, { epoch, mode: modeOf(options), clock, budget }),
    rangesOf(container, options.ranges),
  ]);
  return { container, rid, source, ranges };
}

const modeOf = ({ mode }: Pick<ReadChangesOptions | ReadVersionsOptions, 'mode'>): FeedMode =>
  mode === 'all-versions-and-deletes' ? 'all-versions' : 'latest-version';

/** As `readChanges`, of a feed that is open. The readings of one come one after the other. */
export const changesOf = (open: OpenChanges, options: ReadChangesOptions) =>
  pagesOf(open, options) as AsyncGenerator<ChangesPage, void, undefined>;

async function* pagesOf(
  { container, rid, source, ranges }: OpenChanges,
  options: ReadChangesOptions | ReadVersionsOptions,
): AsyncGenerator<ChangesPage<unknown>, void, undefined> {
  const { follow = false, pollMs = 5_000, maxItems = 1_000, clock = systemClock } = options;
  const signal = options.signal ?? new AbortController().signal;
  const mode = modeOf(options);
  const start = feedStartOf(options.from ?? (mode === 'all-versions' ? 'now' : 'beginning'), rid, container.id);
  const cursors: Cursor[] = [];
  for (const range of ranges) {
    const position = start === 'beginning' ? '' : await anchor(source, range, start, undefined, signal);
    cursors.push({ range, position, atEnd: false });
  }
  // All versions can't be asked for where a merged range ends (ASM-A7).
  const hasEnd = !follow && mode === 'latest-version';
  const checkpoint = (): RangePosition[] =>
    cursors.filter(({ position }) => position !== '').map(({ range, position }) => ({ range, position }));
  for (;;) {
    // A copy: a range that was split is replaced by its parts on the way.
    for (const cursor of cursors.slice()) {
      if (cursor.atEnd && !follow) continue;
      signal.throwIfAborted();
      try {
        const page = await source.read(cursor.range, cursor.position, signal, maxItems);
        const { changes, next, charge } = page;
        if (hasEnd) cursor.end ??= newestOf(page.session) ?? lsnOf(await source.resolve(cursor.range, 'now', signal));
        cursor.atEnd = (changes.length === 0 && next === cursor.position) || lsnOf(next) >= (cursor.end ?? Infinity);
        cursor.position = next;
        if (changes.length > 0) yield { changes, range: cursor.range, charge, checkpoint: checkpoint() };
      } catch (error) {
        if (!(error instanceof RangeGone)) throw error;
        // A split keeps the numbering: the parts resume at the position of the whole.
        const parts = error.children
          .map((range) => intersection(range, cursor.range))
          .filter((range) => range !== undefined)
          .map((range) => ({ range, position: cursor.position, atEnd: false }));
        cursors.splice(cursors.indexOf(cursor), 1, ...parts);
      }
    }
    if (!cursors.every(({ atEnd }) => atEnd)) continue;
    if (!follow) return;
    await until(clock.sleep(pollMs, signal), signal);
  }
}

async function rangesOf(container: Container, wanted: readonly FeedRange[] | undefined): Promise<FeedRange[]> {
  const physical = await physicalRanges(container);
  if (!wanted) return physical;
  const parts = wanted.flatMap((one) => physical.map((range) => intersection(range, one)));
  return [...new Map(parts.filter((part) => part !== undefined).map((part) => [rangeId(part), part])).values()];
}
