// Erases a tenant (docs/SPEC-erase.md): stops its changes, removes everything, searches, and certifies.
import type { Container } from '@azure/cosmos';
import { eraseFromArchive } from '../../archive/erase.ts';
import { Holds } from '../../archive/holds.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import type { ErasureRecord, ErasureRecords } from '../../engine/erasures/record.ts';
import type { Settings } from '../../base/settings.ts';
import type { SinkDocument } from '../../access/document-access.ts';
import { type LockOptions, whileLocked } from '../journal/lock.ts';
import { type Certificate, Certificates, begun, certified } from './certificate.ts';
import { addArchived, addOwned, removeDerived, removeStored } from './erase-documents.ts';
import { reactionOf, removeJobs } from './erase-jobs.ts';
import { type Count, type EraseParts, type ErasePlace, type PlaceParts, all } from './erase-options.ts';
import { type SearchedPlaces, type Searched, searchEverything } from './erase-search.ts';
import { removeState } from './erase-state.ts';
import { removeRows } from './erase-tables.ts';
import { operationsError } from '../errors.ts';
import { Owned } from './owned.ts';

export interface EraseOptions extends EraseParts {
  readonly settings: Settings;
  readonly records: ErasureRecords;
  readonly record: ErasureRecord;
  readonly actor: string;
  /** Resolves when nothing applies a change of the tenant any more. */
  readonly stopped: (record: ErasureRecord, signal: AbortSignal) => Promise<void>;
  /** Resolves when no process acts any more on what it read before the call. */
  readonly passed: (signal: AbortSignal) => Promise<void>;
  readonly progress?: (what: string, done: number) => void;
}

/** An application that has not stopped writes meanwhile. */
const ROUNDS = 4;

/**
 * Removes everything of a tenant, and returns the certificate. May be stopped at any point and run again.
 * @throws MillraceError `under-way`, `erase-unfinished`
 */
export async function erase(options: EraseOptions): Promise<Certificate> {
  const { services, loaded, actor, clock, signal } = options;
  const lock = { state: services.global.state, pipeline: loaded.pipeline.name, actor, clock, signal };
  return whileNoOtherErases(lock, (locked) =>
    new Erasure({ ...options, signal: AbortSignal.any([signal, locked]) }).run(),
  );
}

interface Lock extends Pick<LockOptions, 'actor' | 'clock' | 'signal'> {
  readonly state: Container;
  readonly pipeline: string;
}

