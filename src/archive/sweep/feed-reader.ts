import { type FeedRange, rangeId } from '../../cosmos/ranges.ts';
import type { Page } from '../../feed/reading/change.ts';
import { lsnOf } from '../../feed/reading/position.ts';
import { RangeGone } from '../../feed/reading/source.ts';
import type { SourceFeed } from '../types.ts';

/** A page with its range. */
export type RangePage = Page & { readonly range: FeedRange };

/** A position in the feed of a range. */
export interface FeedPlace {
  readonly range: FeedRange;
  readonly position: string;
}

/** Pages after which the current end is the end: a container with constant writes never has a page without changes. */
const PATIENCE = 100;

/** Reads a container's feed from the beginning, range by range; a later call continues. Follows splits. */
export class FeedReader {
  readonly #feed: SourceFeed;
  #open: { range: FeedRange; position: string }[] | undefined;

  /** `from`: the positions of an earlier reader; absent: the beginning. */
  constructor(feed: SourceFeed, from?: readonly FeedPlace[]) {
    this.#feed = feed;
    this.#open = from?.map((place) => ({ ...place }));
  }

  /** How far it has read, with the page that was given last. */
  get places(): readonly FeedPlace[] | undefined {
    return this.#open?.map((place) => ({ ...place }));
  }

  /**
   * Reads from the last stop to the current end. A document that changes meanwhile moves behind that end: another call
   * finds it.
   */
  async *toEnd(signal: AbortSignal): AsyncGenerator<RangePage> {
    const open = (this.#open ??= (await this.#feed.ranges()).map((range) => ({ range, position: '' })));
    const done = new Set<string>();
    for (let one; (one = open.find(({ range }) => !done.has(rangeId(range))));) {
      try {
        yield* this.#read(one, signal);
        done.add(rangeId(one.range));
      } catch (error) {
        if (!(error instanceof RangeGone)) throw error;
        // A split keeps the sequence, so the children continue at the position of the parent.
        const { position } = one;
        open.splice(open.indexOf(one), 1, ...error.children.map((range) => ({ range, position })));
      }
    }
  }

  async *#read(one: { range: FeedRange; position: string }, signal: AbortSignal): AsyncGenerator<RangePage> {
    const { source } = this.#feed;
    const { range } = one;
    let end = Infinity;
    for (let pages = 1; ; pages++) {
      signal.throwIfAborted();
      const { position } = one;
      const page = await source.read(range, position, signal);
      // Before it is given: who stops at a page has it.
      one.position = page.next;
      if (page.changes.length > 0) yield { ...page, range };
      if (pages === PATIENCE) end = lsnOf(await source.resolve(range, 'now', signal));
      if (lsnOf(page.next) >= end || (page.changes.length === 0 && page.next === position)) return;
    }
  }
}
