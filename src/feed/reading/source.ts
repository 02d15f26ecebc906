import {
  ChangeFeedMode,
  ChangeFeedStartFrom,
  type ChangeFeedPullModelIterator,
  type Container,
  type PartitionKey,
} from '@azure/cosmos';
import { MillraceError } from '../../base/errors.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { failureOf } from '../../cosmos/failure.ts';
import type { Grant } from '../../cosmos/budget/limit.ts';
import type { Meter } from '../../cosmos/budget/charge-meter.ts';
import { type FeedRange, rangeId, sayRange } from '../../cosmos/ranges.ts';
import { withRetry } from '../../cosmos/retry.ts';
import type { Change, Key, Page } from './change.ts';
import { type AnySource, type SourceContainer, toAnyChange, toChange, toVersion } from './mapper.ts';
import { type RangePosition, lsnOf, positionAt, positionIn } from './position.ts';
import { FEED_ERRORS, feedError } from '../errors.ts';

/** Where to start a range whose lease has no position. A range that a checkpoint doesn't cover starts at the beginning. */
export type Start = 'beginning' | 'now' | Date | readonly RangePosition[];

/**
 * `latest-version`: the newest version of each document, without deletions. `all-versions`: every version and every
 * deletion, from now on (ASM-A7).
 */
export type FeedMode = 'latest-version' | 'all-versions';

/** Reads pages of one feed range. */
export interface ChangeSource {
  /** Called when a tenure begins, and after each failure. Reads what may have changed for the whole container. */
  prepare(signal: AbortSignal): Promise<void>;
  /**
   * The page after `from` (a quoted LSN; empty: the beginning), with about `most` changes. `next` is always set, and is a
   * valid `from`. `grant`: of the budget, if the caller has waited for it; the caller accounts for it.
   * @throws RangeGone when the range is no longer one physical partition
   * @throws MillraceError `feed-behind` when the feed lost changes before the position (a failover, a restore)
   */
  read(
    range: FeedRange,
    from: string,
    signal: AbortSignal,
    most?: number,
    grant?: Pick<Grant, 'throttled'>,
  ): Promise<Page & { next: string }>;
  /** Finds the position of `now` or of a time. The caller must store it before it reads on (PROC-L4). */
  resolve(range: FeedRange, start: 'now' | Date, signal: AbortSignal): Promise<string>;
}

/** Also reads the feed of one key, for readers that know their documents. */
export interface KeyedSource extends ChangeSource {
  /**
   * The newest versions of one key's documents in the order of the feed; with `since` only what was written from then on.
   * `range`: the one that has the key. A page has about `most` changes.
   */
  ofKey(range: FeedRange, key: Key, since: Date | undefined, most: number, signal: AbortSignal): AsyncGenerator<Page>;
  /** The change as which the feed would deliver this document, with an lsn that is not its own. */
  found(raw: Record<string, unknown>): Change | undefined;
}

/**
 * The position of a start; empty: the beginning. `startedBefore`: the first start of a processor that was started before;
 * `now` then means that time.
 */
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

/** The newest lsn of a page's partition when it was read, by its session token (ASM-E43); undefined: it has none. */
export function newestOf(session: string | undefined): number | undefined {
  const found = /#(\d+)/.exec(session ?? '')?.[1];
  return found === undefined ? undefined : Number(found);
}

/** The range was split or merged. `children`: its parts, as they are now. */
export class RangeGone extends MillraceError<'range-gone'> {
  readonly children: readonly FeedRange[];
  constructor(range: FeedRange, children: readonly FeedRange[]) {
    const now = children.map(sayRange).join(', ');
    super('range-gone', `Feed range ${sayRange(range)} was split or merged into ${now}`, FEED_ERRORS['range-gone']);
    this.children = children;
  }
}

