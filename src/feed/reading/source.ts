import { ChangeFeedMode, ChangeFeedStartFrom, type ChangeFeedPullModelIterator, type Container } from '@azure/cosmos';
import { MillraceError } from '../../base/errors.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { failureOf } from '../../cosmos/failure.ts';
import type { Grant } from '../../cosmos/budget.ts';
import type { Meter } from '../../cosmos/meter.ts';
import { type FeedRange, rangeId } from '../../cosmos/ranges.ts';
import { withRetry } from '../../cosmos/retry.ts';
import type { Change, Page } from './change.ts';
import { type AnySource, type SourceContainer, toAnyChange, toChange, toVersion } from './mapper.ts';
import { type RangePosition, lsnOf, positionAt, positionIn } from './position.ts';

/** Where a range's reading begins when its lease has no position yet; a range that a checkpoint lacks is read from the beginning. */
export type Start = 'beginning' | 'now' | Date | readonly RangePosition[];

/** `latest-version`: each document's newest version, no deletions. The other: every version and deletion, from now on (A7). */
export type FeedMode = 'latest-version' | 'all-versions';

/** Reads pages of one feed range. */
export interface ChangeSource {
  /** Called when a tenure begins, and after each failure: what may have changed of the whole container is looked up. */
  prepare?(signal: AbortSignal): Promise<void>;
  /**
   * The page after `from` (a quoted LSN; empty: from the beginning), of `most` changes if it can be told. `next` is
   * always set and can be resumed from.
   * @throws RangeGone when the range is no longer one physical partition
   * @throws MillraceError `feed-behind` when the feed has lost what lies before the position (a failover, a restore)
   */
  read(range: FeedRange, from: string, signal: AbortSignal, most?: number): Promise<Page & { next: string }>;
  /** Turns `now` or a time into a position, once; the caller stores it before it reads on (L4). */
  resolve(range: FeedRange, start: 'now' | Date, signal: AbortSignal): Promise<string>;
}

/** A start as a position; empty: the beginning. `startedBefore`: what `now` means for a processor that had started before. */
export async function anchor(
  source: ChangeSource,
  range: FeedRange,
  start: Exclude<Start, 'beginning'>,
  startedBefore: Date | undefined,
  signal: AbortSignal,
): Promise<string> {
  if (start === 'now') return source.resolve(range, startedBefore ?? 'now', signal);
  if (start instanceof Date) return source.resolve(range, start, signal);
  return positionIn(range, start) ?? '';
}

/** The range was split or merged: `children` are its parts as the service has them now. */
export class RangeGone extends MillraceError<'range-gone'> {
  readonly children: readonly FeedRange[];
  constructor(range: FeedRange, children: readonly FeedRange[]) {
    super('range-gone', `Feed range ${rangeId(range)} is now ${children.map(rangeId).join(', ')}`, { retryable: true });
    this.children = children;
  }
}

export interface CosmosSourceOptions {
  /** Most documents a page where the reader doesn't say; the service may give fewer. Default 1,000. */
  readonly pageSize?: number;
  /** Default `latest-version`. */
  readonly mode?: FeedMode;
  /** Regions not to read from, beside the client's own preferences. */
  readonly excludedRegions?: readonly string[];
  readonly epoch: number;
  /** Looks the epoch up again: whoever moved the leases back has raised it since. `known`: the one in use. */
  readonly latestEpoch?: (known: number) => Promise<number>;
  readonly meter?: Meter;
  /** Gives leave to read a page, where whoever reads doesn't ask for it himself. */
  readonly budget?: ((range: FeedRange, signal: AbortSignal) => Promise<Grant>) | undefined;
  readonly clock?: Clock;
  /** The feed was behind a position for so long that it can't be a lagging replica, milliseconds. Default 60,000. */
  readonly behindMs?: number;
  /** Called before `feed-behind` is thrown, with the epoch this was first seen in: whoever keeps it raises it (L3). */
  readonly onBehind?: (epoch: number) => Promise<void>;
}

interface Token {
  readonly rid: string;
  readonly Continuation: readonly { minInclusive: string; maxExclusive: string; continuationToken: string }[];
}

interface Slot {
  readonly at: string;
  readonly most: number;
  readonly pull: ChangeFeedPullModelIterator<Record<string, unknown>>;
}

