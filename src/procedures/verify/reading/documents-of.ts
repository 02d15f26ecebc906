import type { Database } from '@azure/cosmos';
import { findArchived } from '../../../archive/read/archived-line.ts';
import type { BlobStore } from '../../../access/blob-store.ts';
import { KeptBlobs } from '../../../archive/blobs/kept-blobs.ts';
import { canonical } from '../../../base/json.ts';
import { mapSettled } from '../../../base/map-settled.ts';
import { Meter } from '../../../cosmos/budget/charge-meter.ts';
import { asStored, isOfType, typeRules } from '../../../pipeline/discriminator.ts';
import { isEmptied } from '../../../pipeline/emptied.ts';
import { rowKey } from '../../../pipeline/oracle/recompute.ts';
import type { Doc, SourceRef } from '../../../pipeline/specs.ts';
import { keyPathsOf } from '../../../model/model.ts';
import { sourceContainers } from '../../../engine/runners.ts';
import type { Identity } from '../../../feed/reading/change.ts';
import { toChange } from '../../../feed/reading/mapper.ts';
import { untilStopped } from '../../../feed/tenure/fences.ts';
import { Entries } from '../../../kinds/archive/entries.ts';
import { hasLeft } from '../../../kinds/moved.ts';
import { openStore } from '../../../runtime/archives.ts';
import type { LoadedPipeline, Services } from '../../../runtime/workspace.ts';
import { CosmosAccess } from '../../../access/cosmos-access.ts';
import { HomeDocuments } from './home-shards.ts';
import { identityText } from '../parked.ts';

const CHUNK = 100;

/**
 * Reads single documents by their identities, as a comparison of all documents would find them. Reads each once: make
 * another one for another look.
 */
export class DocumentsOf {
  readonly #loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>;
  readonly #services: Services;
  readonly #accesses: (container: string) => readonly (readonly [CosmosAccess, Database])[];
  readonly #homes: HomeDocuments;
  /** By `identityText`; null: it is not in its container. */
  readonly #known: Map<string, Doc | null>;
  readonly #blobs: KeptBlobs;

  /**
   * `known`: documents that were just read, by `identityText`. `databases`: those that have documents of a container; of a
   * document that several have, `homes` says which one counts. Default: that of the place.
   */
  constructor(
    loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>,
    services: Services,
    {
      signal,
      known = new Map(),
      databases,
      homes = new HomeDocuments(),
    }: {
      readonly signal: AbortSignal;
      readonly known?: ReadonlyMap<string, Doc> | undefined;
      readonly databases?: (container: string) => readonly Database[];
      readonly homes?: HomeDocuments;
    },
  ) {
    this.#known = new Map(known);
    this.#loaded = loaded;
    this.#services = services;
    const open = (database: Database): CosmosAccess => new CosmosAccess(database, untilStopped(signal), new Meter());
    const own = services.place.database;
    this.#homes = homes;
    this.#accesses = (container) => (databases?.(container) ?? [own]).map((database) => [open(database), database]);
    let store: Promise<BlobStore> | undefined;
    this.#blobs = new KeptBlobs(async (name) => (await (store ??= openStore(services, signal))).read(name));
  }

  /** The existing documents of a type among these, archived ones included, each once. */
  async read(of: SourceRef, who: readonly Identity[]): Promise<Doc[]> {
    const { pipeline } = this.#loaded;
    const rules = typeRules(pipeline.sources, of);
    const found = await this.stored(who);
    const archives = pipeline.archives.some(({ from }) => from.container === of.container && from.type === of.type);
    const docs = archives ? await this.#withArchived(of, who, found) : [...found.values()];
    return docs.filter((doc) => isOfType(of.type, rules, doc) && !isEmptied(doc));
  }

  /** The documents that are in their container, of any type, by `identityText`. */
  async stored(who: readonly Identity[]): Promise<Map<string, Doc>> {
    const all = new Map(who.map((one) => [identityText(one), one]));
    await this.#read(new Map([...all].filter(([text]) => !this.#known.has(text))));
    const found = new Map<string, Doc>();
    for (const text of all.keys()) {
      const doc = this.#known.get(text);
      if (doc) found.set(text, doc);
    }
    return found;
  }

  async #read(places: ReadonlyMap<string, Identity>): Promise<void> {
    const chunks = [
      ...Map.groupBy(places.values(), ({ container, key }) => canonical([container, key])).values(),
    ].flatMap((of) =>
      Array.from({ length: Math.ceil(of.length / CHUNK) }, (_, at) => of.slice(at * CHUNK, (at + 1) * CHUNK)),
    );
    await mapSettled(
      chunks,
      async (some) => {
        const [{ container, key } = { container: '', key: [] }] = some;
        const ids = some.map(({ id }) => id);
        for (const [access, database] of this.#accesses(container)) {
          const docs = await access.read(container, key, ids);
          for (const [index, doc] of docs.entries()) {
            if (doc) this.#homes.note(container, doc, database);
            this.#keep(identityText(some[index]!), doc);
          }
        }
      },
      { concurrency: 32 },
    );
    for (const [text, one] of places)
      if (!this.#known.get(text) && one.key.includes(null))
        this.#known.set(text, (await this.#withoutKey(one)) ?? null);
  }

  #keep(text: string, found: Doc | undefined): void {
    const doc = found && hasLeft(found) ? undefined : found;
    const known = this.#known.get(text);
    if (!known || (doc && this.#homes.countsRather(doc, known))) this.#known.set(text, doc ?? null);
  }

  /** An identity has null also for a key value that the document doesn't have, by which no point read finds it. */
  async #withoutKey({ container, key, id }: Identity): Promise<Doc | undefined> {
    const { model } = this.#loaded;
    const paths = keyPathsOf(model, container);
    const all = this.#accesses(container).map(([access]) =>
      access.query<Doc>(container, 'SELECT * FROM c WHERE c.id = @id', { id }),
    );
    return (await Promise.all(all)).flat().find((doc) => rowKey(doc, paths) === canonical([...key, id]));
  }

  /** As the archive's history shows them: a document that leaves by expiry without the archive's marks. */
  async #withArchived(of: SourceRef, who: readonly Identity[], hot: ReadonlyMap<string, Doc>): Promise<Doc[]> {
    const { pipeline, model } = this.#loaded;
    const source = sourceContainers({ ...pipeline, sources: asStored(pipeline.sources) }, model).get(of.container);
    if (!source) return [];
    const docs: Doc[] = [];
    for (const raw of hot.values()) {
      const change = toChange(source, { ...raw, _lsn: 0 }, 0);
      if (!change?.doc) continue;
      const { leaving, version } = change;
      const { etag } = (leaving?.intact && leaving.of?.version) || version;
      docs.push({ ...change.doc, _etag: etag, _ts: raw['_ts'] });
    }
    const cold = [...new Map(who.map((one) => [identityText(one), one])).values()].filter(
      (one) => !hot.has(identityText(one)),
    );
    const entries = new Entries(this.#services.place.state.id);
    for (const [access] of this.#accesses(of.container))
      for (const [index, entry] of (await entries.read(cold, access)).entries()) {
        const archived = await findArchived(cold[index]!, entry, this.#blobs);
        if (archived) docs.push({ ...archived.doc, _etag: archived.version.etag, _ts: archived.at / 1_000 });
      }
    return docs;
  }
}
