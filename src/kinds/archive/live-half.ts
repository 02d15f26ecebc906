import { TOMBSTONE_TTL_S } from '../../base/bounds.ts';
import { type ArchiveSpec, projectionId } from '../../pipeline/specs.ts';
import { type Change, compareVersions } from '../../feed/reading/change.ts';
import { RESTORING } from '../../feed/reading/mapper.ts';
import type { DocumentAccess } from '../../access/document-access.ts';
import { untilDone } from '../../access/change.ts';
import { Entries, type StoredEntry, forEach } from './entries.ts';
import type { ArchiveEntry } from './entry.ts';
import { type Followed, followEntry } from './follow.ts';
import { stay } from './leaving.ts';

type Blob = NonNullable<ArchiveEntry['blob']>;

/** Runs before all projections get a page, and returns the changes that they get. */
export type Sift = (changes: readonly Change[], access: DocumentAccess) => Promise<readonly Change[]>;

/** Writes versions to the archive, as they were stored; returns blob and line of each. The room `archive` implements it. */
export type ArchiveAgain = (spec: ArchiveSpec, changes: readonly Change[]) => Promise<ReadonlyMap<Change, Blob>>;

export interface LiveHalfOptions {
  /** The archives of one container. */
  readonly specs: readonly ArchiveSpec[];
  readonly stateContainer: string;
  /** The container's default time to live, seconds. */
  readonly defaultTtl: number | undefined;
  readonly again: ArchiveAgain;
}

/** After so many reads an entry that the mark promises is really missing. */
const STALE_READS = 12;

/**
 * The live half of a container's archives, where its all-versions feed is read. It keeps the entries, archives a document
 * again that the application wrote back while it left, and removes the archive's own writes and expiries from the page.
 * All of that is durable before a projection gets a change.
 */
export function liveHalf(options: LiveHalfOptions): Sift {
  const { specs, stateContainer } = options;
  const types = new Set(['', RESTORING, ...specs.map(({ from }) => from.type)]);
  const containers = new Set(specs.map(({ from }) => from.container));
  const entries = new Entries(stateContainer);
  // A change without an operation is not of this feed.
  const isOurs = ({ container, operation, leaving, type }: Change): boolean =>
    containers.has(container) && operation !== undefined && (leaving !== undefined || types.has(type));
  return async (changes, access) => {
    const ours = changes.filter(isOurs);
    if (ours.length === 0) return changes;
    const documents = [...Map.groupBy(ours, ({ key, id }) => JSON.stringify([key, id])).values()];
    const known = await entries.read(
      documents.flatMap(([first]) => first ?? []),
      access,
    );
    const half = new PageHalf(options, entries, access);
    await half.archive(documents.map((of, index) => half.follow(known[index], of)));
    const events = new Map<Change, Change>();
    await forEach([...documents.entries()], async ([index, of]) => {
      for (const [change, event] of await half.writeEntry(known[index], of)) events.set(change, event);
    });
    return changes.flatMap((change) => (isOurs(change) ? (events.get(change) ?? []) : change));
  };
}

/** The work for one page. */
class PageHalf {
  readonly #options: LiveHalfOptions;
  readonly #entries: Entries;
  readonly #access: DocumentAccess;
  readonly #blobs = new Map<Change, Blob>();

  constructor(options: LiveHalfOptions, entries: Entries, access: DocumentAccess) {
    this.#options = options;
    this.#entries = entries;
    this.#access = access;
  }

  follow(known: StoredEntry | undefined, changes: readonly Change[]): Followed & { readonly known: typeof known } {
    const { defaultTtl = -1 } = this.#options;
    const mayExpire = ({ doc }: Change): boolean => Number(doc?.['ttl'] ?? defaultTtl) > 0;
    return { ...followEntry(known, changes, mayExpire), known };
  }

  /** Writes the versions to the archive that no blob has yet: those of a page together. */
  async archive(followed: readonly (Followed & { readonly known: StoredEntry | undefined })[]): Promise<void> {
    const due = followed.flatMap(({ back, known, stale }) =>
      back && !stale && !this.#blobs.has(back) && !isRecorded(back, known) ? [back] : [],
    );
    for (const [spec, some] of Map.groupBy(due, (change) => this.#specOf(change)))
      for (const [change, blob] of await this.#options.again(spec, some)) this.#blobs.set(change, blob);
  }

  /** Writes the entry of one document. Returns its changes for the projections. */
  async writeEntry(first: StoredEntry | undefined, changes: readonly Change[]): Promise<ReadonlyMap<Change, Change>> {
    const [change] = changes;
    let events: ReadonlyMap<Change, Change> = new Map();
    let reads = 1;
    if (!change) return events;
    await untilDone(`The archive entry of ${change.container}/${change.id}`, async (isFirst) => {
      const [known] = isFirst ? [first] : await this.#entries.read([change], this.#access);
      const followed = this.follow(known, changes);
      if (followed.stale && reads++ < STALE_READS) return false;
      await this.archive([{ ...followed, stale: false }]);
      if (!(await this.#write(change, followed))) return false;
      ({ events } = followed);
      // The archive has this version now. If the patch fails, the document changed again, or has expired.
      if (followed.back) await stay(followed.back, this.#access);
      return true;
    });
    return events;
  }

  async #write(of: Change, { known, standing, write, back }: ReturnType<PageHalf['follow']>): Promise<boolean> {
    if (!write || !standing) return true;
    const { state, version, shown, brief } = standing;
    const same = known && compareVersions(known.version, version) === 'same';
    const blob = state === 'void' ? null : same || !back ? (known?.blob ?? null) : (this.#blobs.get(back) ?? null);
    const projection = same && known ? known.projection : projectionId(this.#specOf(of));
    const type = known?.type ?? of.type;
    const next = { projection, state, blob, ...(shown && { shown }), ...(brief ? { ttl: TOMBSTONE_TTL_S } : {}) };
    return this.#entries.replace(known, { ...of, type, version }, next, this.#access);
  }

  /** A document that changed its type keeps its archive. */
  #specOf({ container, type }: Change): ArchiveSpec {
    const there = this.#options.specs.filter(({ from }) => from.container === container);
    const spec = there.find(({ from }) => from.type === type) ?? there[0];
    if (spec) return spec;
    throw new RangeError(`No archive takes ${container}`);
  }
}

/** Whether the entry names the version with its line already: the page was read before. */
const isRecorded = (back: Change, known: StoredEntry | undefined): boolean =>
  known?.state === 'archived' && compareVersions(back.version, known.version) === 'same';
