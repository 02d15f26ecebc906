import type { Doc, ReferenceSpec, SourceRef } from '../specs.ts';
import { type Declaration, common, error, plain } from '../declaration.ts';
import type { Options, Row, Type } from '../types.ts';

/** What `reference` takes; S source, N tenant, T sink, K the sink's fields that come from the tenant. */
export interface ReferenceOptions<
  S extends object,
  N extends object,
  T extends object,
  K extends keyof Row<T> & string,
> extends Omit<Options, 'stable'> {
  /** The reference data. */
  readonly from: Type<S>;
  /** The documents that it writes, in each tenant. */
  readonly into: Type<T>;
  /** The documents that list the tenants. A new tenant gets all of the data; a deleted tenant loses it. */
  readonly tenants: Type<N>;
  /** Sink's field ← tenant's field: these fields distinguish the tenants' copies. A tenant's values must never change. */
  readonly key: { readonly [F in K]: { [G in keyof N]-?: N[G] extends T[F] ? G : never }[keyof N] };
  /** Only documents for which it returns true. Pure. */
  readonly where?: (doc: S) => boolean;
  /** Pure: the sink document without its `type` and the fields of `key`. A document's `id` must never change. */
  readonly map: (doc: S) => Omit<Row<NoInfer<T>>, K>;
}

/** The same without the user's types. */
interface Untyped extends Omit<Options, 'stable'> {
  readonly from: SourceRef;
  readonly into: SourceRef;
  readonly tenants: SourceRef;
  readonly key: Readonly<Record<string, unknown>>;
  readonly where?: (doc: Doc) => boolean;
  readonly map: (doc: Doc) => Doc;
}

/** Copies all reference data into each tenant, so that a tenant's readers need no partition key but the tenant's. */
export function reference<S extends object, N extends object, T extends object, K extends keyof Row<T> & string>(
  name: string,
  spec: ReferenceOptions<S, N, T, K>,
): Declaration<ReferenceSpec>;
export function reference(name: string, spec: Untyped): Declaration<ReferenceSpec> {
  const { fields, findings } = common(name, spec);
  const key: Record<string, string> = {};
  for (const [field, of] of Object.entries({ ...spec.key })) if (typeof of === 'string') key[field] = of;
  if (Object.keys(key).length === 0) {
    const hint = `Add key: { tenantId: 'id' }: a field of the sink's partition key, and the tenant's field with its value.`;
    findings.push(error('reference-key', `Projection ${name} has no key, so it takes no field from the tenant`, hint));
  }
  if (typeof spec.map !== 'function')
    findings.push(error('copy-map', `Projection ${name} has no map`, 'Add map: doc => ({ id: … }).'));
  const { where, map } = spec;
  return {
    ...fields,
    kind: 'reference',
    stable: true,
    tenants: plain(spec.tenants),
    key,
    ...(where && { where }),
    map,
    findings,
  };
}