/** Runs `work` while no other process erases a tenant of the pipeline. @throws MillraceError `under-way` */
export const whileNoOtherErases = <T>(
  { state, pipeline, ...by }: Lock,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> =>
  whileLocked(state, { kind: 'erasing', of: pipeline, what: `An erasure of ${pipeline}`, ...by }, ({ signal }) =>
    work(signal),
  );

class Erasure {
  readonly #options: EraseOptions;
  readonly #certificates: Certificates;
  readonly #owned: Owned;
  readonly #removed: Record<string, number> = {};
  readonly #held = new Set<string>();
  readonly #faults = new Set<string>();
  /** What had to go, in all rounds. */
  #total = 0;

  constructor(options: EraseOptions) {
    this.#options = options;
    this.#owned = new Owned(options.asked, options.loaded.model);
    this.#certificates = new Certificates(options.services.global.state);
  }

  async run(): Promise<Certificate> {
    const { record, records, loaded, services, asked, stopped, assertStill, settings, signal } = this.#options;
    const before = (await this.#certificates.read(record.id)) ?? begun(record, loaded.pipeline.name);
    Object.assign(this.#removed, before.removed);
    // Documents may expire during the wait, and hosts drop the changes by which they went (ERASE-P65).
    await this.#list();
    await stopped(record, signal);
    // From now on no move of these keys can begin (ERASE-P61).
    await assertStill();
    await records.update(record.id, (one) => ({ ...one, state: 'removing' }));
    const searched = await this.#untilNothingIsLeft(before);
    const unreadable = [...searched.unreadable, ...this.#faults];
    const found = { ...searched, unreadable };
    const done = await certified(this.#withCounts(before), found, this.#held, this.#options, settings);
    await this.#certificates.write(done);
    if (this.#held.size > 0) await new Holds(services.global.state).noteErasure(asked.tenant, record.id);
    // Last: an erasure that died before is certified again.
    await records.update(record.id, (one) => ({ ...one, state: 'erased' }));
    return done;
  }

  /** Hosts may apply deletions of removed documents: so a search counts only after a wait, and after a round without any work. */
  async #untilNothingIsLeft(before: Certificate): Promise<Searched> {
    const { passed, signal, progress } = this.#options;
    for (let round = 1; ; round++) {
      const earlier = this.#total;
      await this.#remove(before);
      const quiet = round > 1 && this.#total === earlier;
      if (quiet || round === ROUNDS) {
        progress?.('search', round);
        const searched = await searchEverything({ ...this.#options, held: this.#held });
        if (quiet && Object.keys(searched.left).length === 0) return searched;
        if (round === ROUNDS) {
          const what =
            said(searched.left) || `${(this.#total - earlier).toLocaleString('en-US')} removed in the last one`;
          throw operationsError('erase-unfinished', `After ${ROUNDS} rounds the tenant still had ${what}`);
        }
      }
      await passed(signal);
    }
  }

  /** Adds the tenant's documents as they are now to those that are known, and resolves with all places. */
  async #list(): Promise<readonly PlaceParts[]> {
    const places = (await this.#options.places()).all.map((at): PlaceParts => ({ ...this.#options, ...at }));
    for (const at of places) await addOwned(this.#owned, at);
    await addArchived(this.#owned, this.#options);
    return places;
  }

  /** Each step needs what later steps remove. So a run that was killed finds again what it had left. */
  async #remove(before: Certificate): Promise<void> {
    const count: Count = (place, { found, removed }) => {
      this.#total += found;
      if (removed === 0) return;
      this.#removed[place] = (this.#removed[place] ?? 0) + removed;
      this.#options.progress?.('removed', this.#total);
    };
    const owned = this.#owned;
    const places = await this.#list();
    /** In all places before the next step: a record in one place may be of a document in another. */
    const everywhere = (step: (at: PlaceParts) => Promise<void>) => async (): Promise<void> => {
      for (const at of places) await step(at);
    };
    const steps = [
      async () => removeJobs(await this.#reactions(owned, places), count, this.#options),
      everywhere((at) => removeDerived(owned, count, at)),
      everywhere((at) => removeState(owned, `erased:${before.digest}`, count, at, this.#held)),
      everywhere((at) => removeStored(owned, count, at)),
      () => removeRows(count, this.#options),
      () => this.#removeArchived(places, count),
    ];
    for (const step of steps) {
      await step();
      await this.#certificates.write(this.#withCounts(before));
    }
  }

  /** The retries of reactions to the tenant's documents: they name a letter. */
  async #reactions(owned: Owned, places: readonly ErasePlace[]): Promise<Set<string>> {
    const { signal } = this.#options;
    const query = "SELECT c.projection, c.container, c.key, c.document, c.tenant FROM c WHERE c.kind = 'dead-letter'";
    const found = new Set<string>();
    for (const { services } of places)
      for await (const letter of fetchAll<SinkDocument>(services.place.state, query, signal, { anyFormat: true }))
        if (owned.hasLetter(letter)) found.add(reactionOf(String(letter['projection']), String(letter['document'])));
    return found;
  }

  async #removeArchived(places: readonly ErasePlace[], count: Count): Promise<void> {
    const { store, services, asked, readLagMs: settleMs, clock, signal } = this.#options;
    if (!store) return;
    const { tenant, owns } = asked;
    const stateContainer = services.place.state.id;
    const accesses = places.map(({ access }) => access);
    const erased = await eraseFromArchive({ store, stateContainer, accesses, tenant, owns, settleMs, clock, signal });
    count('archived versions', all(erased.lines));
    count('archive entries', all(erased.entries));
    count('blobs', all(erased.removed.length - erased.rewritten));
    count('blobs written without the tenant', all(erased.rewritten));
    for (const name of erased.held) this.#held.add(name);
    for (const { blob } of erased.faults) this.#faults.add(blob ?? 'a manifest');
  }

  #withCounts(before: Certificate): Certificate {
    const { ended: _, ...open } = before;
    return { ...open, removed: { ...this.#removed } };
  }
}

/** `12 in Orders, 3 in state`. */
export const said = (places: SearchedPlaces): string =>
  Object.entries(places)
    .map(([place, count]) => `${count.toLocaleString('en-US')} in ${place}`)
    .join(', ');
