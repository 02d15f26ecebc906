import { ChangeFeedStartFrom, type ChangeFeedPullModelIterator, type Container } from '@azure/cosmos';
import { MillraceError } from '../base/errors.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import type { Meter } from '../cosmos/meter.ts';
import { type FeedRange, rangeId } from '../cosmos/ranges.ts';
import { withRetry } from '../cosmos/retry.ts';
import type { Change, Page } from './change.ts';
import { type SourceContainer, toChange } from './change-mapper.ts';

/** Where a range's reading begins when its lease has no position yet. */
export type Start = 'beginning' | 'now' | Date;

/** Reads pages of one feed range. */
export interface ChangeSource {
  /**
   * The page after `from` (a quoted LSN; empty: from the beginning). `next` is always set and can be resumed from.
   * @throws RangeGone when the range is no longer one physical partition
   */
  read(range: FeedRange, from: string, signal: AbortSignal): Promise<Page & { next: string }>;
  /** Turns `now` or a time into a position, once; the caller stores it before it reads on (L4). */
  resolve(range: FeedRange, start: 'now' | Date, signal: AbortSignal): Promise<string>;
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
  /** Most documents a page; the service may give fewer. Default 1,000. */
  readonly pageSize?: number;
  readonly epoch: number;
  readonly meter?: Meter;
  readonly clock?: Clock;
}

interface Token {
  readonly rid: string;
  readonly Continuation: readonly { minInclusive: string; maxExclusive: string; continuationToken: string }[];
}

/** The change feed of a container by the SDK's pull iterators, one a range: a multi-range token can hold an empty entry and replay (SDK hazard). */
export class CosmosChangeSource implements ChangeSource {
  readonly #container: Container;
  readonly #rid: string;
  readonly #map: SourceContainer;
  readonly #options: CosmosSourceOptions;
  readonly #clock: Clock;
  readonly #iterators = new Map<string, { at: string; pull: ChangeFeedPullModelIterator<Record<string, unknown>> }>();

  /** `rid` is the container's `_rid`: a token of a container that was dropped and made again must not be used. */
  constructor(container: Container, rid: string, map: SourceContainer, options: CosmosSourceOptions) {
    this.#container = container;
    this.#rid = rid;
    this.#map = map;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  async read(range: FeedRange, from: string, signal: AbortSignal): Promise<Page & { next: string }> {
    const readAt = this.#clock.monotonic();
    const slot = this.#slot(range, from);
    const response = await withRetry(() => slot.pull.readNext(), {
      signal,
      reads: true,
      clock: this.#clock,
      ...(this.#options.meter ? { meter: this.#options.meter } : {}),
    });
    this.#assertSameContainer(response.headers);
    // The response's own figure is cut to an integer; the header isn't.
    const charge = Number(response.headers['x-ms-request-charge'] ?? response.requestCharge);
    this.#options.meter?.count(charge);
    const next = this.#positionIn(range, response.continuationToken);
    this.#iterators.set(rangeId(range), { at: next, pull: slot.pull });
    const changes: Change[] = [];
    for (const raw of response.result ?? []) {
      const change = toChange(this.#map, raw, this.#options.epoch);
      if (change) changes.push(change);
    }
    return { changes, next, range, charge, readAt };
  }

  async resolve(range: FeedRange, start: 'now' | Date, signal: AbortSignal): Promise<string> {
    const [sample] = await this.#container.getFeedRanges();
    // The SDK takes only instances of its own class; a range of ours gets its prototype.
    const own: { minInclusive: string; maxExclusive: string } = Object.create(
      Object.getPrototypeOf(sample ?? {}) as object,
    );
    Object.assign(own, { minInclusive: range.min, maxExclusive: range.max });
    const changeFeedStartFrom = start === 'now' ? ChangeFeedStartFrom.Now(own) : ChangeFeedStartFrom.Time(start, own);
    const pull = this.#container.items.getChangeFeedIterator<Record<string, unknown>>({
      changeFeedStartFrom,
      maxItemCount: 1,
    });
    const response = await withRetry(() => pull.readNext(), { signal, reads: true, clock: this.#clock });
    this.#assertSameContainer(response.headers);
    const after = this.#positionIn(range, response.continuationToken);
    const first = response.result?.[0];
    // From a time the first page already holds a change: the position is just before it, so that it is read again.
    return first ? `"${Number(first['_lsn']) - 1}"` : after;
  }

  /** Takes the range's iterator, or makes one: whoever reads has it alone, and one whose read failed isn't used again. */
  #slot(range: FeedRange, from: string): { at: string; pull: ChangeFeedPullModelIterator<Record<string, unknown>> } {
    const kept = this.#iterators.get(rangeId(range));
    this.#iterators.delete(rangeId(range));
    if (kept && kept.at === from) return kept;
    const token: Token = {
      rid: this.#rid,
      Continuation: [{ minInclusive: range.min, maxExclusive: range.max, continuationToken: from }],
    };
    const pull = this.#container.items.getChangeFeedIterator<Record<string, unknown>>({
      changeFeedStartFrom: ChangeFeedStartFrom.Continuation(JSON.stringify(token)),
      maxItemCount: this.#options.pageSize ?? 1_000,
    });
    return { at: from, pull };
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
