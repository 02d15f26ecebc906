import type { Doc, EmbedSpec, Finding, SourceRef } from '../specs.ts';
import {
  type Declaration,
  deleteFindings,
  error,
  nameFindings,
  lagFindings,
  onlyBeginning,
  plain,
} from '../declaration.ts';
import type { On, Type } from '../types.ts';

/** Children that are written with their parent's page. A job writes the rest, and any host can resume it. */
export const CHILDREN_WITH_THE_PAGE = 500;

interface EmbedCommon {
  /** A whole number from 1 on; default 1. Another version is another projection with its own state. */
  readonly version?: number;
  /** How far behind it may be, as `5 s`, `2 min`, `1 h`, `1 d`. */
  readonly maxLag?: string;
  /**
   * Declares that a parent may belong to another tenant than its children. Without it, and with the pipeline's `tenant`,
   * `on` must compare the tenants.
   */
  readonly acrossTenants?: boolean;
  /** It derives from every parent, so it begins at the beginning. */
  readonly start?: 'beginning';
  /**
   * What a parent's delete marker does. `keep` (default): Millrace ignores the marker, and embeds the marked parent as
   * any other. `remove`: Millrace removes the fields from the children, so declare these fields optional.
   */
  readonly onDelete?: 'remove' | 'keep';
}

/** What `embed` takes; P parent, C the child that holds the fields. */
export interface EmbedOptions<P extends object, C extends object> extends EmbedCommon {
  /** The parents, whose fields are embedded. */
  readonly from: Type<P>;
  /** The children, which your application writes. */
  readonly into: Type<C>;
  /** The parent's id and whole key, by fields of the child. */
  readonly on: On<P, C>;
  /** If it returns false, Millrace doesn't change the child. */
  readonly when?: (child: C) => boolean;
  /** Pure: each field from the parent, and from fields of the child that this projection doesn't write. */
  readonly set: { readonly [K in keyof C]?: (parent: P, child: C) => C[K] };
}

/** The names of the fields that hold lists of objects. */
export type Lists<C> = { [K in keyof C]-?: NonNullable<C[K]> extends readonly object[] ? K : never }[keyof C];
type Item<C, A extends keyof C> = NonNullable<C[A]> extends readonly (infer E)[] ? E : never;

/** What `embedEach` takes; A the child's field with the list. */
export interface EmbedEachOptions<P extends object, C extends object, A extends Lists<C>> extends EmbedCommon {
  /** The parents, whose fields are embedded. */
  readonly from: Type<P>;
  /** The documents with the list, which your application writes. */
  readonly into: Type<C>;
  /** The field that holds the list. */
  readonly each: A;
  /** `on` and `onEach` together name the parent's id and whole key. This part is in fields of the child. */
  readonly on: On<P, C>;
  /** This part of the parent's id and key is in fields of the element. */
  readonly onEach: On<P, Item<C, A>>;
  /** If it returns false, Millrace doesn't change the element. */
  readonly when?: (item: Item<C, A>, child: C) => boolean;
  /** Pure: each field from the parent, and from fields of the element that this projection doesn't write. */
  readonly set: { readonly [K in keyof Item<C, A>]?: (parent: P, item: Item<C, A>) => Item<C, A>[K] };
}

/** The same without the user's types. */
interface Untyped extends EmbedCommon {
  readonly from: SourceRef;
  readonly into: SourceRef;
  readonly each?: string;
  readonly on: Readonly<Record<string, string | undefined>>;
  readonly onEach?: Readonly<Record<string, string | undefined>>;
  readonly when?: (item: Doc, child: Doc) => boolean;
  readonly set: Readonly<Record<string, ((parent: Doc, item: Doc) => unknown) | undefined>>;
}

/** Fields that Millrace copies from a parent document into its children; the application writes all other fields. */
export function embed<P extends object, C extends object>(
  name: string,
  spec: EmbedOptions<P, C>,
): Declaration<EmbedSpec>;
export function embed(name: string, spec: Untyped): Declaration<EmbedSpec> {
  const { when } = spec;
  return declare(name, spec, when && ((_item, child) => when(child, child)));
}

/** Fields that Millrace copies from parent documents into the elements of a list, each of which may have another parent. */
export function embedEach<P extends object, C extends object, A extends Lists<C>>(
  name: string,
  spec: EmbedEachOptions<P, C, A>,
): Declaration<EmbedSpec>;
export function embedEach(name: string, spec: Untyped): Declaration<EmbedSpec> {
  const { each, onEach, when } = spec;
  const declared = declare(name, spec, when);
  if (typeof each === 'string' && each !== '') return { ...declared, each: { field: each, on: defined(onEach ?? {}) } };
  const why = error('embed-each', `Projection ${name} names no list`, `Add each: 'lines', a field that holds a list.`);
  return { ...declared, findings: [...declared.findings, why] };
}

function declare(name: string, spec: Untyped, when: EmbedSpec['when']): Declaration<EmbedSpec> {
  const { from, into, version = 1, onDelete = 'keep', maxLag } = spec;
  const findings: Finding[] = [
    ...nameFindings(name, version),
    ...lagFindings(name, maxLag),
    ...onlyBeginning(name, spec.start),
    ...deleteFindings(name, onDelete),
  ];
  const set: Record<string, (parent: Doc, item: Doc) => unknown> = {};
  for (const [field, value] of Object.entries({ ...spec.set })) {
    if (typeof value === 'function') set[field] = value;
    else if (value !== undefined)
      findings.push(
        error('embed-set', `Field ${field} of projection ${name} isn't a function`, 'Write (parent) => ….'),
      );
  }
  if (Object.keys(set).length === 0)
    findings.push(
      error('embed-set', `Projection ${name} sets no field`, 'Add set: { name: (parent) => parent.name }.'),
    );
  return {
    kind: 'embed',
    name,
    version,
    from: plain(from),
    into: plain(into),
    on: defined(spec.on ?? {}),
    onDelete,
    ...(spec.acrossTenants === true && { acrossTenants: true }),
    ...(maxLag !== undefined && { maxLag }),
    ...(when && { when }),
    set,
    findings,
  };
}

const defined = (on: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(on).flatMap(([field, of]) => (of === undefined ? [] : [[field, of]])));
