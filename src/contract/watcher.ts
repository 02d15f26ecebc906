// Records which fields a declaration's functions read that no example has, including fields of list elements.
import { isObject } from '../base/json.ts';
import { type Model, examplesOf } from '../model/model.ts';
import type { Doc, SourceRef } from '../pipeline/specs.ts';

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
