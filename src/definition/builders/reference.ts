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
  readonly from: Type<S>;
  readonly into: Type<T>;
  /** The documents that list the tenants: one that is new gets all of the data, one that is deleted loses it. */
  readonly tenants: Type<N>;
  /** Sink's field ← tenant's field: what tells the tenants' copies apart. A tenant's must never change. */
  readonly key: { readonly [F in K]: { [G in keyof N]-?: N[G] extends T[F] ? G : never }[keyof N] };
  readonly where?: (doc: S) => boolean;
  /** Pure: the sink document without its `type` and the fields of `key`. A document's `id` must never change. */
  readonly map: (doc: S) => Omit<Row<NoInfer<T>>, K>;
}

/** The same as the implementation sees it. */
interface Untyped extends Omit<Options, 'stable'> {
  readonly from: SourceRef;
  readonly into: SourceRef;
  readonly tenants: SourceRef;
  readonly key: Readonly<Record<string, unknown>>;
  readonly where?: (doc: Doc) => boolean;
  readonly map: (doc: Doc) => Doc;
}

/** Reference data copied whole into each tenant, so that a tenant's readers need no other key than theirs. */
export function reference<S extends object, N extends object, T extends object, K extends keyof Row<T> & string>(
  name: string,
  spec: ReferenceOptions<S, N, T, K>,
): Declaration<ReferenceSpec>;
export function reference(name: string, spec: Untyped): Declaration<ReferenceSpec> {
  const { fields, findings } = common(name, spec);
  const key: Record<string, string> = {};
  for (const [field, of] of Object.entries({ ...spec.key })) if (typeof of === 'string') key[field] = of;
  if (Object.keys(key).length === 0) {
    const mend = `Write key: { tenantId: 'id' }, a field of the sink's partition key from one of the tenant.`;
    findings.push(error('reference-key', `Projection ${name} takes nothing of the tenant`, mend));
  }
  if (typeof spec.map !== 'function')
    findings.push(error('copy-map', `Projection ${name} has no map`, 'Give it map: doc => ({ id: … }).'));
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
