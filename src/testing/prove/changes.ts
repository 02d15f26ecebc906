// The writes of a proof: the document's own examples, then changes of the same shape, one kind for each stage.
import { canonical } from '../../base/json.ts';
import { typeRules } from '../../definition/discriminator.ts';
import type { Doc, Join, Pipeline, ProjectionSpec, SourceRef } from '../../definition/specs.ts';
import { rowKey } from '../../definition/oracle/recompute.ts';
import { type DocumentType, type Model, keyPathsOf } from '../../model/model.ts';
import type { Documents } from '../documents.ts';
import { besides } from './beside.ts';
import type { Limits } from './limits.ts';
import { documentsLike } from '../documents-like.ts';
import { refName, sourceTypes } from './oracle.ts';
import type { WriteOperation } from './question.ts';

interface Written {
  readonly of: SourceRef;
  readonly type: DocumentType;
  readonly keyPaths: readonly string[];
  readonly isDeleted: (doc: Doc) => boolean;
  /** Fields that equal the id in every example, such as a store's storeId. */
  readonly own: readonly string[];
  /** Fields that never change, by a promise of the pipeline (`stable`). */
  readonly fixed: readonly string[];
  /** Joined documents without which a copy waits. */
  readonly awaited: readonly Pick<Join, 'of' | 'on'>[];
}

