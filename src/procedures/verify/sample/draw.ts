import type { Container } from '@azure/cosmos';
import { canonical } from '../../../base/json.ts';
import { physicalRanges } from '../../../cosmos/physical-ranges.ts';
import type { FeedRange } from '../../../cosmos/ranges.ts';
import { spendingOf } from '../../../cosmos/budget/meter.ts';
import type { Change, Identity } from '../../../feed/reading/change.ts';
import { openSource } from '../../../feed/reading/open-source.ts';
import { lsnOf, positionAt } from '../../../feed/reading/position.ts';
import { type CosmosChangeSource, RangeGone } from '../../../feed/reading/source.ts';

export interface DrawOptions {
  /** The type of a stored document; undefined: it isn't drawn. */
  readonly typeOf: (stored: Readonly<Record<string, unknown>>) => string | undefined;
  /** The types to draw, each with its number of documents. */
  readonly most: ReadonlyMap<string, number>;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/** Documents of one page that is read at a random place. Few, or the documents drawn would be neighbours. */
const PICKED = 10;
/** A container is small if it has at most so many documents, of any type, for each document asked for. */
const BESIDE = 4;
const PAGE = 1_000;
/** Reads for each document asked for, where other types lie between. */
const PATIENCE = 2;

/**
 * Draws documents of a container by chance, by type. A small container is read as a whole.
 * Of others it reads short pages of the feed at random lsns, so that it costs as much as the documents it reads, however
 * many the container has. A document that was last written after a long pause is drawn more often than others.
 */
export async function draw(container: Container, options: DrawOptions): Promise<Map<string, Identity[]>> {
  const budget = spendingOf(container.database)?.reading(container.id);
  for (;;) {
    // A feed of its own each time: a source remembers ranges that may have been split.
    const { source } = await openSource(container, { budget });
    const ranges = await physicalRanges(container, options.signal);
    try {
      const drawn = new Drawn(options);
      if (!(await readAll(source, ranges, drawn, options))) await readSome(source, ranges, drawn, options);
      return drawn.documents();
    } catch (error) {
      if (!(error instanceof RangeGone)) throw error;
    }
  }
}

/** False: the container has more documents than were asked for. */
async function readAll(
  source: CosmosChangeSource,
  ranges: readonly FeedRange[],
  drawn: Drawn,
  { most, random, signal }: DrawOptions,
): Promise<boolean> {
  const enough = BESIDE * [...most.values()].reduce((sum, count) => sum + count, 0);
  const small = new Map<string, Change>();
  for (const range of ranges) {
    const end = lsnOf(await source.resolve(range, 'now', signal));
    for (let from = ''; lsnOf(from) < end;) {
      const { changes, next } = await source.read(range, from, signal, Math.min(enough + 1, PAGE));
      for (const change of changes) small.set(canonical([change.key, change.id]), change);
      if (small.size > enough) return false;
      if (next === from && changes.length === 0) break;
      from = next;
    }
  }
  // In an order by chance: of a type with more than were asked for, each document may be drawn.
  const order = [...small.values()].map((change) => ({ change, at: random() })).toSorted((a, b) => a.at - b.at);
  for (const { change } of order) drawn.take(change);
  return true;
}

async function readSome(
  source: CosmosChangeSource,
  ranges: readonly FeedRange[],
  drawn: Drawn,
  { most, random, signal }: DrawOptions,
): Promise<void> {
  const ends = await Promise.all(ranges.map(async (range) => lsnOf(await source.resolve(range, 'now', signal)) + 1));
  const all = ends.reduce((sum, end) => sum + end, 0);
  const reads = Math.ceil((PATIENCE * [...most.values()].reduce((sum, count) => sum + count, 0)) / PICKED) + most.size;
  for (let read = 0; read < reads && !drawn.full; read++) {
    let at = Math.floor(random() * all);
    const index = ends.findIndex((end) => (at < end ? true : ((at -= end), false)));
    const range = ranges[index];
    if (!range) return;
    const { changes } = await source.read(range, at === 0 ? '' : positionAt(at - 1), signal, PICKED);
    for (const change of changes) drawn.take(change);
  }
}

/** The documents drawn so far, each once. */
class Drawn {
  readonly #options: DrawOptions;
  readonly #found = new Map<string, Map<string, Identity>>();

  constructor(options: DrawOptions) {
    this.#options = options;
  }

  take({ container, key, id, doc = {} }: Change): void {
    const type = this.#options.typeOf(doc);
    const most = type === undefined ? undefined : this.#options.most.get(type);
    if (type === undefined || most === undefined) return;
    const found = this.#found.get(type) ?? new Map<string, Identity>();
    this.#found.set(type, found);
    if (found.size < most) found.set(canonical([key, id]), { container, key, id });
  }

  get full(): boolean {
    return [...this.#options.most].every(([type, most]) => this.#found.get(type)?.size === most);
  }

  documents(): Map<string, Identity[]> {
    return new Map([...this.#found].map(([type, found]) => [type, [...found.values()]]));
  }
}
