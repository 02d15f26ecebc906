import type { CopySpec, Doc, Finding, Join, SourceRef } from '../specs.ts';
import { type Declaration, common, error, plain, ref } from '../declaration.ts';
import type { JoinOf, Options, Row, Type } from '../types.ts';

/** M: which of them `map` is never called without. */
type Joined<J, M> = {
  readonly [K in keyof J]: J[K] | (K extends keyof M ? ([M[K]] extends ['wait'] ? never : null) : null);
};
type Missing = Record<string, 'wait' | 'null' | undefined>;

/** What `copy` takes; S source, T sink, J the joined documents by their names in `map`, M what is done while each is missing. */
export interface CopyOptions<
  S extends object,
  T extends object,
  J extends Record<string, object>,
  M extends Missing = Missing,
> extends Options {
  /** The documents that it derives from. */
  readonly from: Type<S>;
  /** The documents that it writes. */
  readonly into: Type<T>;
  /** Documents joined in by equality. A change of either side refreshes the copy. */
  readonly with?: { readonly [K in keyof J]: JoinOf<J[K], S> } & {
    readonly [K in keyof M]: { readonly of: unknown; readonly on: unknown; readonly missing?: M[K] };
  };
  /** Only documents for which it returns true. Pure. */
  readonly where?: (doc: S) => boolean;
  /** Pure: the sink document from the source document and the joined ones, without its `type`. */
  readonly map: (doc: S, joined: Joined<J, M>) => Row<NoInfer<T>>;
}

/** The same without the user's types. */
interface Untyped extends Options {
  readonly from: SourceRef;
  readonly into: SourceRef;
  readonly with?: Readonly<Record<string, UntypedJoin>>;
  readonly where?: (doc: Doc) => boolean;
  readonly map: CopySpec['map'];
}
interface UntypedJoin {
  readonly of: SourceRef;
  readonly on: Readonly<Record<string, string | undefined>>;
  readonly missing?: 'wait' | 'null';
}

/** A denormalised copy: one sink document for each source document that passes `where`. */
export function copy<
  S extends object,
  T extends object,
  J extends Record<string, object> = {},
  const M extends Missing = {},
>(name: string, spec: CopyOptions<S, T, J, M>): Declaration<CopySpec>;
export function copy(name: string, spec: Untyped): Declaration<CopySpec> {
  const { fields, findings } = common(name, spec);
  const joins = Object.entries(spec.with ?? {}).map(([alias, declared]) => join(name, alias, declared, findings));
  if (typeof spec.map !== 'function')
    findings.push(error('copy-map', `Projection ${name} has no map`, 'Add map: doc => ({ id: … }).'));
  return { ...fields, kind: 'copy', joins, ...(spec.where && { where: spec.where }), map: spec.map, findings };
}

function join(projection: string, name: string, declared: UntypedJoin, findings: Finding[]): Join {
  const on: Record<string, string> = {};
  for (const [field, of] of Object.entries(declared.on ?? {})) if (of !== undefined) on[field] = of;
  if (Object.keys(on).length === 0) {
    findings.push(
      error(
        'join-on-empty',
        `Projection ${projection} joins ${name} (${ref(declared.of)}) without a condition`,
        `Add on: { id: '…' } with every field of its partition key.`,
      ),
    );
  }
  const missing = declared.missing ?? 'null';
  if (!['null', 'wait'].includes(missing)) {
    findings.push(
      error(
        'join-missing',
        `Projection ${projection} joins ${name} with missing ${missing}, which isn't valid`,
        'Write wait or null.',
      ),
    );
  }
  return { name, of: plain(declared.of), on, missing };
}
