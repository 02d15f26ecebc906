// What a model.ts declares: containers, their types and the fields of these. Hosts read this, and no document.
import { suggestion } from '../../base/near.ts';
import type { Field, Fields } from '../fields.ts';
import type { Container, IndexingPolicy, VectorField } from '../model.ts';
import type { FieldsFor, Flat, Shaped } from './fields.ts';

declare const DOCUMENT: unique symbol;

/** One document type of one container, by the names of the model. */
export interface Type<D extends object> {
  readonly container: string;
  readonly type: string;
  readonly [DOCUMENT]?: (doc: D) => D;
}

interface DocumentFields {
  readonly fields: Fields;
  /** Whether documents have a field `type` with the type's name. Other documents need a `discriminator` in `source()`. */
  readonly typed: boolean;
}

/** The fields of a type, with the type of its documents. */
export interface DocumentOf<D extends object, Typed extends boolean> extends DocumentFields {
  readonly typed: Typed;
  readonly [DOCUMENT]?: (doc: D) => D;
}

export interface ContainerOptions {
  /** Seconds after which documents expire; `per document`: by their own `ttl`. Absent: off. */
  readonly ttl?: 'per document' | number;
  /** The paths of each unique key: `[['/storeId', '/sku']]`. */
  readonly unique?: readonly (readonly string[])[];
  /** Absent: every path is indexed. */
  readonly index?: IndexingPolicy;
  /** The vector policy. Its paths are no change to projections (`ignore` of `source()`). */
  readonly vectors?: readonly VectorField[];
  /** `autoscale(4_000)` or `manual(400)`. Absent: the database's. */
  readonly throughput?: NonNullable<Container['throughput']>;
  /** The same for all tenants. */
  readonly reference?: true;
  /** Over shards: spread by the first level of its key, in full in every shard, or in the global place (default). */
  readonly shards?: 'spread' | 'every' | 'global';
}

export type TypesOfContainer = Readonly<Record<string, DocumentFields>>;

export interface ContainerOf<T extends TypesOfContainer> extends ContainerOptions {
  /** Paths with their slash, one a level: `/storeId`. */
  readonly key: readonly string[];
  readonly types: T;
}

export type Containers = Readonly<Record<string, ContainerOf<TypesOfContainer>>>;

export interface ModelOptions {
  /**
   * A file with example documents, by container and type. A relative path starts at the pipeline's folder. By the examples
   * Millrace holds projections whose functions changed under their version, and finds mistakes before anything runs.
   */
  readonly examples?: string | URL;
}

/** A declared model, as `definePipeline` takes it. */
export interface ModelCode extends ModelOptions {
  readonly containers: Containers;
}

/** The model's data. It is a symbol, so that it can't equal a container's name. */
export const MODEL = Symbol.for('millrace: model');

export interface ModelRef {
  readonly [MODEL]: ModelCode;
}

/** `m.Orders.order` is a `Type<…>` with the fields of the type, and its name in `type`. */
export type ModelOf<C extends Containers> = ModelRef & {
  readonly [N in keyof C]: {
    readonly [T in keyof C[N]['types'] & string]: C[N]['types'][T] extends DocumentOf<infer D, infer Typed>
      ? Type<Typed extends true ? Flat<D & { type: T }> : D>
      : never;
  };
};

/** The documents of a type: `type Order = Infer<typeof m.Orders.order>`. */
export type Infer<T> = T extends Type<infer D> ? D : never;

/** A type by its fields, or by an interface: `document<Order>({ … })`, and both are compared. */
export function document<F extends Fields>(fields: F): DocumentOf<Shaped<F>, true>;
export function document<D extends object>(fields: FieldsFor<D>): DocumentOf<Omit<D, 'type'>, true>;
export function document(fields: Fields): DocumentFields {
  return { fields, typed: true };
}

/** A type whose documents don't have its name in a field `type`; a `source()` says how to recognise them. */
export const documentWithoutType = <F extends Fields>(fields: F): DocumentOf<Shaped<F>, false> => ({
  fields,
  typed: false,
});

/** A container with its types. `key`: a path, or up to three with commas between them: `/storeId, /id`. */
export const container = <T extends TypesOfContainer>(
  key: string,
  types: T,
  options: ContainerOptions = {},
): ContainerOf<T> => ({ key: key.split(/\s*,\s*/), types, ...options });

/** A throughput that scales to at most so many RU/s. */
export const autoscale = (max: number): NonNullable<Container['throughput']> => ({ kind: 'autoscale', max });
/** So many RU/s. */
export const manual = (max: number): NonNullable<Container['throughput']> => ({ kind: 'manual', max });

/** Only these paths are indexed. */
export const indexed = (...paths: readonly string[]): IndexingPolicy => ({
  indexingMode: 'consistent',
  automatic: true,
  includedPaths: paths.map((path) => ({ path: `${path}/?` })),
  excludedPaths: [{ path: '/*' }],
});

/** The policy with one more composite index: `'/type', '/placedAt desc'`. */
export const ordered = (policy: IndexingPolicy, ...by: readonly string[]): IndexingPolicy => ({
  ...policy,
  compositeIndexes: [
    ...(policy.compositeIndexes ?? []),
    by.map((path) => ({
      path: path.replace(/ desc$/, ''),
      order: path.endsWith(' desc') ? 'descending' : 'ascending',
    })),
  ],
});

/** Declares the model of a project in its `model.ts`. */
export function defineModel<const C extends Containers>(containers: C, options?: ModelOptions): ModelOf<C>;
export function defineModel(containers: Containers, options: ModelOptions = {}): object {
  const types = Object.entries(containers).map(([name, { types: of }]) => [
    name,
    strict(
      `Container ${name} of the model has no type`,
      Object.fromEntries(Object.keys(of).map((type) => [type, { container: name, type }])),
    ),
  ]);
  const model = { ...(Object.fromEntries(types) as object), [MODEL]: { containers, ...options } satisfies ModelCode };
  return strict('The model has no container', model);
}

/** Nothing compiles a pipeline before it is loaded, so a misspelt name is found here. Any value may be asked for the two. */
const strict = <T extends object>(lacks: string, of: T): T =>
  new Proxy(of, {
    get: (target, name): unknown => {
      if (typeof name === 'symbol' || name in target || name === 'then' || name === 'toJSON')
        return Reflect.get(target, name);
      throw new TypeError(`${lacks} ${name}${suggestion(name, Object.keys(of))}`);
    },
  });

/** All fields of a document, with the discriminator. */
export const documentFields = (type: string, { fields, typed }: DocumentFields): Fields => {
  if (!typed) return fields;
  const { id, ...others } = fields;
  const name: Field = { kind: 'text', values: [type] };
  return { ...(id && { id }), type: name, ...others };
};
