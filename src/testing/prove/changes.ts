// What is written to prove a pipeline: the document's own examples, then changes of the same shape, one kind a stage.
import { canonical } from '../../base/json.ts';
import { typeRules } from '../../definition/discriminator.ts';
import type { Doc, Pipeline, ProjectionSpec, SourceRef } from '../../definition/kinds.ts';
import { rowKey } from '../../definition/recompute.ts';
import type { DocumentType, Model } from '../../model/model.ts';
import type { Documents } from '../documents.ts';
import { documentsLike } from '../documents-like.ts';
import { refName, sourceTypes } from './oracle.ts';

interface Written {
  readonly of: SourceRef;
  readonly type: DocumentType;
  readonly keyPaths: readonly string[];
  readonly isDeleted: (doc: Doc) => boolean;
  /** Fields that are the id in every example, as a store's storeId. */
  readonly own: readonly string[];
  /** Fields that a projection was promised never to change. */
  readonly fixed: readonly string[];
}

/** Makes versions of the documents that the data model shows, the same ones for a seed. */
export class Changes {
  readonly #types: readonly Written[];
  readonly #seed: number;
  /** Newest version of each document, by type and identity; and its first, for what may never change. */
  readonly #newest = new Map<string, { readonly written: Written; readonly first: Doc; readonly doc: Doc }>();

  constructor(loaded: { pipeline: Pipeline; model: Model }, seed: number) {
    this.#seed = seed;
    this.#types = sourceTypes(loaded).flatMap((of): Written[] => {
      const container = loaded.model.containers.find(({ name }) => name === of.container);
      const type = container?.types.find(({ name }) => name === of.type);
      if (!container || !type || type.examples.length === 0) return [];
      const { deleted, upcast } = typeRules(loaded.pipeline.sources, of);
      const isDeleted = (doc: Doc): boolean => deleted?.(upcast ? upcast(doc) : doc) ?? false;
      const keyPaths = container.partitionKey;
      const stable = loaded.pipeline.projections
        .filter((spec) => spec.stable && refName(spec.from) === refName(of))
        .map((spec) => ({ spec, keyPaths: keyPathsOf(loaded.model, spec.into.container) }));
      const own = Object.keys(type.examples[0] ?? {}).filter(
        (field) => field !== 'id' && type.examples.every((example) => example[field] === example['id']),
      );
      return [{ of, type, keyPaths, isDeleted, own, fixed: fixedFields(stable, container, type) }];
    });
  }

  examples(): Documents {
    return this.#record(this.#types.flatMap((written) => written.type.examples.map((doc) => [written, doc] as const)));
  }

  /** Other values for what is there, and new documents beside it. */
  updates(round: number): Documents {
    return this.#record(
      this.#types.flatMap((written) => {
        const ids = written.type.examples.length + 2;
        const options = { ids, count: 3 * ids, seed: this.#seed * 100 + round };
        return documentsLike({ partitionKey: written.keyPaths }, written.type, options).map(
          (doc) => [written, { ...withoutExpiry(written, doc), ...sameAsId(written, doc) }] as const,
        );
      }),
    );
  }

  /** One field at a time takes the value it has in another example: whatever a sink is keyed by is among them. */
  moves(): Documents {
    const moved: (readonly [Written, Doc])[] = [];
    for (const { written, doc } of this.#newest.values()) {
      if (written.isDeleted(doc)) continue;
      const own = new Set([
        'id',
        'type',
        'ttl',
        ...written.own,
        ...written.keyPaths.map((path) => path.split('/')[1] ?? ''),
      ]);
      let version = doc;
      for (const [field, value] of Object.entries(doc)) {
        const other = written.type.examples.find(
          (example) =>
            !written.isDeleted(example) && typeof example[field] === typeof value && example[field] !== version[field],
        );
        if (own.has(field) || typeof value !== 'string' || other === undefined) continue;
        version = { ...version, [field]: other[field] };
        moved.push([written, version]);
      }
    }
    return this.#record(moved);
  }

  /** Every other document gets the mark that a deleted example of its type has. */
  deletions(): Documents {
    const marked: (readonly [Written, Doc])[] = [];
    const seen = new Map<Written, number>();
    for (const { written, doc } of this.#newest.values()) {
      const mark = markOf(written);
      if (mark === undefined || written.isDeleted(doc)) continue;
      const at = seen.get(written) ?? 0;
      seen.set(written, at + 1);
      if (at % 2 === 0) marked.push([written, { ...doc, ...mark }]);
    }
    return this.#record(marked);
  }

  /** Types that are deleted by a mark which no example shows, so that none can be set. */
  get unmarked(): string[] {
    return this.#types.filter((written) => markOf(written) === undefined).map(({ of }) => refName(of));
  }

  #record(versions: readonly (readonly [Written, Doc])[]): Documents {
    const changes: Record<string, Doc[]> = {};
    for (const [written, drawn] of versions) {
      const name = `${refName(written.of)} ${rowKey(drawn, written.keyPaths)}`;
      const first = this.#newest.get(name)?.first ?? drawn;
      const doc = { ...drawn, ...pick(first, written.fixed) };
      this.#newest.set(name, { written, first, doc });
      (changes[written.of.container] ??= []).push(doc);
    }
    return changes;
  }
}

