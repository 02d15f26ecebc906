import { TOMBSTONE_TTL_S } from '../base/bounds.ts';
import { formatOf } from '../base/format.ts';
import { canonical, digest } from '../base/json.ts';
import { mapSettled } from '../base/map-settled.ts';
import type { Change, Identity, Key, Version } from '../feed/reading/change.ts';
import type { SinkDocument, DocumentAccess, Write } from '../access/document-access.ts';
import { untilDone } from './conflict.ts';
import { Guess } from './create-first.ts';
import { standing } from './stamp.ts';
import { projectionsError } from './errors.ts';

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
}

/** A change whose locator is written: its state may be written at `places`, and must be retracted at `departed`. */
export interface Located<P extends SinkPlace = SinkPlace> extends Targeted<P> {
  readonly departed: readonly SinkPlace[];
  readonly locator: { readonly pk: string; readonly id: string; readonly etag: string };
}

/** Whether a change left a place, or all places: its locator is pruned once nothing is stored there. */
export const locatorHasLeft = ({ departed, places }: Located): boolean => departed.length > 0 || places.length === 0;

export interface LocatorDocument {
  readonly id: string;
  readonly pk: string;
  readonly type: 'millrace.locator';
  readonly projection: string;
  readonly source: { readonly container: string; readonly key: Key; readonly id: string };
  readonly version: Version;
  readonly places: readonly SinkPlace[];
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

  /** Advances the locators. The result lacks the changes that are older than their locator: they need no work. */
  async advance<P extends SinkPlace>(targeted: readonly Targeted<P>[], sink: DocumentAccess): Promise<Located<P>[]> {
    const located = await mapSettled(targeted, (one) => this.#advanceOne(one, sink), { concurrency: AT_ONCE });
    return located.filter((one) => one !== undefined);
  }

  /**
   * Removes departed places from the locators that are still as `advance` wrote them. Where a newer change has advanced
   * the locator, that change removes them.
   */
  async prune(located: readonly Located[], sink: DocumentAccess): Promise<void> {
    await mapSettled(
      located,
      ({ change, places, locator: { pk, id, etag } }) => {
        const body = this.#document(
          pk,
          id,
          change,
          places.map((place) => ({ key: place.key, id: place.id })),
        );
        const pruned = places.length === 0 ? { ...body, ttl: TOMBSTONE_TTL_S } : body;
        return sink.commit(this.#container, [pk], [{ op: 'replace', id, body: pruned, ifMatch: etag }]);
      },
      { concurrency: AT_ONCE },
    );
  }

  async #advanceOne<P extends SinkPlace>(
    { change, places }: Targeted<P>,
    sink: DocumentAccess,
  ): Promise<Located<P> | undefined> {
    const pk = this.#partition(change);
    const { id } = locatorAt(this.#projection, change);
    const wanted = new Map(places.map((place) => [placeId(place), { key: place.key, id: place.id }]));
    let result: Located<P> | undefined;
    await untilDone(`The locator of ${change.container}/${change.id}`, async (first) => {
      const stored = await this.#guess.read(first, async () => (await sink.read(this.#container, [pk], [id]))[0]);
      const known = stored as (SinkDocument & LocatorDocument) | undefined;
      const order = known ? await standing(change, known.version, sink) : 'newer';
      result = undefined;
      if (order === 'older') return true;
      const departed = (known?.places ?? []).filter((place) => !wanted.has(placeId(place)));
      result = { change, places, departed, locator: { pk, id, etag: known?._etag ?? '' } };
      const body = this.#document(pk, id, change, [...wanted.values(), ...departed]);
      // A duplicate that adds no place needs no write: the intent is stored already.
      if (known && order === 'same' && body.places.length === known.places.length) return true;
      const write: Write = known ? { op: 'replace', id, body, ifMatch: known._etag } : { op: 'create', id, body };
      const answer = await sink.commit(this.#container, [pk], [write]);
      if (answer.kind === 'refused')
        throw projectionsError('state-refused', `The state container refused a locator: ${answer.why}`);
      if (answer.kind === 'conflict') return false;
      result = { ...result, locator: { pk, id, etag: answer.etags[0] ?? '' } };
      return true;
    });
    return result;
  }

  #document(
    pk: string,
    id: string,
    { container, key, id: source, version }: Change,
    places: readonly SinkPlace[],
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
    };
  }

  #partition(change: Change): string {
    return locatorAt(this.#projection, change).pk;
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
