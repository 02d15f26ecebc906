// The parts of a declaration that must not change while its version stays the same: where its documents lie, and the
// state that later changes are added to.
import { canonical, digest, isObject } from '../base/json.ts';
import { misspeltOf } from '../base/near.ts';
import { type Model, examplesOf, keyPathsOf, exampleValueAt, typeOf } from '../model/model.ts';
import { ref } from './declaration.ts';
import { typeRules } from './discriminator.ts';
import {
  type CopySpec,
  type Doc,
  type EmbedSpec,
  type Pipeline,
  type ProjectionSpec,
  type SourceRef,
  type SourceRules,
  type TableSpec,
  lacksJoined,
} from './specs.ts';
import type { MeasureSpec } from './builders/measures.ts';
import { joinedExample } from './joined-examples.ts';
import { type Column, layoutOf } from './tables/layout.ts';
import { aggregateId, sinkDocumentId } from './derived-ids.ts';
import { attempt } from './fields/watched.ts';

/** What is held if its declaration changes under its version. */
export type FingerprintedSpec = ProjectionSpec | EmbedSpec | TableSpec;

export interface Fingerprint {
  /** The parts that are declared as data, by name. */
  readonly parts: Readonly<Record<string, unknown>>;
  /**
   * Where the documents of the model's examples lie, by a digest of the example. Functions are compared by what they
   * return, so formatting or compiling them changes nothing.
   */
  readonly places: Readonly<Record<string, string>>;
}

/** The first examples are enough: more of them rarely show a difference. */
const MOST_EXAMPLES = 50;

/** The readiness check and the engine ask for the same fingerprint: each declaration is run on the examples once. */
const computed = new WeakMap<object, { readonly of: readonly unknown[]; readonly fingerprint: Fingerprint }>();

export function fingerprintOf(
  spec: FingerprintedSpec,
  model: Model,
  pipeline: Pick<Pipeline, 'sources' | 'tenant'>,
): Fingerprint {
  const { sources: rules, tenant } = pipeline;
  const known = computed.get(spec);
  if (known?.of[0] === model && known.of[1] === rules && known.of[2] === tenant) return known.fingerprint;
  const fingerprint = compute(spec, model, pipeline);
  computed.set(spec, { of: [model, rules, tenant], fingerprint });
  return fingerprint;
}

function compute(spec: FingerprintedSpec, model: Model, pipeline: Pick<Pipeline, 'sources' | 'tenant'>): Fingerprint {
  const { sources: rules } = pipeline;
  if (spec.kind === 'table') return { parts: tableParts(spec, model, pipeline), places: rowsFor(spec, model, rules) };
  return { parts: partsOf(spec, model), places: spec.kind === 'embed' ? {} : placesOf(spec, model, rules) };
}

/** The differences as text. If there are none, the same version may continue. */
export function incompatibilities(before: Fingerprint, now: Fingerprint): string[] {
  const parts = differences(before.parts, now.parts, '');
  const moved = Object.entries(now.places).find(([example, place]) => (before.places[example] ?? place) !== place);
  const lay = (place = ''): string => (place === canonical([]) ? 'nowhere' : `at ${place}`);
  return moved
    ? [...parts, `the document of an example was ${lay(before.places[moved[0]])} and is now ${lay(moved[1])}`]
    : parts;
}

/** Of an aggregate: the first name that its sink's type lacks, where it has one like it. Ends with a space; empty: none. */
export function misspelt(spec: FingerprintedSpec, model: Model): string {
  if (spec.kind !== 'aggregate') return '';
  const fields = Object.keys(typeOf(model, spec.into)?.fields ?? {});
  const groups = examplesOf(model, spec.from)
    .slice(0, 1)
    .flatMap((example) => attempt(() => rowsOf(spec, { ...example }, {})) ?? []);
  const names = [...Object.keys(spec.measures), ...groups.flatMap(Object.keys)];
  const unwritten = fields.filter((field) => !names.includes(field));
  const found = misspeltOf(
    names.filter((name) => !fields.includes(name)),
    unwritten,
  );
  return found ? `Correct ${found.name} first: ${ref(spec.into)} has ${found.meant}. ` : '';
}

/** Descends to the members that differ: of twenty measures it names the new one only. */
function differences(before: Doc, now: Doc, path: string): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(now)])];
  return names.flatMap((name) => {
    const [was, is] = [before[name], now[name]];
    // `sql migrate` adds columns and lists.
    if (was === undefined && ADDED.test(path)) return [];
    if (isObject(was) && isObject(is)) return differences(was, is, `${path}${name}.`);
    return canonical(was) === canonical(is) ? [] : [`${path}${name} was ${say(was)} and is now ${say(is)}`];
  });
}