/** Makes versions of the documents that the data model shows. The same seed makes the same versions. */
export class Changes {
  readonly #types: readonly Written[];
  readonly #seed: number;
  #drawn = 0;
  /** The newest version of each document by type and identity, and its first one for the fields that never change. */
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
      const awaited = loaded.pipeline.projections
        .flatMap((spec) => (spec.kind === 'copy' && refName(spec.from) === refName(of) ? spec.joins : []))
        .filter(({ missing }) => missing === 'wait');
      return [{ of, type, keyPaths, isDeleted, own, fixed: fixedFields(stable, container, type), awaited }];
    });
  }

  examples(): Documents {
    return this.#record(this.#types.flatMap((written) => written.type.examples.map((doc) => [written, doc] as const)));
  }

  /** New versions of existing documents, and new documents. `spared`: types of which only one document changes. */
  updates(round: number, spared: readonly SourceRef[] = []): Documents {
    const names = new Set(spared.map(refName));
    return this.#record(
      this.#types.flatMap((written) => {
        const ids = written.type.examples.length + 2;
        const options = { ids, count: 3 * ids, seed: this.#seed * 100 + round };
        const drawn = documentsLike({ partitionKey: written.keyPaths }, written.type, options);
        return drawn
          .filter(({ id }) => !names.has(refName(written.of)) || id === drawn[0]?.['id'])
          .map((doc) => [written, { ...withoutExpiry(written, doc), ...sameAsId(written, doc) }] as const);
      }),
    );
  }

  /**
   * New documents, each like the first live example of its type except for one field: the values beside each limit, the next
   * days, what other examples have, and none. So a filter, a group or a limit that is slightly wrong has a document that
   * shows it. `kept`: fields that stay as they are.
   */
  beside(limits: Limits, kept: readonly string[] = []): Documents {
    const made = this.#types.flatMap((written) => {
      const live = written.type.examples.filter((example) => !written.isDeleted(example));
      const [like] = live;
      if (!like) return [];
      const mark = markOf(written);
      const versions = [
        ...besides(like, live, limits, new Set(['id', 'type', 'ttl', ...written.own, ...kept])),
        ...(mark ? [{ ...like, ...mark }] : []),
      ];
      return versions.map((version, at): readonly [Written, Doc] => {
        const id = `${written.of.type}-beside-${at + 1}`;
        return [written, { ...version, id, ...sameAsId(written, { id }) }];
      });
    });
    return this.#record([...made, ...made.flatMap(([written, doc]) => this.#awaitedBy(written, doc))]);
  }

  /** The documents that a copy of `doc` waits for: a meaning can't know that they aren't there. */
  #awaitedBy({ awaited }: Written, doc: Doc): (readonly [Written, Doc])[] {
    return awaited.flatMap(({ of, on }) => {
      const parent = this.#types.find((written) => refName(written.of) === refName(of));
      const like = parent?.type.examples.find((example) => !parent.isDeleted(example));
      if (!parent || !like) return [];
      const referred = Object.fromEntries(Object.entries(on).map(([theirs, ours]) => [theirs, doc[ours]]));
      const made = { ...like, ...referred };
      return this.#newest.has(this.#nameOf(parent, made)) ? [] : [[parent, { ...made, ...sameAsId(parent, made) }]];
    });
  }

  /** One field after another takes the value of another example: the fields of the sinks' keys are among them. */
  moves(): Documents {
    const moved: (readonly [Written, Doc])[] = [];
    for (const { written, doc } of this.#newest.values()) {
      if (written.isDeleted(doc)) continue;
      const own = new Set(['id', 'type', 'ttl', ...written.own, ...keyFields(written)]);
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

  /** Every second document gets the delete mark of an example of its type. */
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

  /**
   * A write for an access pattern that writes into a container: a new document, or the next version of an existing one,
   * with the delete mark if the pattern's text names it. Undefined: no example of a written type is left.
   */
  meant(container: string, operation: WriteOperation, text: string): { doc: Doc; before?: Doc } | undefined {
    const types = this.#types.filter(({ of }) => of.container === container);
    const named = types.find(({ of }) => new RegExp(String.raw`\b${of.type}s?\b`, 'i').test(text));
    const written = named ?? types[0];
    if (!written) return undefined;
    this.#drawn += 1;
    const [like = {}] = documentsLike({ partitionKey: written.keyPaths }, written.type, {
      count: 1,
      seed: this.#seed * 100 + 50 + this.#drawn,
    });
    const next = withoutExpiry(written, without(like, markOf(written)));
    if (operation === 'create') {
      const id = `${written.of.type}-new-${this.#drawn}`;
      return { doc: this.#next(written, { ...next, id, ...sameAsId(written, { id }) }) };
    }
    const before = [...this.#newest.values()].find(
      (one) => one.written === written && !written.isDeleted(one.doc),
    )?.doc;
    if (!before) return undefined;
    const mark = markOf(written) ?? {};
    const marked = Object.keys(mark).some(
      (field) => field !== 'ttl' && new RegExp(String.raw`\b${field}\b`).test(text),
    );
    const own = pick(before, ['id', ...keyFields(written), ...written.own]);
    if (operation === 'delete') {
      this.#newest.delete(this.#nameOf(written, before));
      return { doc: before };
    }
    return { doc: this.#next(written, { ...next, ...own, ...(marked ? mark : {}) }), before };
  }

  #next(written: Written, drawn: Doc): Doc {
    const { [written.of.container]: [doc = drawn] = [] } = this.#record([[written, drawn]]) as Record<string, Doc[]>;
    return doc;
  }

  #nameOf(written: Written, doc: Doc): string {
    return `${refName(written.of)} ${rowKey(doc, written.keyPaths)}`;
  }

  /** Types without an example of their delete mark, so that it can't be set. */
  get unmarked(): string[] {
    return this.#types.filter((written) => markOf(written) === undefined).map(({ of }) => refName(of));
  }

  #record(versions: readonly (readonly [Written, Doc])[]): Documents {
    const changes: Record<string, Doc[]> = {};
    for (const [written, drawn] of versions) {
      const name = this.#nameOf(written, drawn);
      const first = this.#newest.get(name)?.first ?? drawn;
      const doc = { ...drawn, ...pick(first, written.fixed) };
      this.#newest.set(name, { written, first, doc });
      (changes[written.of.container] ??= []).push(doc);
    }
    return changes;
  }
}

/** The top-level fields of the partition key. */
const keyFields = ({ keyPaths }: Written): string[] => keyPaths.map((path) => path.split('/')[1] ?? '');

const sameAsId = ({ own }: Written, { id }: Doc): Doc => Object.fromEntries(own.map((field) => [field, id]));

/** `fields`: those of the delete mark, which a live document must not have. */
const without = (doc: Doc, fields: Doc | undefined): Doc =>
  Object.fromEntries(Object.entries(doc).filter(([field]) => !(fields && field in fields)));

const pick = (doc: Doc, fields: readonly string[]): Doc =>
  Object.fromEntries(fields.filter((field) => field in doc).map((field) => [field, doc[field]]));

/** A live document expires only if a live example does. */
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

/** Fields that decide the place of a stable projection's rows: the pipeline declares that they never change. */
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
  /** The sink's key paths. */
  readonly keyPaths: readonly string[];
}

/** The place of a document's rows; undefined if the projection refuses the document. */
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
