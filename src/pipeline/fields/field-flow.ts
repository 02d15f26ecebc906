// Which fields a declaration reads and writes, and whether its own writes come back to it as changes.
import { isObject } from '../../base/json.ts';
import { type Model, examplesOf } from '../../model/model.ts';
import { typeRules } from '../discriminator.ts';
import { ref, same } from '../declaration.ts';
import {
  type AggregateSpec,
  type Doc,
  type EmbedSpec,
  type Pipeline,
  type ProjectionSpec,
  type SourceRef,
  type SourceRules,
  lacksJoined,
} from '../specs.ts';
import { sourcesOf } from '../pipeline.ts';
import { attempt, watched } from './watched.ts';

/** `*`: any; `lines.name`: in the elements of a list. */
type Fields = ReadonlySet<string>;

/** One type that a projection reads, and the type that it writes. */
interface Flow {
  readonly name: string;
  readonly from: SourceRef;
  readonly into: SourceRef;
  readonly reads: Fields;
  readonly writes: Fields;
}

const ALL: Fields = new Set(['*']);

/** The fields that an embed writes, in the notation of `Fields`. */
export const writtenBy = ({ set, each }: EmbedSpec): string[] =>
  Object.keys(set).map((field) => (each ? `${each.field}.${field}` : field));

/**
 * The fields that an embed's functions read of the parent, and of the child or element. They are found by running the
 * functions on the model's examples: a field that is read only for other documents stays unknown.
 */
export function readBy(spec: EmbedSpec, model: Model, rules: readonly SourceRules[]): { parent: Fields; item: Fields } {
  const ofParent = new Set(Object.keys({ ...spec.on, ...spec.each?.on }));
  const ofItem = new Set<string>();
  for (const parent of examples(model, spec.from, rules)) {
    for (const child of examples(model, spec.into, rules)) {
      const list: unknown = spec.each ? child[spec.each.field] : [child];
      for (const item of Array.isArray(list) ? list.filter(isObject) : []) {
        const seen = watched(item, ofItem);
        attempt(() => spec.when?.(seen, spec.each ? child : seen));
        for (const value of Object.values(spec.set)) attempt(() => value(watched(parent, ofParent), seen));
      }
    }
  }
  return { parent: ofParent, item: ofItem };
}

/** The names of projections that feed each other in a circle, each circle once. */
export function circles(pipeline: Pipeline, model: Model): string[][] {
  const flows = flowsOf(pipeline, model);
  const found = new Map<string, string[]>();
  const walk = (path: readonly Flow[]): void => {
    const last = path.at(-1);
    const [start] = path;
    if (!last || !start) return;
    for (const next of flows) {
      if (!feeds(last, next)) continue;
      const at = path.indexOf(next);
      if (at === -1) walk([...path, next]);
      else if (next === start)
        found.set(
          path
            .map(({ name }) => name)
            .toSorted()
            .join(),
          path.map(({ name }) => name),
        );
    }
  };
  for (const flow of flows) walk([flow]);
  return [...found.values()];
}

const feeds = (writer: Flow, reader: Flow): boolean =>
  same(writer.into, reader.from) &&
  [...writer.writes].some((field) => field === '*' || reader.reads.has('*') || reader.reads.has(top(field)));

const top = (field: string): string => field.split('.')[0] ?? field;

function flowsOf({ projections, embeds, sources }: Pipeline, model: Model): Flow[] {
  const whole = projections.flatMap((spec) => {
    const reads = readByWhole(spec, model, sources);
    return sourcesOf(spec).map((from) => ({
      name: spec.name,
      from,
      into: spec.into,
      reads: reads.get(ref(from)) ?? ALL,
      writes: ALL,
    }));
  });
  const parts = embeds.map((spec) => ({
    name: spec.name,
    from: spec.from,
    into: spec.into,
    reads: readBy(spec, model, sources).parent,
    writes: new Set(writtenBy(spec)),
  }));
  return [...whole, ...parts];
}

/** The fields that a projection of whole documents reads, by type; a type without examples is left out. */
export function readByWhole(spec: ProjectionSpec, model: Model, rules: readonly SourceRules[]): Map<string, Fields> {
  const reads = new Map<string, Set<string>>();
  const watch = (of: SourceRef): Doc[] => {
    const docs = [...examples(model, of, rules)];
    const read = reads.get(ref(of)) ?? new Set<string>();
    if (docs.length > 0) reads.set(ref(of), read);
    return docs.map((doc) => watched(doc, read));
  };
  const joined = spec.kind === 'copy' ? spec.joins.map(({ name, of }) => [name, watch(of)[0] ?? null] as const) : [];
  if (spec.kind === 'copy')
    for (const { of, on } of spec.joins) Object.keys(on).forEach((field) => reads.get(ref(of))?.add(field));
  if (spec.kind === 'reference')
    for (const field of Object.values(spec.key)) watch(spec.tenants).forEach((tenant) => tenant[field]);
  for (const doc of watch(spec.from)) {
    attempt(() => spec.where?.(doc));
    if (spec.kind === 'copy') {
      for (const { on } of spec.joins) Object.values(on).forEach((field) => doc[field]);
      const given = Object.fromEntries(joined);
      attempt(() => lacksJoined(spec, given) || spec.map(doc, given));
    } else if (spec.kind === 'reference') attempt(() => spec.map(doc));
    else attempt(() => readByAggregate(spec, doc));
  }
  return reads;
}

function readByAggregate(spec: AggregateSpec, doc: Doc): void {
  for (const row of spec.each?.(doc) ?? [doc]) {
    attempt(() => spec.groupBy(row, doc));
    for (const measure of Object.values(spec.measures)) {
      attempt(() => 'of' in measure && measure.of(row));
      attempt(() => measure.kind === 'top' && [measure.by(row), measure.keep(row)]);
    }
  }
}

function* examples(model: Model, of: SourceRef, rules: readonly SourceRules[]): Generator<Doc> {
  const { upcast } = typeRules(rules, of);
  for (const example of examplesOf(model, of)) {
    try {
      yield upcast ? upcast(example) : { ...example };
    } catch {
      // If upcast throws on an example, the example doesn't show which fields are read.
    }
  }
}
