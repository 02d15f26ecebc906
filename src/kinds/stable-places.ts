// A `stable` projection stores no places of its documents. So a host remembers those that it saw last, and notices where the
// declaration isn't true.
import { LRUCache } from 'lru-cache';
import { canonical } from '../base/json.ts';
import type { Change } from '../feed/reading/change.ts';
import { projectionsError } from './errors.ts';
import { type SinkPlace, placeId } from './locator.ts';

/** Documents. A version that was seen before more than so many others isn't compared; `verify` finds what it left. */
const REMEMBERED = 10_000;

export class StablePlaces {
  readonly #projection: string;
  readonly #known = new LRUCache<string, readonly string[]>({ max: REMEMBERED });

  constructor(projection: string) {
    this.#projection = projection;
  }

  /**
   * A document may come into another group, but leave none while it counts. One that no longer counts leaves nothing behind,
   * so it may begin another life. @throws MillraceError `place-changed`
   */
  assert({ container, key, id }: Change, places: readonly SinkPlace[], counts: boolean): void {
    const document = canonical([container, key, id]);
    const now = places.map(placeId);
    const left = this.#known.get(document)?.find((place) => !now.includes(place));
    if (left !== undefined)
      throw projectionsError('place-changed', `${this.#projection} is \`stable\`, but the document has left ${left}`, {
        hint: `Declare a new version of it without \`stable\`, and build that one. \`millrace projections verify --repair\` corrects what documents have left behind.`,
      });
    if (counts) this.#known.set(document, now);
    else this.#known.delete(document);
  }
}
