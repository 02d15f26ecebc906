// Finds the fields that a declaration's functions read and that no example has, fields of list elements too.
import { isObject } from '../base/json.ts';
import { type Model, examplesOf } from '../model/model.ts';
import { attempt } from '../pipeline/fields/watched.ts';
import { typeRules } from '../pipeline/discriminator.ts';
import type { DerivedSpec, Doc, EmbedSpec, Pipeline, SourceRef } from '../pipeline/specs.ts';

export interface Read {
  readonly of: SourceRef;
  /** `customerId`; `lines.quantity` for the elements of a list. */
  readonly path: string;
  /** All fields that the examples have at this place. */
  readonly known: readonly string[];
}

export class Watcher {
  readonly #model: Model;
  readonly #unknown = new Map<string, Read>();

  constructor(model: Model) {
    this.#model = model;
  }

  /** Fields that were read and that no example has. */
  get unknown(): readonly Read[] {
    return [...this.#unknown.values()];
  }

  watch(doc: Doc, of: SourceRef): Doc {
    return this.#watched(doc, of, '', examplesOf(this.#model, of));
  }

  /** `samples`: the values at the same place in all examples. */
  #watched(doc: Doc, of: SourceRef, before: string, samples: readonly Doc[]): Doc {
    const known = new Set(samples.flatMap(Object.keys));
    return new Proxy(doc, {
      get: (target, field) => {
        const value = Reflect.get(target, field) as unknown;
        // Every document may have `ttl` and the service's own fields.
        if (typeof field !== 'string' || field === 'ttl' || field.startsWith('_') || field === 'toJSON') return value;
        const path = `${before}${field}`;
        if (!known.has(field)) this.#unknown.set(`${of.container} ${of.type} ${path}`, { of, path, known: [...known] });
        if (!Array.isArray(value)) return value;
        const items = samples.flatMap((sample) => sample[field]).filter(isObject);
        return value.map((item: unknown) => (isObject(item) ? this.#watched(item, of, `${path}.`, items) : item));
      },
    });
  }
}

/** Fields that the functions of an embed, a reaction, a `send` or a `publish` read and that no example has. */
export function joinedReads(spec: DerivedSpec, model: Model, pipeline: Pipeline): readonly Read[] {
  const watcher = new Watcher(model);
  if (spec.kind === 'custom') return [];
  const { upcast, deleted } = typeRules(pipeline.sources, spec.from);
  // A document after `upcast` has other fields than the examples.
  if (upcast) return [];
  for (const example of examplesOf(model, spec.from)) {
    if (attempt(() => deleted?.(example)) === true) continue;
    const doc = watcher.watch(example, spec.from);
    if (spec.kind === 'embed') readByEmbed(spec, doc, model, watcher);
    if (spec.kind === 'react') attempt(() => spec.when?.(doc));
    if ('where' in spec) attempt(() => spec.where?.(doc));
    // A copy's takes what it joins, too, and a table's follows from the model.
    if ('map' in spec && !/^(copy|reference|table)$/.test(spec.kind)) attempt(() => spec.map?.(doc, {}));
  }
  return watcher.unknown;
}

function readByEmbed(spec: EmbedSpec, parent: Doc, model: Model, watcher: Watcher): void {
  for (const example of examplesOf(model, spec.into)) {
    const child = watcher.watch(example, spec.into);
    const list: unknown = spec.each ? child[spec.each.field] : [child];
    for (const item of Array.isArray(list) ? list.filter(isObject) : []) {
      attempt(() => spec.when?.(item, child));
      for (const set of Object.values(spec.set)) attempt(() => set(parent, item));
    }
  }
}
