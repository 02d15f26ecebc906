// What a declaration's functions make of the document's examples: fields, JSON types, and what depends on what.
import { canonical, isObject } from '../../base/json.ts';
import { messageOf } from '../../base/errors.ts';
import type { Model } from '../../model/model.ts';
import type { AggregateSpec, CopySpec, Doc, EmbedSpec, Pipeline, ReferenceSpec, SourceRef } from '../kinds.ts';
import { typeRules } from '../discriminator.ts';

/** One run on one example. */
export interface Run {
  readonly source: Doc;
  readonly joined: Readonly<Record<string, Doc | null>>;
  readonly output: Doc;
}

export interface Trace {
  readonly runs: readonly Run[];
  /** Every field that was read. */
  readonly read: readonly { readonly of: SourceRef; readonly field: string }[];
  /** Fields that were read and that no example has, as `type.field`. */
  readonly unknown: readonly { readonly of: SourceRef; readonly field: string }[];
  /** A function threw on an example. */
  readonly failed: string | undefined;
}

export type Whole = CopySpec | AggregateSpec | ReferenceSpec;

export function examplesOf(model: Model, of: SourceRef | undefined): readonly Doc[] {
  const container = model.containers.find(({ name }) => name === of?.container);
  return container?.types.find(({ name }) => name === of?.type)?.examples ?? [];
}

/** Runs a projection on every example of its source; joins take the matching example, or the first. */
export function trace(spec: Whole, model: Model, pipeline: Pipeline): Trace {
  const unknown = new Map<string, { of: SourceRef; field: string }>();
  const read = new Map<string, { of: SourceRef; field: string }>();
  const watch = (doc: Doc, of: SourceRef): Doc =>
    watched(doc, new Set(examplesOf(model, of).flatMap(Object.keys)), (field, known) =>
      (known ? read : unknown).set(`${of.container} ${of.type} ${field}`, { of, field }),
    );
  const runs: Run[] = [];
  let failed: string | undefined;
  const rules = typeRules(pipeline.sources, spec.from);
  for (const stored of examplesOf(model, spec.from)) {
    try {
      const doc = rules.upcast ? rules.upcast(stored) : stored;
      const source = rules.upcast ? doc : watch(doc, spec.from);
      if (rules.deleted?.(doc) || spec.where?.(source) === false) continue;
      const joined: Record<string, Doc | null> = {};
      const plain: Record<string, Doc | null> = {};
      if (spec.kind === 'copy') {
        for (const { name, of, on } of spec.joins) {
          const all = examplesOf(model, of);
          const found =
            all.find((candidate) =>
              Object.entries(on).every(([theirs, ours]) => canonical(candidate[theirs]) === canonical(doc[ours])),
            ) ??
            all[0] ??
            null;
          plain[name] = found;
          joined[name] = found && watch(found, of);
        }
      }
      for (const output of outputsOf(spec, source, joined)) runs.push({ source: doc, joined: plain, output });
    } catch (cause) {
      failed ??= messageOf(cause);
    }
  }
  return { runs, read: [...read.values()], unknown: [...unknown.values()], failed };
}

/** The sink documents of one source document; of aggregates, the groups with their measures' values for one row. */
export function outputsOf(spec: Whole, source: Doc, joined: Readonly<Record<string, Doc | null>>): Doc[] {
  if (spec.kind === 'copy') return [spec.map(source, joined)];
  if (spec.kind === 'reference')
    return [{ ...spec.map(source), ...Object.fromEntries(Object.keys(spec.key).map((field) => [field, ''])) }];
  return (spec.each?.(source) ?? [source]).map((row) => ({
    ...spec.groupBy(row, source),
    ...Object.fromEntries(Object.entries(spec.measures).map(([field, measure]) => [field, sample(measure, row)])),
  }));
}

/** A value of the measure's JSON type, with its functions run on the row. */
function sample(measure: AggregateSpec['measures'][string], row: unknown): unknown {
  switch (measure.kind) {
    case 'count':
      return 1;
    case 'distinct':
      measure.of(row);
      return 1;
    case 'top':
      measure.by(row);
      return [measure.keep(row)];
    case 'histogram':
      measure.of(row);
      return measure.bounds.map(() => 0);
    case 'sum':
    case 'avg':
    case 'min':
    case 'max':
      break;
  }
  return measure.of(row);
}

/** What an embed writes into a child, field by field, on the examples. */
export function embedded(spec: EmbedSpec, model: Model): Map<string, unknown[]> {
  const written = new Map<string, unknown[]>();
  for (const parent of examplesOf(model, spec.from)) {
    for (const child of examplesOf(model, spec.into)) {
      const list: unknown = spec.each ? child[spec.each.field] : [child];
      for (const item of Array.isArray(list) ? list.filter(isObject) : []) {
        for (const [field, set] of Object.entries(spec.set)) {
          try {
            written.set(field, [...(written.get(field) ?? []), set(parent, item)]);
          } catch {
            written.set(field, written.get(field) ?? []);
          }
        }
      }
    }
  }
  return written;
}

/** Names of the JSON types that occur; null says nothing of the type. */
export function jsonTypes(values: readonly unknown[]): Set<string> {
  return new Set(
    values.flatMap((value) =>
      value === null || value === undefined ? [] : [Array.isArray(value) ? 'array' : typeof value],
    ),
  );
}

/**
 * Whether the result depends on a top-level field: it is changed to another value of its type and the function run again.
 * What throws then has depended on it.
 */
export function depends(doc: Doc, field: string, result: (doc: Doc) => unknown): boolean {
  const before = attempt(() => canonical(result(doc)));
  return before !== attempt(() => canonical(result({ ...doc, [field]: other(doc[field]) })));
}

function other(value: unknown): unknown {
  if (typeof value === 'string') return `~${value}~`;
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'boolean') return !value;
  return value === null || value === undefined ? '~' : null;
}

function attempt(run: () => string): string {
  try {
    return run();
  } catch (cause) {
    return `! ${messageOf(cause)}`;
  }
}

/** Tells of each field that is read; `ttl` and the service's own fields are always possible. */
const watched = (doc: Doc, fields: ReadonlySet<string>, tell: (field: string, known: boolean) => void): Doc =>
  new Proxy(doc, {
    get(target, field) {
      if (typeof field === 'string' && field !== 'ttl' && !field.startsWith('_') && field !== 'toJSON')
        tell(field, fields.has(field));
      return Reflect.get(target, field) as unknown;
    },
  });
