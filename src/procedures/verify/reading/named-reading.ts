// A comparison of some documents: those drawn by chance, or those of a page.
import { namesLevel } from '../../../base/key-level.ts';
import { canonical, digest, isObject } from '../../../base/json.ts';
import { splitPath } from '../../../cosmos/paths.ts';
import { isOfType, typeRules } from '../../../pipeline/discriminator.ts';
import { ownFields, rowKey } from '../../../pipeline/oracle/recompute.ts';
import { sourcesOf } from '../../../pipeline/pipeline.ts';
import {
  type CopySpec,
  type Doc,
  type EmbedSpec,
  type EntryPlace,
  type OutsideSpec,
  type ProjectionSpec,
  type ReferenceSpec,
  type SourceRef,
  projectionId,
} from '../../../pipeline/specs.ts';
import { tenantRuleOf } from '../../../pipeline/tenant.ts';
import type { Identity, Key } from '../../../feed/reading/change.ts';
import { keyPathsOf } from '../../../model/model.ts';
import type { LoadedPipeline, Services } from '../../../runtime/workspace.ts';
import { DocumentsOf } from './documents-of.ts';
import { type GroupLimits, drawnGroups, placed } from '../sample/drawn-groups.ts';
import { type Part, type Reading, nameOf } from '../look.ts';
import { parkedIdentityOf } from '../parked.ts';
import { type TypesReading, readTypes } from './whole-reading.ts';

/** The documents to compare. */
export interface Drawn extends GroupLimits {
  /** By `Container/type`, of sources and of sinks. */
  readonly documents: ReadonlyMap<string, readonly Identity[]>;
  /** Of tables: the places of rows that were drawn, by the `name@version` of the projection. */
  readonly placed?: ReadonlyMap<string, readonly EntryPlace[]>;
  /** Those that were just read, by `identityText`. Only for the first look: a later one reads them again. */
  readonly read?: ReadonlyMap<string, Doc> | undefined;
  /** About the most rows of reference data to look up; which ones, chance says. */
  readonly rows: number;
  /** Chooses these rows. */
  readonly seed: number;
}

/** Reads what comes from some source documents, and what some sink documents come from. */
export class NamedReading implements Reading {
  readonly #loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>;
  readonly #services: Services;
  readonly #drawn: Drawn;
  readonly #types: TypesReading;
  readonly #documents: DocumentsOf;
  readonly #sources = new Set<string>();
  readonly #whole = new Map<string, Promise<readonly Doc[]>>();

  constructor(
    loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>,
    services: Services,
    drawn: Drawn,
    types: TypesReading,
  ) {
    this.#loaded = loaded;
    this.#services = services;
    this.#drawn = drawn;
    this.#types = types;
    this.#documents = new DocumentsOf(loaded, services, { ...types, known: drawn.read });
  }

  sink(into: SourceRef): Promise<readonly Doc[]> {
    return this.#storedOf(into, this.#drawnOf(into));
  }