const sameAsId = ({ own }: Written, { id }: Doc): Doc => Object.fromEntries(own.map((field) => [field, id]));

const pick = (doc: Doc, fields: readonly string[]): Doc =>
  Object.fromEntries(fields.filter((field) => field in doc).map((field) => [field, doc[field]]));

/** What is live doesn't expire, unless a live example does. */
function withoutExpiry({ type, isDeleted }: Written, doc: Doc): Doc {
  const { ttl, ...rest } = doc;
  if (ttl === undefined) return doc;
  const like = type.examples.find((example) => example['ttl'] !== undefined && isDeleted(example) === isDeleted(doc));
  return like ? { ...rest, ttl: like['ttl'] } : rest;
}

/** The fields that only deleted examples have, with their values. */
function markOf({ type, isDeleted }: Written): Doc | undefined {
  const example = type.examples.find(isDeleted);
  if (!example) return undefined;
  const live = type.examples.filter((other) => !isDeleted(other));
  const own = Object.entries(example).filter(([field]) => !live.some((other) => field in other));
  const mark = Object.fromEntries(own);
  return live.every((other) => isDeleted({ ...other, ...mark })) ? mark : undefined;
}

/** Fields whose value decides where a stable projection's rows lie: the pipeline declares that they never change. */
function fixedFields(
  stable: readonly Stable[],
  { partitionKey }: { readonly partitionKey: readonly string[] },
  type: DocumentType,
): string[] {
  const fields = new Set(type.examples.flatMap((example) => Object.keys(example)));
  const others = documentsLike({ partitionKey }, type, { count: 40, seed: 7 });
  const decides = (spec: Stable, field: string): boolean =>
    type.examples.some((example) => {
      const place = placeOf(spec, example);
      return others.some((other) => placeOf(spec, { ...example, [field]: other[field] }) !== place);
    });
  return [...fields].filter((field) => stable.some((spec) => decides(spec, field)));
}

interface Stable {
  readonly spec: ProjectionSpec;
  /** Of the sink. */
  readonly keyPaths: readonly string[];
}

const keyPathsOf = ({ containers }: Model, name: string): readonly string[] =>
  containers.find((container) => container.name === name)?.partitionKey ?? [];

/** Where a document's rows lie; undefined where the projection can't take it. */
function placeOf({ spec, keyPaths }: Stable, doc: Doc): string | undefined {
  try {
    if (spec.kind === 'aggregate')
      return canonical((spec.each ? spec.each(doc) : [doc]).map((row) => spec.groupBy(row, doc)));
    if (spec.kind === 'reference') return canonical(spec.map(doc)['id']);
    return rowKey(spec.map(doc, Object.fromEntries(spec.joins.map(({ name }) => [name, null]))), keyPaths);
  } catch {
    return undefined;
  }
}
