import { MillraceError } from '../../base/errors.ts';
import { type FeedRange, rangeId } from '../../cosmos/ranges.ts';
import type { Page } from '../../feed/reading/change.ts';
import { lsnOf } from '../../feed/reading/position.ts';
import type { ChangeSource } from '../../feed/reading/source.ts';

const LOST = new Set(['retention-passed', 'versions-not-kept']);
/** The most ends that are kept for a range. */
const KEPT = 100;

/**
 * A feed that remembers which reads reached its end. A container with constant writes never returns an empty page. So a
 * page also counts as the end if the session token of its answer shows that the partition has nothing newer.
 */
export class FeedEnds implements ChangeSource {
  readonly #source: ChangeSource;
  #lost: MillraceError | undefined;
  readonly #reached = new Map<string, number>();
  readonly #ends = new Map<string, { readonly readAt: number; readonly end: number }[]>();

  constructor(source: ChangeSource) {
    this.#source = source;
  }

  /** The error of a read that fails however often it is repeated. */
  get lost(): MillraceError | undefined {
    return this.#lost;
  }

  /** Each tenure reads the epoch with it: without, what is read after keys have moved counts as older than before. */
  async prepare(signal: AbortSignal): Promise<void> {
    await this.#source.prepare(signal);
  }

  async read(...asked: Parameters<ChangeSource['read']>): Promise<Page & { next: string }> {
    const page = await this.#noting(this.#source.read(...asked));
    const end = lsnOf(page.next);
    this.#reached.set(rangeId(asked[0]), Math.max(end, this.reached(asked[0])));
    const newest = newestLsn(page.session);
    if (newest === undefined || end < newest) return page;
    const ends = this.#ends.get(rangeId(asked[0])) ?? [];
    this.#ends.set(rangeId(asked[0]), ends);
    ends.push({ readAt: page.readAt, end });
    if (ends.length > KEPT) ends.splice(1, 1);
    return page;
  }

  resolve(...asked: Parameters<ChangeSource['resolve']>): Promise<string> {
    return this.#noting(this.#source.resolve(...asked));
  }

  #noting<T>(answer: Promise<T>): Promise<T> {
    return answer.catch((error: unknown) => {
      if (error instanceof MillraceError && LOST.has(error.code)) this.#lost = error;
      throw error;
    });
  }

  /** The highest lsn up to which a range was read; 0: it was not read. */
  reached(range: FeedRange): number {
    return this.#reached.get(rangeId(range)) ?? 0;
  }

  /** The end that the first read after `since` reached; undefined if none did. Each call must pass a later `since`. */
  since(range: FeedRange, since: number): number | undefined {
    const ends = this.#ends.get(rangeId(range)) ?? [];
    while (ends[0] && ends[0].readAt <= since) ends.shift();
    return ends[0]?.end;
  }
}

/** The global lsn of a session token, `range:version#lsn#region=lsn…` or `range:lsn`. Of several, the highest. */
function newestLsn(token: string | undefined): number | undefined {
  const lsns = (token ?? '').split(',').map((one) => /^[^:]*:(?:-?\d+#)?(\d+)/.exec(one)?.[1]);
  const found = lsns.filter((lsn) => lsn !== undefined).map(Number);
  return found.length === 0 ? undefined : Math.max(...found);
}
