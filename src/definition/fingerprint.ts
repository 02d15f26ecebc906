// What of a declaration must not change while its version stays: where its documents lie, and what is kept to add to.
import { canonical, digest, isObject } from '../base/json.ts';
import { type Model, examplesOf, keyPathsOf, valueAt } from '../model/model.ts';
import { typeRules } from './discriminator.ts';
import type { Doc, EmbedSpec, MeasureSpec, ProjectionSpec, SourceRules } from './specs.ts';
import { aggregateId, sinkDocumentId } from './sink-id.ts';

export interface Fingerprint {
  /** What is declared as data, by name. */
  readonly parts: Readonly<Record<string, unknown>>;
  /**
   * Where the documents of the model's examples lie, by a digest of the example: functions are told by what they return,
   * so that formatting and building them changes nothing.
   */
  readonly places: Readonly<Record<string, string>>;
}

/** Examples that are looked at; more of them tell little more. */
const MOST_EXAMPLES = 50;

/** Readiness asks for what the engine asks again: declarations are run over all examples once. */
const computed = new WeakMap<object, { readonly of: readonly unknown[]; readonly fingerprint: Fingerprint }>();

export function fingerprintOf(
  spec: ProjectionSpec | EmbedSpec,
  model: Model,
  rules: readonly SourceRules[],
): Fingerprint {
  const known = computed.get(spec);
  if (known?.of[0] === model && known.of[1] === rules) return known.fingerprint;
  const fingerprint = compute(spec, model, rules);
  computed.set(spec, { of: [model, rules], fingerprint });
  return fingerprint;
}

function compute(spec: ProjectionSpec | EmbedSpec, model: Model, rules: readonly SourceRules[]): Fingerprint {
  return { parts: partsOf(spec, model), places: spec.kind === 'embed' ? {} : placesOf(spec, model, rules) };
}

/** What was one thing and is another now, in words; none: the same version may go on. */
export function incompatibilities(before: Fingerprint, now: Fingerprint): string[] {
  const parts = differences(before.parts, now.parts, '');
  const moved = Object.entries(now.places).find(([example, place]) => (before.places[example] ?? place) !== place);
  return moved ? [...parts, `an example's document was at ${before.places[moved[0]] ?? ''}, is at ${moved[1]}`] : parts;
}

/** Down to the members that differ: of twenty measures the one that is new. */
function differences(before: Doc, now: Doc, path: string): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(now)])];
  return names.flatMap((name) => {
    const [was, is] = [before[name], now[name]];
    if (isObject(was) && isObject(is)) return differences(was, is, `${path}${name}.`);
    return canonical(was) === canonical(is) ? [] : [`${path}${name} was ${say(was)}, is ${say(is)}`];
  });
}

const say = (value: unknown): string => (value === undefined ? 'absent' : canonical(value));

function partsOf(spec: ProjectionSpec | EmbedSpec, model: Model): Record<string, unknown> {
  const { kind, from, into } = spec;
  const key = keyPathsOf(model, into.container);
  const common = { kind, from, into, key };
  if (spec.kind === 'embed')
    return { ...common, on: spec.on, each: spec.each ?? null, set: Object.keys(spec.set).toSorted() };
  if (spec.kind === 'reference') return { ...common, tenants: spec.tenants, tenantKey: spec.key };
  if (spec.kind === 'copy')
    return { ...common, stable: spec.stable, with: spec.joins.map(({ name, of, on }) => ({ name, of, on })) };
  return { ...common, stable: spec.stable, measures: mapValues(spec.measures, measureForm) };
}

/** Contributions hold what each measure took, so another measure would add to what isn't there. */
const measureForm = (measure: MeasureSpec): unknown => [
  measure.kind,
  ...(measure.kind === 'top' ? [measure.n] : []),
  ...(measure.kind === 'histogram' ? measure.bounds : []),
];

const mapValues = <T>(of: Readonly<Record<string, T>>, map: (value: T) => unknown): Record<string, unknown> =>
  Object.fromEntries(Object.entries(of).map(([name, value]) => [name, map(value)]));

function placesOf(spec: ProjectionSpec, model: Model, rules: readonly SourceRules[]): Record<string, string> {
  const keyPaths = keyPathsOf(model, spec.into.container);
  const { upcast } = typeRules(rules, spec.from);
  const places: Record<string, string> = {};
  for (const example of examplesOf(model, spec.from).slice(0, MOST_EXAMPLES)) {
    try {
      const rows = rowsOf(spec, upcast ? upcast(example) : { ...example });
      if (rows.length > 0)
        places[digest(example)] = canonical(
          rows.map((row) => [...keyPaths.map((path) => valueAt(row, path) ?? null), row['id']]),
        );
    } catch {
      // What an example makes the functions throw says nothing of where documents lie.
    }
  }
  return places;
}

/** The sink documents of one source document, with id and key. */
function rowsOf(spec: ProjectionSpec, doc: Doc): Doc[] {
  if (spec.where && !spec.where(doc)) return [];
  if (spec.kind === 'aggregate') {
    const groups = (spec.each ? spec.each(doc) : [doc]).map((row) => spec.groupBy(row, doc));
    return groups.map((group) => ({ ...group, id: aggregateId(spec.into.type, group) }));
  }
  const nothing = spec.kind === 'copy' ? Object.fromEntries(spec.joins.map(({ name }) => [name, null])) : {};
  const row = spec.map(doc, nothing);
  return [{ ...row, id: sinkDocumentId(String(row['id']), spec.badIds) }];
}