export interface CosmosSourceOptions {
  /** The most documents of a page, if the reader passes no number. The service may return fewer. Default 1,000. */
  readonly pageSize?: number;
  /** Default `latest-version`. */
  readonly mode?: FeedMode;
  /** Regions that are never read from, in addition to the client's own preferences. */
  readonly excludedRegions?: readonly string[];
  readonly epoch: number;
  /** Reads the epoch again, which is raised before leases are moved back. `known`: the epoch in use. */
  readonly latestEpoch?: (known: number) => Promise<number>;
  readonly meter?: Meter;
  /** Waits for the budget before each page. For readers that don't wait themselves. */
  readonly budget?: ((range: FeedRange, signal: AbortSignal) => Promise<Grant>) | undefined;
  readonly clock?: Clock;
  /** After this time behind a position, a lagging replica can't be the reason, milliseconds. Default 60,000. */
  readonly behindMs?: number;
  /**
   * Called before `feed-behind` is thrown, with the epoch in which this was first seen, to raise the stored epoch
   * (PROC-L3).
   */
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

/**
 * Reads the change feed of a container with the SDK's pull iterators, one for each range. A token of several ranges can
 * hold an empty entry, which would replay a range (SDK hazard).
 */
export class CosmosChangeSource implements KeyedSource {
  readonly #container: Container;
  readonly #rid: string;
  readonly #map: SourceContainer | AnySource;
  readonly #options: CosmosSourceOptions;
  readonly #clock: Clock;
  readonly #iterators = new Map<string, Slot>();
  /** For each range that is behind its position: since when, monotonic, and in which epoch. */
  readonly #behind = new Map<string, { since: number; epoch: number }>();
  #epoch: number;

  /**
   * `rid`: the container's `_rid`, because the tokens of a container that was deleted and created again are not valid. A
   * `map` without types reads every document.
   */
  constructor(container: Container, rid: string, map: SourceContainer | AnySource, options: CosmosSourceOptions) {
    this.#container = container;
    this.#rid = rid;
    this.#map = map;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#epoch = options.epoch;
  }

  /** The epoch is raised before a lease is moved back, and the lease must be read in the new epoch (PROC-L3c). */
  async prepare(): Promise<void> {
    const latest = await this.#options.latestEpoch?.(this.#epoch);
    this.#epoch = Math.max(this.#epoch, latest ?? 0);
  }

