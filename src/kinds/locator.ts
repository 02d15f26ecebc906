import { TOMBSTONE_TTL_S } from '../base/bounds.ts';
import { formatOf } from '../base/format.ts';
import { canonical, digest } from '../base/json.ts';
import { mapSettled } from '../base/map-settled.ts';
import type { Change, Identity, Key, Version } from '../feed/reading/change.ts';
import type { SinkDocument, DocumentAccess } from '../access/document-access.ts';
import { changeDocument } from '../access/change.ts';
import { stateDocument } from './changed-state.ts';
import { Guess } from './create-first.ts';
import { type JoinUses, compareUses, usesOf } from './join-use.ts';
import { standing } from './standing.ts';

/** The access sends many of them in one request. */
const AT_ONCE = 512;

/** Where derived state of one source document is stored: full partition key and id in the sink. */
export interface SinkPlace {
  readonly key: Key;
  readonly id: string;
}

export const placeId = (place: SinkPlace): string => canonical([place.key, place.id]);

/** A change with the places where its state belongs now: none for a deletion. */
export interface Targeted<P extends SinkPlace = SinkPlace> {
  readonly change: Change;
  readonly places: readonly P[];
  /** Of a copy that waits for joined documents: the states that determined the places. */
  readonly joined?: { readonly joins: JoinUses; readonly waits: boolean } | undefined;
}

/** A change whose locator is written: its state may be written at `places`, and must be retracted at `departed`. */
export interface Located<P extends SinkPlace = SinkPlace> extends Targeted<P> {
  readonly departed: readonly SinkPlace[];
  readonly locator: { readonly pk: string; readonly id: string; readonly etag: string };
}

/** Whether a change left a place, or all places: its locator is pruned once nothing is stored there. */
export const locatorHasLeft = ({ departed, places, joined }: Located): boolean =>
  departed.length > 0 || (places.length === 0 && joined?.waits !== true);

export interface LocatorDocument {
  readonly id: string;
  readonly pk: string;
  readonly type: 'millrace.locator';
  readonly projection: string;
  readonly source: { readonly container: string; readonly key: Key; readonly id: string };
  readonly version: Version;
  readonly places: readonly SinkPlace[];
  readonly joins?: JoinUses;
  /** A joined document is missing (COPY-J4). */
  readonly waits?: true;
  /** Set once the document is gone. The locator outlives it by this time, so that a late change is still known as old. */
  readonly ttl?: number;
}

/**
 * The locators of one projection (AGG-G3): a write-ahead intent for each source document. *Every* change advances it by
 * compare-and-swap before anything is written to the sink; afterwards it is pruned on its own ETag.
 */
export class Locators {
  readonly #container: string;
  readonly #projection: string;
  readonly #guess = new Guess();

  constructor(stateContainer: string, projection: string) {
    this.#container = stateContainer;
    this.#projection = projection;
  }

  /**
   * Advances the locators. The result lacks the changes that are older than their locator: they need no work. It lacks
   * those too whose joined state is older than the one that determined the stored places: `stale` gets them.
   */
  async advance<P extends SinkPlace>(
    targeted: readonly Targeted<P>[],
    sink: DocumentAccess,
    stale?: (one: Targeted<P>) => void,
  ): Promise<Located<P>[]> {
    const located = await mapSettled(targeted, (one) => this.#advanceOne(one, sink, stale), { concurrency: AT_ONCE });
    return located.filter((one) => one !== undefined);
  }

  /**
   * Removes departed places from the locators that are still as `advance` wrote them. Where a newer change has advanced
   * the locator, that change removes them.
   */
  async prune(located: readonly Located[], sink: DocumentAccess): Promise<void> {
    await mapSettled(
      located,
      ({ change, places, joined, locator: { pk, id, etag } }) => {
        const kept = places.map((place) => ({ key: place.key, id: place.id }));
        const body = this.#document(pk, id, { change, places: kept, joined });
        const pruned = places.length === 0 && !joined?.waits ? { ...body, ttl: TOMBSTONE_TTL_S } : body;
        return sink.commit(this.#container, [pk], [{ op: 'replace', id, body: pruned, ifMatch: etag }]);
      },
      { concurrency: AT_ONCE },
    );
  }

  async #advanceOne<P extends SinkPlace>(
    one: Targeted<P>,
    sink: DocumentAccess,
    stale?: (one: Targeted<P>) => void,
  ): Promise<Located<P> | undefined> {
    const { change, places, joined } = one;
    const { pk, id } = locatorAt(this.#projection, change);
    const wanted = new Map(places.map((place) => [placeId(place), { key: place.key, id: place.id }]));
    let result: Located<P> | undefined;
    const what = `The locator of ${change.container}/${change.id}`;
    const of = stateDocument(this.#container, pk, id, { what, kind: 'a locator' });
    const decide = async (
      known: (SinkDocument & LocatorDocument) | undefined,
    ): Promise<LocatorDocument | undefined> => {
      const order = known ? await standing(change, known.version, sink) : 'newer';
      result = undefined;
      if (order === 'older') return undefined;
      const joins = joined ? compareUses(joined.joins, known?.joins) : 'same';
      if (joins === 'older') {
        stale?.(one);
        return undefined;
      }
      const departed = (known?.places ?? []).filter((place) => !wanted.has(placeId(place)));
      result = { ...one, departed, locator: { pk, id, etag: known?._etag ?? '' } };
      const body = this.#document(pk, id, { change, places: [...wanted.values(), ...departed], joined });
      // A duplicate that adds no place needs no write: the intent is stored already.
      const isStored = order === 'same' && joins === 'same' && known?.waits === body.waits;
      return isStored && body.places.length === known?.places.length ? undefined : body;
    };
    const etag = await changeDocument(sink, of, decide, (first, stored) => this.#guess.read(first, stored));
    return result && (etag === undefined ? result : { ...result, locator: { pk, id, etag } });
  }

  #document(
    pk: string,
    id: string,
    { change: { container, key, id: source, version }, places, joined }: Targeted,
  ): LocatorDocument {
    return {
      id,
      pk,
      type: 'millrace.locator',
      ...formatOf('locator'),
      projection: this.#projection,
      source: { container, key, id: source },
      version,
      places,
      ...(joined && { joins: usesOf(joined.joins) }),
      ...(joined?.waits && { waits: true as const }),
    };
  }
}

/** Where the locator of a source document is. One logical partition for each source key, so it is no larger than the source's own. */
export function locatorAt(projection: string, { container, key, id }: Identity): { pk: string; id: string } {
  const partition = canonical([container, key]);
  return {
    pk: `locator|${projection}|${partition.length > 500 ? digest(partition) : partition}`,
    id: digest(id),
  };
}