/** The change feed of a container by the SDK's pull iterators, one a range: a multi-range token can hold an empty entry and replay (SDK hazard). */
export class CosmosChangeSource implements ChangeSource {
  readonly #container: Container;
  readonly #rid: string;
  readonly #map: SourceContainer | AnySource;
  readonly #options: CosmosSourceOptions;
  readonly #clock: Clock;
  readonly #iterators = new Map<string, Slot>();
  /** Since when each range has been behind its position, monotonic, and in which epoch that began. */
  readonly #behind = new Map<string, { since: number; epoch: number }>();
  #epoch: number;

  /**
   * `rid` is the container's `_rid`: a token of a container that was dropped and made again must not be used. A `map`
   * without types reads every document.
   */
  constructor(container: Container, rid: string, map: SourceContainer | AnySource, options: CosmosSourceOptions) {
    this.#container = container;
    this.#rid = rid;
    this.#map = map;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#epoch = options.epoch;
  }

  /** A lease that was moved back is only ever read in the epoch that was raised before it was (L3d). */
  async prepare(): Promise<void> {
    const latest = await this.#options.latestEpoch?.(this.#epoch);
    this.#epoch = Math.max(this.#epoch, latest ?? 0);
  }

  async read(
    range: FeedRange,
    from: string,
    signal: AbortSignal,
    most = this.#options.pageSize ?? 1_000,
  ): Promise<Page & { next: string }> {
    const { meter, mode, budget } = this.#options;
    const grant = await budget?.(range, signal);
    const epoch = this.#epoch;
    const readAt = this.#clock.monotonic();
    const slot = this.#slot(range, from, most);
    const retry = { signal, reads: true, clock: this.#clock, ...(meter && { meter }) };
    const response = await withRetry(() => slot.pull.readNext(), retry).catch((error: unknown) => {
      grant?.settle(0);
      throw error;
    });
    const { headers } = response;
    // The response's own figure is cut to an integer; the header isn't.
    const charge = Number(headers['x-ms-request-charge'] ?? response.requestCharge);
    grant?.settle(charge);
    this.#assertSameContainer(headers);
    meter?.count(charge);
    const next = this.#positionIn(range, response.continuationToken);
    this.#iterators.set(rangeId(range), { ...slot, at: next });
    const session = headers['x-ms-session-token'] as string | undefined;
    await this.#assertNotBehind(range, from, session);
    const map = (raw: unknown): Change | undefined =>
      'types' in this.#map ? toChange(this.#map, raw, epoch) : toAnyChange(this.#map, raw, epoch);
    const all = mode === 'all-versions';
    const changes = (response.result ?? [])
      .map((raw) => (all ? toVersion(this.#map, raw, epoch, map) : map(raw)))
      .filter((change) => change !== undefined);
    return { changes, next, range, charge, readAt, ...(session === undefined ? {} : { session }) };
  }

  async resolve(range: FeedRange, start: 'now' | Date, signal: AbortSignal): Promise<string> {
    const [sample] = await withRetry(() => this.#container.getFeedRanges(), {
      signal,
      reads: true,
      clock: this.#clock,
    });
    // The SDK takes only instances of its own class; a range of ours gets its prototype.
    const own: { minInclusive: string; maxExclusive: string } = Object.create(
      Object.getPrototypeOf(sample ?? {}) as object,
    );
    Object.assign(own, { minInclusive: range.min, maxExclusive: range.max });
    const changeFeedStartFrom = start === 'now' ? ChangeFeedStartFrom.Now(own) : ChangeFeedStartFrom.Time(start, own);
    const pull = this.#pull(changeFeedStartFrom, 1);
    try {
      const response = await withRetry(() => pull.readNext(), { signal, reads: true, clock: this.#clock });
      this.#assertSameContainer(response.headers);
      const after = this.#positionIn(range, response.continuationToken);
      const first = response.result?.[0];
      // From a time the first page already holds a change: the position is just before it, so that it is read again.
      return first ? positionAt(Number(first['_lsn']) - 1) : after;
    } catch (error) {
      // A container that was merged takes no time (A7): it is looked for from the beginning.
      if (start === 'now' || failureOf(error).status !== 400) throw error;
      return this.#search(range, start, signal);
    }
  }

  /** Just before the first change since a time, by reading all before it. */
  async #search(range: FeedRange, since: Date, signal: AbortSignal): Promise<string> {
    // `_ts` is told to the second.
    const from = Math.floor(since.getTime() / 1_000);
    for (let position = ''; ;) {
      const pull = this.#pull(this.#continuation(range, position), 1_000);
      const response = await withRetry(() => pull.readNext(), { signal, reads: true, clock: this.#clock });
      this.#assertSameContainer(response.headers);
      const next = this.#positionIn(range, response.continuationToken);
      const first = response.result?.find((raw) => raw['_ts'] >= from);
      if (first) return positionAt(Number(first['_lsn']) - 1);
      if (next === position) return next;
      position = next;
    }
  }

  /** Takes the range's iterator, or makes one: whoever reads has it alone, and one whose read failed isn't used again. */
  #slot(range: FeedRange, from: string, most: number): Slot {
    const kept = this.#iterators.get(rangeId(range));
    this.#iterators.delete(rangeId(range));
    if (kept && kept.at === from && kept.most === most) return kept;
    return { at: from, most, pull: this.#pull(this.#continuation(range, from), most) };
  }

  #continuation({ min, max }: FeedRange, from: string): ChangeFeedStartFrom {
    const token: Token = {
      rid: this.#rid,
      Continuation: [{ minInclusive: min, maxExclusive: max, continuationToken: from }],
    };
    return ChangeFeedStartFrom.Continuation(JSON.stringify(token));
  }

  #pull(changeFeedStartFrom: ChangeFeedStartFrom, maxItemCount: number): Slot['pull'] {
    const { mode, excludedRegions = [] } = this.#options;
    return this.#container.items.getChangeFeedIterator<Record<string, unknown>>({
      changeFeedStartFrom,
      maxItemCount,
      changeFeedMode: mode === 'all-versions' ? ChangeFeedMode.AllVersionsAndDeletes : ChangeFeedMode.LatestVersion,
      ...(excludedRegions.length > 0 && { excludedLocations: [...excludedRegions] }),
    });
  }

  /**
   * A partition whose newest lsn stays below the position has lost what was there, and gives those lsns to other changes:
   * they would be skipped. Reading on is the operator's decision, so nothing more is read.
   */
  async #assertNotBehind(range: FeedRange, from: string, session: string | undefined): Promise<void> {
    const newest = Number(/#(\d+)/.exec(session ?? '')?.[1] ?? Infinity);
    const id = rangeId(range);
    if (newest >= lsnOf(from)) return void this.#behind.delete(id);
    const seen = this.#behind.get(id) ?? { since: this.#clock.monotonic(), epoch: this.#epoch };
    this.#behind.set(id, seen);
    if (this.#clock.monotonic() - seen.since < (this.#options.behindMs ?? 60_000)) return;
    await this.#options.onBehind?.(seen.epoch);
    throw new MillraceError(
      'feed-behind',
      `The feed of ${this.#map.name} ends at lsn ${newest} in range ${id}, before the position ${from}: a failover or a restore lost what was between`,
      {
        mend: 'Rewind the leases to a time before it happened, and restart the hosts: versions are counted in a new epoch.',
      },
    );
  }

  /** A running iterator asks by name, so it would take its old position on to a container of the same name. */
  #assertSameContainer(headers: Readonly<Record<string, unknown>>): void {
    const rid = headers['x-ms-content-path'];
    if (rid === undefined || rid === this.#rid) return;
    throw new MillraceError('container-replaced', `Container ${this.#map.name} was deleted and made again`, {
      mend: 'Restart the hosts: the new container is read from its start, under an epoch of its own.',
    });
  }

  /** The range's own entry of the SDK's token; an empty one would replay everything, so it is refused (L5). */
  #positionIn(range: FeedRange, token: string): string {
    const parsed = JSON.parse(token) as Token;
    const entries = parsed.Continuation;
    const [only] = entries;
    if (entries.length > 1) {
      throw new RangeGone(
        range,
        entries.map((entry) => ({ min: entry.minInclusive, max: entry.maxExclusive })),
      );
    }
    if (!only?.continuationToken) {
      throw new MillraceError(
        'position-missing',
        `The feed of ${this.#map.name} returned no position for ${rangeId(range)}`,
        {
          retryable: true,
        },
      );
    }
    return only.continuationToken;
  }
}