  async read(
    range: FeedRange,
    from: string,
    signal: AbortSignal,
    most = this.#options.pageSize ?? 1_000,
    given?: Pick<Grant, 'throttled'>,
  ): Promise<Page & { next: string }> {
    const { meter, mode, budget } = this.#options;
    const grant = await budget?.(range, signal);
    const epoch = this.#epoch;
    const readAt = this.#clock.monotonic();
    const slot = this.#slot(range, from, most);
    const throttled = (): void => (grant ?? given)?.throttled();
    const retry = { signal, reads: true, clock: this.#clock, throttled, ...(meter && { meter }) };
    const response = await withRetry(() => slot.pull.readNext(), retry).catch(async (error: unknown) => {
      grant?.account(undefined);
      throw mode === 'all-versions' ? await this.#explain(error, range, from, signal) : error;
    });
    const { headers } = response;
    // `requestCharge` is cut to an integer; the header is not.
    const charge = Number(headers['x-ms-request-charge'] ?? response.requestCharge);
    grant?.account(charge);
    this.#assertSameContainer(headers);
    meter?.count(charge);
    const next = this.#positionIn(range, response.continuationToken);
    this.#iterators.set(rangeId(range), { ...slot, at: next });
    const session = headers['x-ms-session-token'] as string | undefined;
    await this.#assertNotBehind(range, from, session);
    const map = (raw: unknown): Change | undefined => this.#change(raw, epoch);
    const all = mode === 'all-versions';
    const changes = (response.result ?? [])
      .map((raw) => (all ? toVersion(this.#map, raw, epoch, map) : map(raw)))
      .filter((change) => change !== undefined);
    return { changes, next, range, charge, readAt, ...(session === undefined ? {} : { session }) };
  }

  async *ofKey(
    range: FeedRange,
    key: Key,
    since: Date | undefined,
    most: number,
    signal: AbortSignal,
  ): AsyncGenerator<Page> {
    const { meter, budget } = this.#options;
    const partitionKey = [...key] as PartitionKey;
    const start = (from: Date | undefined): ChangeFeedStartFrom =>
      from ? ChangeFeedStartFrom.Time(from, partitionKey) : ChangeFeedStartFrom.Beginning(partitionKey);
    let pull = this.#pull(start(since), most);
    for (let first = true; ; first = false) {
      const grant = await budget?.(range, signal);
      const epoch = this.#epoch;
      const readAt = this.#clock.monotonic();
      const retry = { signal, reads: true, clock: this.#clock, throttled: () => grant?.throttled() };
      const response = await withRetry(() => pull.readNext(), { ...retry, ...(meter && { meter }) }).catch(
        (error: unknown) => {
          grant?.account(undefined);
          // A merged container accepts no time (ASM-E30).
          if (since && first && failureOf(error).status === 400) return undefined;
          throw error;
        },
      );
      if (!response) {
        pull = this.#pull(start(undefined), most);
        continue;
      }
      const charge = Number(response.headers['x-ms-request-charge'] ?? response.requestCharge);
      grant?.account(charge);
      meter?.count(charge);
      this.#assertSameContainer(response.headers);
      const documents = response.result ?? [];
      if (documents.length === 0) return;
      const changes = documents.map((raw) => this.#change(raw, epoch)).filter((change) => change !== undefined);
      yield { changes, range, charge, readAt };
    }
  }

  found(raw: Record<string, unknown>): Change | undefined {
    return this.#change({ ...raw, _lsn: 0 }, this.#epoch);
  }

  #change(raw: unknown, epoch: number): Change | undefined {
    return 'types' in this.#map ? toChange(this.#map, raw, epoch) : toAnyChange(this.#map, raw, epoch);
  }

  async resolve(range: FeedRange, start: 'now' | Date, signal: AbortSignal): Promise<string> {
    const [sample] = await withRetry(() => this.#container.getFeedRanges(), {
      signal,
      reads: true,
      clock: this.#clock,
    });
    // The SDK accepts only instances of its own class, so our range gets their prototype.
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
      // With a time, this page may hold the first change. The position is just before it, so that it is read again.
      return first ? positionAt(Number(first['_lsn']) - 1) : after;
    } catch (error) {
      if (failureOf(error).status !== 400) throw error;
      if (this.#options.mode === 'all-versions' && start === 'now') throw this.#notKept(error);
      // A merged container accepts no time (ASM-A7), so the feed is searched from the beginning.
      if (start === 'now') throw error;
      return this.#search(range, start, signal);
    }
  }

  /**
   * The service refuses both a position that is older than the retention and a container that keeps no versions, with 400
   * (ASM-A22). A read from now tells them apart.
   */
  async #explain(error: unknown, range: FeedRange, from: string, signal: AbortSignal): Promise<unknown> {
    if (failureOf(error).status !== 400) return error;
    try {
      await this.resolve(range, 'now', signal);
    } catch (cause) {
      return cause;
    }
    return feedError(
      'retention-passed',
      `The changes of ${this.#map.name} after ${from} in range ${sayRange(range)} are older than the retention of its all-versions feed`,
      { cause: error },
    );
  }

  #notKept(cause: unknown): MillraceError {
    return feedError('versions-not-kept', `${this.#map.name} has no all-versions feed: ${failureOf(cause).message}`, {
      cause,
    });
  }

  /** The position just before the first change since a time. Reads all changes before it. */
  async #search(range: FeedRange, since: Date, signal: AbortSignal): Promise<string> {
    // `_ts` counts whole seconds.
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

  /** Takes the range's iterator, or makes one. Only one read uses an iterator, and after a failed read it is dropped. */
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
   * If a partition's newest lsn stays below the position, the partition lost changes, and will use their lsns for new
   * ones, which this reader would skip. Reading stops, because a person must decide how to continue.
   */
  async #assertNotBehind(range: FeedRange, from: string, session: Page['session']): Promise<void> {
    const newest = newestOf(session) ?? Infinity;
    const id = rangeId(range);
    if (newest >= lsnOf(from)) return void this.#behind.delete(id);
    const seen = this.#behind.get(id) ?? { since: this.#clock.monotonic(), epoch: this.#epoch };
    this.#behind.set(id, seen);
    if (this.#clock.monotonic() - seen.since < (this.#options.behindMs ?? 60_000)) return;
    await this.#options.onBehind?.(seen.epoch);
    throw feedError(
      'feed-behind',
      `The feed of ${this.#map.name} ends at lsn ${newest} in range ${sayRange(range)}, before the position ${from}: a failover or a restore lost the changes between them`,
    );
  }

  /** An iterator uses the container's name, so it would use its old position in a new container of the same name. */
  #assertSameContainer(headers: Readonly<Record<string, unknown>>): void {
    const rid = headers['x-ms-content-path'];
    if (rid === undefined || rid === this.#rid) return;
    throw feedError('container-replaced', `Container ${this.#map.name} was deleted and created again`);
  }

  /** The range's entry in the SDK's token. An empty entry is refused, because it would replay everything (PROC-L5). */
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
      throw feedError('position-empty', `The feed of ${this.#map.name} returned no position for ${sayRange(range)}`, {
        retryable: true,
      });
    }
    return only.continuationToken;
  }
}