  async beside(into: SourceRef, places: readonly string[], read: readonly Doc[]): Promise<readonly Doc[]> {
    const known = new Set(read.map((doc) => rowKey(doc, this.#keyPathsOf(into.container))));
    const others = places.filter((place) => !known.has(place));
    return this.#storedOf(
      into,
      others.map((place) => placed(into.container, place)),
    );
  }

  async part(spec: ProjectionSpec, stored: readonly Doc[]): Promise<Part> {
    const keyPaths = this.#keyPathsOf(spec.into.container);
    const mine = stored.filter(({ _mr }) => isObject(_mr) && _mr['by'] === projectionId(spec));
    const own = new Map(mine.map((doc) => [rowKey(doc, keyPaths), doc]));
    const part = await this.#partOf(spec, own);
    for (const of of sourcesOf(spec)) this.#note(of, part.docs.get(nameOf(of)) ?? []);
    return part;
  }

  /** A locator that doesn't say that its document waits is a gap: docs/SPEC-verify.md. */
  pending(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  sources(): number {
    return this.#sources.size;
  }

  #partOf(spec: ProjectionSpec, own: ReadonlyMap<string, Doc>): Promise<Part> {
    if (spec.kind === 'aggregate')
      return drawnGroups(spec, new Set(own.keys()), {
        database: this.#services.place.database,
        documents: this.#documents,
        drawn: this.#drawnOf(spec.from),
        limits: this.#drawn,
        rules: this.#loaded.pipeline.sources,
        keyPaths: this.#keyPathsOf(spec.into.container),
        sourceKeys: this.#keyPathsOf(spec.from.container),
        signal: this.#types.signal,
      });
    return spec.kind === 'copy' ? this.#copies(spec, own) : this.#references(spec, own);
  }

  /** The copied documents, and the joined documents that they name. */
  async #copies(spec: CopySpec, own: ReadonlyMap<string, Doc>): Promise<Part> {
    const docs = new Map([[nameOf(spec.from), await this.#copied(spec, own)]]);
    const { upcast } = typeRules(this.#loaded.pipeline.sources, spec.from);
    const current = this.#readable(docs.get(nameOf(spec.from)) ?? [], (doc) => (upcast ? upcast(doc) : doc));
    for (const { of } of spec.joins) {
      const who = spec.joins
        .filter((join) => nameOf(join.of) === nameOf(of))
        .flatMap((join) => current.flatMap((doc) => this.#named(join.of, join.on, (field) => doc[field])));
      const found = await this.#documents.read(of, who);
      const together = [...(nameOf(of) === nameOf(spec.from) ? (docs.get(nameOf(of)) ?? []) : []), ...found];
      docs.set(nameOf(of), this.#once(of, together));
    }
    return { docs };
  }

  /** All tenants; the rows drawn, and as many of those that the source documents drawn determine, by chance. */
  async #references(spec: ReferenceSpec, own: ReadonlyMap<string, Doc>): Promise<Part> {
    const copied = await this.#copied(spec, own);
    const tenants = await this.#all(spec.tenants);
    const { rows, seed } = this.#drawn;
    const share = rows / Math.max(1, copied.length * tenants.length);
    const docs = new Map([
      [nameOf(spec.tenants), tenants],
      [nameOf(spec.from), copied],
    ]);
    // By its name, so that a second look picks the same.
    return { docs, only: (place) => own.has(place) || chanceOf(place, seed) < share };
  }

  /** The source documents drawn, and those that sink documents were made of. */
  #copied(spec: CopySpec | ReferenceSpec, own: ReadonlyMap<string, Doc>): Promise<readonly Doc[]> {
    const named = [...own.values()].flatMap(({ _src }) =>
      isObject(_src) && Array.isArray(_src['pk']) && typeof _src['id'] === 'string'
        ? [{ container: spec.from.container, key: _src['pk'] as Key, id: _src['id'] }]
        : [],
    );
    return this.#documents.read(spec.from, [...this.#drawnOf(spec.from), ...named]);
  }

  async children(specs: readonly EmbedSpec[], into: SourceRef) {
    const children = await this.#storedOf(into, this.#drawnOf(into));
    const parents = new Map<string, Doc[]>();
    for (const { from, on, each } of specs) {
      const who = children.flatMap((child) => {
        const list: unknown = each ? child[each.field] : [child];
        const items = Array.isArray(list) ? list.filter(isObject) : [];
        return items.flatMap((item) =>
          this.#named(from, { ...on, ...each?.on }, (field, of) => (each && of in each.on ? item : child)[field]),
        );
      });
      const found = await this.#documents.read(from, who);
      parents.set(nameOf(from), this.#once(from, [...(parents.get(nameOf(from)) ?? []), ...found]));
      this.#note(from, found);
    }
    return { children, parents };
  }

  /** The rows of the source documents that were drawn, and the source documents of the rows that were drawn. */
  async rows(spec: OutsideSpec) {
    if (spec.kind !== 'table') return undefined;
    const { pipeline, model } = this.#loaded;
    const { container } = spec.from;
    const drawn = this.#drawn.placed?.get(projectionId(spec)) ?? [];
    const named = drawn.map(({ key, id }) => ({ container, key: key as Key, id }));
    const who = [...this.#drawnOf(spec.from), ...named];
    const docs = await this.#documents.read(spec.from, who);
    this.#note(spec.from, docs);
    const field = tenantRuleOf(pipeline, model, container)?.field;
    const stated = docs.flatMap((doc) => {
      const one = parkedIdentityOf(container, this.#keyPathsOf(container), doc);
      return one && field !== undefined ? [{ ...one, tenant: doc[field] }] : [];
    });
    // A document that was deleted or parked may have rows too.
    const stored = spec.to.part?.({ places: once([...drawn, ...stated, ...who]) }, this.#types.signal);
    return stored && { docs, stored };
  }

  /** The document that fields name by its id and whole key; none if one of them is missing. */
  #named(
    { container }: SourceRef,
    on: Readonly<Record<string, string>>,
    valueOf: (field: string, of: string) => unknown,
  ): Identity[] {
    const field = (name: string): unknown => (on[name] === undefined ? undefined : valueOf(on[name], name));
    const key = this.#keyPathsOf(container).map((path) => field(splitPath(path).join('/')));
    const id = on['id'] === undefined ? key.at(-1) : field('id');
    return typeof id === 'string' && key.every(namesLevel) ? [{ container, key, id }] : [];
  }

  /** Documents by the user's `upcast`, without those that it refuses. */
  #readable(docs: readonly Doc[], convert: (doc: Doc) => Doc): Doc[] {
    return docs.flatMap((doc) => {
      try {
        return [convert(ownFields(doc))];
      } catch {
        return [];
      }
    });
  }

  #once({ container }: SourceRef, docs: readonly Doc[]): Doc[] {
    const keyPaths = this.#keyPathsOf(container);
    return [...new Map(docs.map((doc) => [rowKey(doc, keyPaths), doc])).values()];
  }

  async #storedOf(of: SourceRef, who: readonly Identity[]): Promise<Doc[]> {
    const rules = typeRules(this.#loaded.pipeline.sources, of);
    return [...(await this.#documents.stored(who)).values()].filter((doc) => isOfType(of.type, rules, doc));
  }

  #all(of: SourceRef): Promise<readonly Doc[]> {
    const name = nameOf(of);
    const read = this.#whole.get(name) ?? readTypes([of], this.#types).then((all) => all.get(name) ?? []);
    this.#whole.set(name, read);
    return read;
  }

  #note({ container }: SourceRef, docs: readonly Doc[]): void {
    for (const doc of docs) this.#sources.add(`${container} ${rowKey(doc, this.#keyPathsOf(container))}`);
  }

  #drawnOf(of: SourceRef): readonly Identity[] {
    return this.#drawn.documents.get(nameOf(of)) ?? [];
  }

  #keyPathsOf(container: string): readonly string[] {
    return keyPathsOf(this.#loaded.model, container);
  }
}

/** The same number in [0, 1) for the same text. */
const chanceOf = (text: string, seed: number): number =>
  Buffer.from(digest([text, seed]), 'base64url').readUIntBE(0, 6) / 2 ** 48;

/** Each place once. One that names no tenant is left out where another does, because it finds the same rows. */
function once(places: readonly EntryPlace[]): EntryPlace[] {
  const found = new Map<string, EntryPlace>();
  const known = new Set<string>();
  for (const { key, id, tenant } of places) {
    const document = canonical([key, id]);
    if (tenant === undefined && known.has(document)) continue;
    known.add(document);
    found.set(canonical([key, id, tenant ?? null]), { key, id, tenant });
  }
  return [...found.values()];
}
