// Runs a declaration's functions on the document's examples, to find the fields that they read and write.
import { canonical } from '../base/json.ts';
import { messageOf } from '../base/errors.ts';
import { type Model, examplesOf } from '../model/model.ts';
import { type AggregateSpec, type Doc, type Pipeline, type ProjectionSpec, lacksJoined } from '../pipeline/specs.ts';
import { joinedExample } from '../pipeline/joined-examples.ts';
import { sampleOf } from '../pipeline/builders/measures.ts';
import { typeRules } from '../pipeline/discriminator.ts';
import { isProjection } from '../pipeline/kind-facts.ts';
import type { Declared } from './declared.ts';
import { type Read, Watcher } from './reads.ts';

/** One run on one example. */
export interface Run {
  readonly source: Doc;
  readonly joined: Readonly<Record<string, Doc | null>>;
  readonly output: Doc;
}

export interface Trace {
  readonly runs: readonly Run[];
  /** Fields that were read and that no example has. */
  readonly unknown: readonly Read[];
  /** A function threw on an example. */
  readonly failed: string | undefined;
}

export const isWhole = (declared: Declared): declared is Declared & { spec: ProjectionSpec } => isProjection(declared);

/** The fields of an aggregate's group, by its result for the first example. */
export const groupOf = (spec: AggregateSpec, runs: readonly Run[]): string[] =>
  Object.keys(runs[0]?.output ?? {}).filter((field) => !Object.hasOwn(spec.measures, field));

/** Runs a projection on every example of its source; joins take the matching example, or the first. */
export function traceFunctions(spec: ProjectionSpec, model: Model, pipeline: Pipeline): Trace {
  const watcher = new Watcher(model);
  const runs: Run[] = [];
  let failed: string | undefined;
  const rules = typeRules(pipeline.sources, spec.from);
  for (const stored of examplesOf(model, spec.from)) {
    try {
      const doc = rules.upcast ? rules.upcast(stored) : stored;
      const source = rules.upcast ? doc : watcher.watch(doc, spec.from);
      if (rules.deleted?.(doc) || spec.where?.(source) === false) continue;
      const joined: Record<string, Doc | null> = {};
      const plain: Record<string, Doc | null> = {};
      if (spec.kind === 'copy') {
        for (const join of spec.joins) {
          const found = joinedExample(join, model, doc);
          plain[join.name] = found;
          joined[join.name] = found && watcher.watch(found, join.of);
        }
        if (lacksJoined(spec, plain)) continue;
      }
      // The first run gets watched documents, to record the fields that are read. The second gets plain documents, so
      // that its output holds no watched values.
      outputsOf(spec, source, joined);
      for (const output of outputsOf(spec, doc, plain)) runs.push({ source: doc, joined: plain, output });
    } catch (cause) {
      failed ??= messageOf(cause);
    }
  }
  return { runs, unknown: watcher.unknown, failed };
}

/** The sink documents of one source document; for an aggregate, its groups with the measures' values of one row. */
export function outputsOf(spec: ProjectionSpec, source: Doc, joined: Readonly<Record<string, Doc | null>>): Doc[] {
  if (spec.kind === 'copy') return [spec.map(source, joined)];
  if (spec.kind === 'reference')
    return [{ ...spec.map(source), ...Object.fromEntries(Object.keys(spec.key).map((field) => [field, ''])) }];
  return (spec.each?.(source) ?? [source]).map((row) => ({
    ...spec.groupBy(row, source),
    ...Object.fromEntries(Object.entries(spec.measures).map(([field, measure]) => [field, sampleOf(measure, row)])),
  }));
}

/** Names of the JSON types that occur, without null. */
export function jsonTypes(values: readonly unknown[]): Set<string> {
  return new Set(
    values.flatMap((value) =>
      value === null || value === undefined ? [] : [Array.isArray(value) ? 'array' : typeof value],
    ),
  );
}

/**
 * Whether the result depends on a top-level field: the function runs again with other values of the same type. If it
 * throws only then, the result depends on the field.
 */
export function depends(doc: Doc, field: string, result: (doc: Doc) => unknown): boolean {
  const before = attempt(() => canonical(result(doc)));
  return others(doc[field]).some((value) => before !== attempt(() => canonical(result({ ...doc, [field]: value }))));
}

function others(value: unknown): unknown[] {
  if (typeof value === 'string') return [`~${value}~`];
  // Rounding and a limit hide a small change.
  if (typeof value === 'number') return [value + 1, 2 * value + 1000, -value - 1000];
  if (typeof value === 'boolean') return [!value];
  return [value === null || value === undefined ? '~' : null];
}

function attempt(run: () => string): string {
  try {
    return run();
  } catch (cause) {
    return `! ${messageOf(cause)}`;
  }
}