const ADDED = /^(children\.([^.]+\.)?|([^.]+\.)*columns\.)$/;

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

/** Names, types and keys of what is in the database. Columns that follow from the model's examples count as declared. */
function tableParts(
  spec: TableSpec,
  model: Model,
  pipeline: Pick<Pipeline, 'sources' | 'tenant'>,
): Record<string, unknown> {
  const { name, identity, columns, children, extra, movable, unique } = layoutOf(spec, pipeline, model);
  const typed = (of: readonly Column[]) =>
    Object.fromEntries(of.map((one) => [one.name, [one.field ?? null, one.type]]));
  const lists = children.map(
    (child) =>
      [child.name, { field: child.field, key: child.key, extra: child.extra, columns: typed(child.columns) }] as const,
  );
  const key = identity.map((one) => [one.name, one.type, one.path]);
  return {
    kind: spec.kind,
    from: spec.from,
    name,
    key,
    movable,
    extra,
    columns: typed(columns),
    children: Object.fromEntries(lists),
    ...(unique.length > 0 && { unique }),
  };
}

/** What is said of the first examples. One that a function throws on doesn't show where its document lies. */
function ofExamples(
  from: SourceRef,
  model: Model,
  rules: readonly SourceRules[],
  placed: (doc: Doc, example: Doc) => readonly [key: unknown, place: string],
): Record<string, string> {
  const { upcast } = typeRules(rules, from);
  const said = examplesOf(model, from)
    .slice(0, MOST_EXAMPLES)
    .map((example) => attempt(() => placed(upcast ? upcast(example) : { ...example }, example)));
  return Object.fromEntries(said.flatMap((one) => (one ? [[digest(one[0]), one[1]]] : [])));
}

/** Which examples have a row. */
const rowsFor = (spec: TableSpec, model: Model, rules: readonly SourceRules[]): Record<string, string> =>
  ofExamples(spec.from, model, rules, (doc, example) => [example, (spec.where?.(doc) ?? true) ? 'a row' : 'no row']);

/** A contribution stores the values of each measure, so stored contributions lack the values of a new measure. */
const measureForm = ({ kind, ...options }: MeasureSpec): unknown => [
  kind,
  ...Object.values(options).flatMap((option) => (typeof option === 'function' ? [] : option)),
];

const mapValues = <T>(of: Readonly<Record<string, T>>, map: (value: T) => unknown): Record<string, unknown> =>
  Object.fromEntries(Object.entries(of).map(([name, value]) => [name, map(value)]));

function placesOf(spec: ProjectionSpec, model: Model, rules: readonly SourceRules[]): Record<string, string> {
  const keyPaths = keyPathsOf(model, spec.into.container);
  return ofExamples(spec.from, model, rules, (doc, example) => {
    const joined = spec.kind === 'copy' ? joinedOf(spec, model, doc) : {};
    const places = rowsOf(spec, doc, joined).map((row) => [
      ...keyPaths.map((path) => exampleValueAt(row, path) ?? null),
      row['id'],
    ]);
    // Without rows too: another `where` leaves what is there where it is, until it is written again.
    return [Object.values(joined).some((of) => of) ? [example, joined] : example, canonical(places)];
  });
}

/** Only documents that a copy waits for may determine its place. */
const joinedOf = ({ joins }: CopySpec, model: Model, doc: Doc): Record<string, Doc | null> =>
  Object.fromEntries(
    joins.map((join) => [join.name, join.missing === 'wait' ? joinedExample(join, model, doc) : null]),
  );

/** The sink documents of one source document, with id and key. */
function rowsOf(spec: ProjectionSpec, doc: Doc, joined: Readonly<Record<string, Doc | null>>): Doc[] {
  if (spec.where && !spec.where(doc)) return [];
  if (spec.kind === 'aggregate') {
    const groups = (spec.each ? spec.each(doc) : [doc]).map((row) => spec.groupBy(row, doc));
    return groups.map((group) => ({ ...group, id: aggregateId(spec.into.type, group) }));
  }
  if (spec.kind === 'copy' && lacksJoined(spec, joined)) return [];
  const row = spec.map(doc, joined);
  return [{ ...row, id: sinkDocumentId(String(row['id']), spec.badIds) }];
}
