import type { Container, FeedRange as SdkRange } from '@azure/cosmos';
import { type Clock, systemClock } from '../../base/clock.ts';
import { canonical, isObject, shown } from '../../base/json.ts';
import { type KeyLevel, isKeyLevel } from '../../base/key-level.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { type FeedRange, rangeId } from '../../cosmos/ranges.ts';
import { physicalRanges } from '../../cosmos/physical-ranges.ts';
import { spendingOf } from '../../cosmos/budget/meter.ts';
import type { Identity } from '../reading/change.ts';
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
  /** Only these parts of the container, such as `await container.getFeedRanges()`. Default: all of it. */
  readonly ranges?: readonly (FeedRange | ClientRange)[];
  /** Only the documents of this partition key, or of all keys that begin with these levels. Not beside `ranges`. */
  readonly partitionKey?: KeyLevel | readonly KeyLevel[];
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

/** A range as the client of Cosmos DB has it: the same, by other names. */
export type ClientRange = Pick<SdkRange, 'minInclusive' | 'maxExclusive'>;

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
 * @throws UsageError `container-missing`, `container-unfit`, `continuation-invalid`, `option-invalid`
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
  /** Where the range of one key may have other keys too: the key. */
  readonly only?: readonly KeyLevel[] | undefined;
}

/** @throws UsageError `container-missing`, `option-invalid` */
export async function openChanges(
  container: Container,
  options: Pick<ReadChangesOptions, 'epoch' | 'ranges' | 'partitionKey' | 'clock'> &
    Pick<ReadChangesOptions | ReadVersionsOptions, 'mode'>,
): Promise<OpenChanges> {
  const { epoch = 1, clock = systemClock } = options;
  const budget = spendingOf(container.database)?.reading(container.id);
  const given = options.ranges === undefined ? undefined : rangesGiven(options.ranges);
  const only = options.partitionKey === undefined ? undefined : keyGiven(options.partitionKey);
  if (given && only)
    throw sharedError('option-invalid', 'The options have `ranges` and `partitionKey`', { hint: 'Give one of them.' });
  const [{ rid, source, keyPaths, hashOf }, physical] = await Promise.all([
    openSource(container, { epoch, mode: modeOf(options), clock, budget }),
    physicalRanges(container),
  ]);
  if (only && only.length > keyPaths.length)
    throw sharedError(
      'option-invalid',
      `The partition key ${canonical(only)} has ${only.length} levels, and ${container.id} has ${keyPaths.length}`,
      { hint: 'Give at most one value for each level of the key of the container.' },
    );
  const wanted = only ? [rangeOfHash(hashOf(only))] : given;
  return { container, rid, source, ranges: wanted ? partsOf(physical, wanted) : physical, only };
}

/** The keys whose hash begins with this one. */
const rangeOfHash = (hash: string): FeedRange => ({ min: hash, max: `${hash}FF` });

const RANGE_HINT =
  'Give what `await container.getFeedRanges()` returns, or `{ min, max }` in upper-case hexadecimal digits.';

function rangesGiven(ranges: unknown): FeedRange[] {
  const invalid = (what: string) => sharedError('option-invalid', what, { hint: RANGE_HINT });
  if (!Array.isArray(ranges)) throw invalid(`\`ranges\` is ${shown(ranges)}, not a list of ranges`);
  return ranges.map((one: unknown, at) => {
    const { min, max, minInclusive = min, maxExclusive = max }: Record<string, unknown> = isObject(one) ? one : {};
    if (isHash(minInclusive) && isHash(maxExclusive) && minInclusive < maxExclusive)
      return { min: minInclusive, max: maxExclusive };
    throw invalid(`\`ranges[${at}]\` is no range of a container: ${canonical(one)}`);
  });
}

const isHash = (value: unknown): value is string => typeof value === 'string' && /^[0-9A-F]*$/.test(value);

function keyGiven(key: unknown): readonly KeyLevel[] {
  const levels: readonly unknown[] = Array.isArray(key) ? key : [key];
  if (levels.length > 0 && levels.every(isKeyLevel)) return levels;
  throw sharedError('option-invalid', `\`partitionKey\` is ${canonical(key)}, which is no partition key`, {
    hint: 'Give a text, a number, true, false, null or `{}` (the document has no value), or a list of these for a key of several levels.',
  });
}

const modeOf = ({ mode }: Pick<ReadChangesOptions | ReadVersionsOptions, 'mode'>): FeedMode =>
  mode === 'all-versions-and-deletes' ? 'all-versions' : 'latest-version';

/** As `readChanges`, of a feed that is open. The readings of one come one after the other. */
export const changesOf = (open: OpenChanges, options: ReadChangesOptions) =>
  pagesOf(open, options) as AsyncGenerator<ChangesPage, void, undefined>;

async function* pagesOf(
  { container, rid, source, ranges, only }: OpenChanges,
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
        const { next, charge } = page;
        const isOurs = ({ key }: Identity): boolean =>
          !only || canonical(key.slice(0, only.length)) === canonical(only);
        if (hasEnd) cursor.end ??= newestOf(page.session) ?? lsnOf(await source.resolve(cursor.range, 'now', signal));
        cursor.atEnd =
          (page.changes.length === 0 && next === cursor.position) || lsnOf(next) >= (cursor.end ?? Infinity);
        cursor.position = next;
        const changes = page.changes.filter(isOurs);
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

function partsOf(physical: readonly FeedRange[], wanted: readonly FeedRange[]): FeedRange[] {
  const parts = wanted.flatMap((one) => physical.map((range) => intersection(range, one)));
  return [...new Map(parts.filter((part) => part !== undefined).map((part) => [rangeId(part), part])).values()];
}
