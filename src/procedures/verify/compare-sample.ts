// Compares some documents with what the sources determine of them, by the same oracle and the same rules as `compare`.
import { namesLevel } from '../../base/key-level.ts';
import { canonical, digest, isObject } from '../../base/json.ts';
import { splitPath } from '../../cosmos/paths.ts';
import { isOfType, typeRules } from '../../pipeline/discriminator.ts';
import { rowKey, visible } from '../../pipeline/oracle/recompute.ts';
import { sourcesOf } from '../../pipeline/pipeline.ts';
import {
  type AggregateSpec,
  type CopySpec,
  type Doc,
  type EmbedSpec,
  type EntryPlace,
  type OutsideSpec,
  type ProjectionSpec,
  type ReferenceSpec,
  type SourceRef,
  type TableSpec,
  projectionId,
} from '../../pipeline/specs.ts';
import { tenantRuleOf } from '../../pipeline/tenant.ts';
import type { Database } from '@azure/cosmos';
import type { Identity, Key } from '../../feed/reading/change.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { openPipelineHistory } from '../../runtime/archives.ts';
import { type CompareOptions, type Comparison, type TypesReading, nameOf, readTypes } from './compare.ts';
import { placeDatabase } from '../../runtime/place-containers.ts';
import { HomeDocuments, homeShards } from './home-shards.ts';
import { databasesOf, letterStates } from '../projections/over-shards.ts';
import { type ContributionPart, checkContributions } from './contributions.ts';
import type { Candidate } from './difference.ts';
import { DocumentsOf } from './documents-of.ts';
import { type ParkedDocument, parkedIdentityOf, parkedOf } from './parked.ts';
import { type LookContext, SinkLook } from './sink-look.ts';
import { type GroupLimits, type DrawnPart, drawnGroups, placed } from './drawn-groups.ts';
import { type OtherComparison, checkChildren, checkRows } from './verify-others.ts';

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

export interface SampleComparison extends Comparison {
  /** Groups that were not recomputed, because they have too many source documents. */
  readonly largeGroups: number;
}

/**
 * Recomputes the documents that come from the source documents drawn, and the sink documents drawn, from the sources that
 * they name. A document that should not exist is found if it was drawn, a missing one if a source of it was.
 */
export async function compareSample(
  loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  services: Services,
  options: Omit<CompareOptions, 'readLagMs'> & { readonly drawn: Drawn },
): Promise<SampleComparison> {
  const homes = new HomeDocuments(await homeShards(loaded, services, options.settings));
  const databases = await databasesOf(loaded.pipeline, services);
  return new SampleLook(loaded, services, options, { databases, homes }).compare();
}

class SampleLook {
  readonly #loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>;
  readonly #services: Services;
  readonly #options: Omit<CompareOptions, 'readLagMs'> & { readonly drawn: Drawn };
  readonly #databases: (container: string) => readonly Database[];
  readonly #documents: DocumentsOf;
  readonly #differences: Candidate[] = [];
  readonly #parked: ParkedDocument[] = [];
  readonly #projections: { id: string; expected: number; refused: number }[] = [];
  readonly #sources = new Set<string>();
  readonly #whole = new Map<string, Promise<readonly Doc[]>>();
  #found = 0;
  #largeGroups = 0;

  constructor(
    loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>,
    services: Services,
    options: Omit<CompareOptions, 'readLagMs'> & { readonly drawn: Drawn },
    { databases, homes }: Required<Pick<TypesReading, 'databases' | 'homes'>>,
  ) {
    this.#loaded = loaded;
    this.#services = services;
    this.#options = options;
    this.#databases = databases;
    const { signal, drawn } = options;
    this.#documents = new DocumentsOf(loaded, services, { signal, known: drawn.read, databases, homes });
  }

  async compare(): Promise<SampleComparison> {
    const { chosen, kept, others = [], screen } = this.#options;
    const sinks = new Set(chosen.map(({ into }) => nameOf(into)));
    for (const sink of sinks) {
      await this.#sink(kept.filter(({ into }) => nameOf(into) === sink));
      screen.progress('compared', this.#found);
    }
    const embeds = others.filter((spec) => spec.kind === 'embed');
    for (const some of Map.groupBy(embeds, ({ into }) => nameOf(into)).values()) await this.#children(some);
    for (const spec of others) if (spec.kind === 'table') await this.#rows(spec);
    return {
      projections: this.#projections,
      documents: {
        sources: this.#sources.size,
        expected: this.#projections.reduce((sum, { expected }) => sum + expected, 0),
        found: this.#found,
      },
      differences: this.#differences,
      parked: this.#parked,
      largeGroups: this.#largeGroups,
    };
  }

  /** One sink type, with all projections that write it. */
  async #sink(specs: readonly ProjectionSpec[]): Promise<void> {
    const [{ into } = { into: undefined }] = specs;
    if (!into) return;
    const keyPaths = this.#keyPathsOf(into.container);
    const looked = new SinkLook(into.container, keyPaths);
    const actual = new Map<string, Doc>();
    await this.#readInto(into, this.#drawn(into), actual);
    for (const spec of specs) {
      const own = [...actual].filter(([, { _mr }]) => isObject(_mr) && _mr['by'] === projectionId(spec));
      const part = await this.#partOf(spec, new Map(own));
      const sources = [...part.docs].map(([name, docs]) => {
        const of = sourcesOf(spec).find((one) => nameOf(one) === name) ?? spec.from;
        return { of, docs, keyPaths: this.#keyPathsOf(of.container) };
      });
      this.#note(sources);
      const letters = await parkedOf(
        await letterStates(spec, this.#loaded.pipeline, this.#services),
        projectionId(spec),
        sources,
      );
      this.#parked.push(...letters.documents);
      const rules = this.#loaded.pipeline.sources;
      const context: LookContext = { letters, rules, keyPathsOf: (name) => this.#keyPathsOf(name), only: part.only };
      const docsOf = (of: SourceRef): readonly Doc[] => letters.without(of, part.docs.get(nameOf(of)) ?? []);
      const { expected, refused } = looked.expect(spec, docsOf, context);
      this.#projections.push({ id: projectionId(spec), expected, refused });
      for (const unsure of part.unknown ?? []) looked.contribution({ unsure });
      for (const lost of part.lost ?? []) looked.contribution(lost);
      if (spec.kind !== 'aggregate') continue;
      const sourceKeys = this.#keyPathsOf(spec.from.container);
      for (const { docs, stored, groups } of part.contributions ?? []) {
        const checked = checkContributions(spec, letters.without(spec.from, docs), {
          stored,
          letters,
          rules,
          keyPaths,
          sourceKeys,
        });
        for await (const one of checked) if (groups.has(groupOf(one))) looked.contribution(one);
      }
    }
    const places = looked.places().filter((place) => !actual.has(place));
    await this.#readInto(
      into,
      places.map((place) => placed(into.container, place)),
      actual,
    );
    this.#found += actual.size;
    this.#differences.push(...looked.differences([...actual.values()], specs.map(projectionId)));
  }

  #partOf(spec: ProjectionSpec, own: ReadonlyMap<string, Doc>): Promise<DrawnPart> {
    if (spec.kind === 'aggregate') return this.#groups(spec, own);
    return spec.kind === 'copy' ? this.#copies(spec, own) : this.#references(spec, own);
  }

  async #groups(spec: AggregateSpec, own: ReadonlyMap<string, Doc>): Promise<DrawnPart> {
    const { largeGroups, ...part } = await drawnGroups(spec, new Set(own.keys()), {
      database: this.#services.place.database,
      documents: this.#documents,
      drawn: this.#drawn(spec.from),
      limits: this.#options.drawn,
      rules: this.#loaded.pipeline.sources,
      keyPaths: this.#keyPathsOf(spec.into.container),
      sourceKeys: this.#keyPathsOf(spec.from.container),
      signal: this.#options.signal,
    });
    this.#largeGroups += largeGroups;
    return part;
  }

  /** The copied documents, and the joined documents that they name. */
  async #copies(spec: CopySpec, own: ReadonlyMap<string, Doc>): Promise<DrawnPart> {
    const docs = new Map([[nameOf(spec.from), await this.#copied(spec, own)]]);
    const { upcast } = typeRules(this.#loaded.pipeline.sources, spec.from);
    const current = this.#readable(docs.get(nameOf(spec.from)) ?? [], (doc) => (upcast ? upcast(doc) : doc));
    for (const { of } of spec.joins) {
      const who = spec.joins
        .filter((join) => nameOf(join.of) === nameOf(of))
        .flatMap((join) => current.map((doc) => this.#named(join.of, join.on, (field) => doc[field])));
      const found = await this.#documents.read(
        of,
        who.filter((one) => one !== undefined),
      );
      const together = [...(nameOf(of) === nameOf(spec.from) ? (docs.get(nameOf(of)) ?? []) : []), ...found];
      docs.set(nameOf(of), this.#once(of, together));
    }
    return { docs, only: () => true };
  }

  /** All tenants; the rows drawn, and as many of those that the source documents drawn determine, by chance. */
  async #references(spec: ReferenceSpec, own: ReadonlyMap<string, Doc>): Promise<DrawnPart> {
    const copied = await this.#copied(spec, own);
    const tenants = await this.#all(spec.tenants);
    const { rows, seed } = this.#options.drawn;
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
    return this.#documents.read(spec.from, [...this.#drawn(spec.from), ...named]);
  }

  /** The children of a type that were drawn, and their parents. */
  async #children(specs: readonly EmbedSpec[]): Promise<void> {
    const [{ into } = { into: undefined }] = specs;
    if (!into) return;
    const { pipeline, model } = this.#loaded;
    const rules = typeRules(pipeline.sources, into);
    const stored = await this.#documents.stored(this.#drawn(into));
    const children = [...stored.values()].filter((doc) => isOfType(into.type, rules, doc));
    const parents = new Map<string, Doc[]>();
    for (const { from, on, each } of specs) {
      const who = children.flatMap((child) => {
        const list: unknown = each ? child[each.field] : [child];
        const items = Array.isArray(list) ? list.filter(isObject) : [];
        return items.map((item) =>
          this.#named(from, { ...on, ...each?.on }, (field, of) => (each && of in each.on ? item : child)[field]),
        );
      });
      const found = await this.#documents.read(
        from,
        who.filter((one) => one !== undefined),
      );
      parents.set(nameOf(from), this.#once(from, [...(parents.get(nameOf(from)) ?? []), ...found]));
    }
    const documentsOf = (of: SourceRef): readonly Doc[] => parents.get(nameOf(of)) ?? [];
    const context = { pipeline, model, documentsOf, state: this.#services.place.state };
    for (const { from } of specs)
      this.#note([{ of: from, docs: documentsOf(from), keyPaths: this.#keyPathsOf(from.container) }]);
    for await (const one of checkChildren(context, specs, into, children)) this.#add(one);
  }

  /** The rows of the source documents that were drawn, and the source documents of the rows that were drawn. */
  async #rows(spec: TableSpec): Promise<void> {
    const { pipeline, model } = this.#loaded;
    const { container } = spec.from;
    const drawn = this.#options.drawn.placed?.get(projectionId(spec)) ?? [];
    const named = drawn.map(({ key, id }) => ({ container, key: key as Key, id }));
    const who = [...this.#drawn(spec.from), ...named];
    const docs = await this.#documents.read(spec.from, who);
    const keyPaths = this.#keyPathsOf(container);
    this.#note([{ of: spec.from, docs, keyPaths }]);
    const field = tenantRuleOf(pipeline, model, container)?.field;
    const stated = docs.flatMap((doc) => {
      const one = parkedIdentityOf(container, keyPaths, doc);
      return one && field !== undefined ? [{ ...one, tenant: doc[field] }] : [];
    });
    // A document that was deleted or parked may have rows too.
    const places = once([...drawn, ...stated, ...who]);
    const stored = spec.to.part?.({ places }, this.#options.signal);
    if (!stored) return;
    const statesOf = (of: OutsideSpec) => letterStates(of, pipeline, this.#services);
    const context = { pipeline, model, state: this.#services.place.state, statesOf };
    this.#add(await checkRows(context, spec, docs, stored));
  }

  #add(one: OtherComparison): void {
    this.#projections.push({ id: one.id, expected: one.expected, refused: one.refused });
    this.#parked.push(...one.parked);
    this.#differences.push(...one.differences);
    this.#found += one.found;
  }

  /** The document that fields name by its id and whole key; undefined if one of them is missing. */
  #named(
    { container }: SourceRef,
    on: Readonly<Record<string, string>>,
    valueOf: (field: string, of: string) => unknown,
  ): Identity | undefined {
    const field = (name: string): unknown => (on[name] === undefined ? undefined : valueOf(on[name], name));
    const key = this.#keyPathsOf(container).map((path) => field(splitPath(path).join('/')));
    const id = on['id'] === undefined ? key.at(-1) : field('id');
    return typeof id === 'string' && key.every(namesLevel) ? { container, key, id } : undefined;
  }

  /** Documents by the user's `upcast`, without those that it refuses. */
  #readable(docs: readonly Doc[], convert: (doc: Doc) => Doc): Doc[] {
    return docs.flatMap((doc) => {
      try {
        return [convert(visible(doc))];
      } catch {
        return [];
      }
    });
  }

  #once({ container }: SourceRef, docs: readonly Doc[]): Doc[] {
    const keyPaths = this.#keyPathsOf(container);
    return [...new Map(docs.map((doc) => [rowKey(doc, keyPaths), doc])).values()];
  }

  async #readInto(into: SourceRef, who: readonly Identity[], actual: Map<string, Doc>): Promise<void> {
    const rules = typeRules(this.#loaded.pipeline.sources, into);
    const keyPaths = this.#keyPathsOf(into.container);
    for (const doc of (await this.#documents.stored(who)).values())
      if (isOfType(into.type, rules, doc)) actual.set(rowKey(doc, keyPaths), doc);
  }

  #all(of: SourceRef): Promise<readonly Doc[]> {
    const known = this.#whole.get(nameOf(of));
    if (known) return known;
    const { pipeline } = this.#loaded;
    const { signal, screen } = this.#options;
    const read = async (): Promise<readonly Doc[]> => {
      const history = await openPipelineHistory(this.#loaded, this.#services, { signal });
      const database = placeDatabase(pipeline, this.#services);
      const reading = { pipeline, database, databases: this.#databases, history, signal, screen };
      return (await readTypes([of], reading)).get(nameOf(of)) ?? [];
    };
    const reading = read();
    this.#whole.set(nameOf(of), reading);
    return reading;
  }

  #note(sources: readonly { of: SourceRef; docs: readonly Doc[]; keyPaths: readonly string[] }[]): void {
    for (const { of, docs, keyPaths } of sources)
      for (const doc of docs) this.#sources.add(`${of.container} ${rowKey(doc, keyPaths)}`);
  }

  #drawn(of: SourceRef): readonly Identity[] {
    return this.#options.drawn.documents.get(nameOf(of)) ?? [];
  }

  #keyPathsOf(container: string): readonly string[] {
    return this.#loaded.model.containers.find(({ name }) => name === container)?.partitionKey ?? [];
  }
}

const groupOf = (part: ContributionPart): string => ('unsure' in part ? part.unsure : part.document);

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
