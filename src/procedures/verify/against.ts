// What Millrace derives, beside what a team keeps by hand in another container. It runs before any host does, and writes
// nothing: the rows are recomputed from the sources, and take nothing from the sink.
import { z } from 'zod';
import { messageOf } from '../../base/errors.ts';
import { canonical, digest } from '../../base/json.ts';
import { suggestion } from '../../base/near.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { isOwn } from '../../cosmos/own-documents.ts';
import { splitPath, valueAtPath } from '../../cosmos/paths.ts';
import { containerOf, keyPathsOf, typeOf } from '../../model/model.ts';
import { isOfType, typeRules } from '../../pipeline/discriminator.ts';
import { withoutPath } from '../../pipeline/fields/ignored.ts';
import { type Derivation, ownFields } from '../../pipeline/oracle/recompute.ts';
import { type Doc, type ProjectionSpec, projectionId } from '../../pipeline/specs.ts';
import { READ_LAG_MS } from '../../runtime/open-engine.ts';
import { placeDatabase } from '../../runtime/place-containers.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { readSql } from '../sql/read-sql.ts';
import { operationsError } from '../errors.ts';
import type { Candidate } from './difference.ts';
import type { Comparison } from './look.ts';
import { countBy } from './not-compared.ts';
import { recomputed } from './recomputed.ts';
import { differing } from './sink-look.ts';
import { type SettleOptions, lasting } from './until-stable.ts';
import { type AgainstResult, type Verification, NOTHING, selectionOf, summary } from './verify.ts';

/** The other copy, and how its documents are read. */
export interface Against {
  readonly container: string;
  /** Absent: every document of the container. */
  readonly type?: string;
  /** Our field by theirs; theirs may be a path, such as `totals.amount`. */
  readonly map: Readonly<Record<string, string>>;
  /** Our fields, or paths in them, that aren't compared. */
  readonly ignore: readonly string[];
}

type Verified = Pick<LoadedPipeline, 'pipeline' | 'model'>;

export type AgainstOptions = SettleOptions & { readonly clock?: Clock };

const mapping = z.record(z.string(), z.string());

/** The other copy as flags name it. @throws UsageError `unreadable` */
export async function againstOf(
  { against, map, ignore }: { against: string; map?: string | undefined; ignore?: string | undefined },
  directory: string,
): Promise<Against> {
  const [container = '', type] = against.split('/');
  const fields = map === undefined ? {} : parsed(await readSql(directory, map));
  return { container, ...(type !== undefined && { type }), map: fields, ignore: ignore?.split(',') ?? [] };
}

function parsed({ file, text }: { readonly file: string; readonly text: string }): Against['map'] {
  try {
    return mapping.parse(JSON.parse(text));
  } catch (cause) {
    throw sharedError('unreadable', `${file} has no field names: ${messageOf(cause)}`, {
      cause,
      hint: 'Write our field for each of theirs, as {"amount": "total", "store.id": "storeId"}.',
    });
  }
}

const againstText = ({ container, type }: Pick<Against, 'container' | 'type'>): string =>
  type === undefined ? container : `${container}/${type}`;

/**
 * Compares one projection, as name (its current version) or name@version, by key: of copies and reference data the sink's
 * key and id, of aggregates the fields of the group.
 * @throws UsageError `not-found`, `unsupported`, `input-invalid`
 */
export async function verifyAgainst(
  given: Verified,
  services: Services,
  only: string,
  against: Against,
  options: AgainstOptions,
): Promise<Verification> {
  const selected = await selectionOf(given, services, { only });
  if (!selected) return NOTHING;
  const [spec] = selected.chosen;
  if (!spec)
    throw sharedError('unsupported', `${only} can't be compared with another copy`, {
      hint: 'Name a copy, an aggregate or reference data. `millrace projections list` shows the kinds.',
    });
  const { container, type = spec.into.type } = against;
  if (container === spec.into.container && type === spec.into.type)
    throw operationsError('input-invalid', `${againstText(against)} is what ${projectionId(spec)} itself fills`, {
      hint: `Name the copy that you keep by hand, or compare hosts' work with \`millrace projections verify ${spec.name}\`.`,
    });
  assertNames(spec, against, given.model);
  const { readLagMs = READ_LAG_MS, signal, clock = systemClock } = options;
  let beside: Pick<AgainstResult, 'refused' | 'unknown'> = {};
  let ours: ReadonlySet<string> = new Set();
  const look = async () => {
    const { found, names, ...more } = await lookAgainst(selected.loaded, services, spec, against, options);
    beside = more;
    ours = names;
    return { found, whole: true };
  };
  const wait = async () => {
    await clock.sleep(readLagMs, signal);
    return { hosts: 'passed' as const, isOnItsWay: () => false };
  };
  const found = await lasting({ look, wait });
  const byTime = found.differences.toSorted((a, b) => (sinceOf(a) < sinceOf(b) ? -1 : 1));
  const [oldest] = byTime;
  const of = (kind: Candidate['kind']) => byTime.filter((one) => one.kind === kind);
  const pairs = of('different');
  // One field may make all pairs differ, and only the first of the list are shown.
  const differences = [...of('missing'), ...of('unexpected'), ...pairs];
  const count = (kind: Candidate['kind']): number => of(kind).length;
  const counts = { missing: count('missing'), different: count('different'), unexpected: count('unexpected') };
  const first = oldest && { oldest: { document: oldest.document, kind: oldest.kind, since: sinceOf(oldest) } };
  const extra = fieldsOfPairs(pairs, 2).filter((field) => !ours.has(field));
  const extraAlone = pairs.filter(({ fields }) => fields.every((field) => extra.includes(field))).length;
  const both = found.documents.found - counts.unexpected;
  const common = fieldsOfPairs(pairs, Math.max(2, both)).filter((field) => ours.has(field));
  return {
    ...summary({ ...found, differences }, null, []),
    against: {
      of: againstText(against),
      ...counts,
      ...first,
      ...beside,
      ...(extra.length > 0 && { extra, extraAlone }),
      ...(common.length > 0 && { common }),
      ...(isFitted(against) && { fitted: true }),
    },
  };
}

/** The fields that differ in at least so many pairs. */
const fieldsOfPairs = (pairs: readonly Candidate[], least: number): string[] =>
  Object.entries(countBy(pairs.flatMap(({ fields }) => fields))).flatMap(([field, n]) => (n < least ? [] : [field]));

/** Theirs are known only when they are read. @throws UsageError `input-invalid` */
function assertNames({ into }: ProjectionSpec, { map }: Against, model: LoadedPipeline['model']): void {
  const ours = Object.values(map);
  const twice = ours.find((name, at) => ours.indexOf(name) < at);
  if (twice !== undefined)
    throw operationsError('input-invalid', `--map names ${twice} twice`, {
      hint: 'Name each of our fields once, and leave out other fields of theirs with --ignore.',
    });
  const known = [...new Set([...Object.keys(typeOf(model, into)?.fields ?? {}), 'id'])];
  const isWhole = known.length > 1 && !containerOf(model, into.container)?.partialExamples;
  const wrong = isWhole ? ours.find((name) => !known.includes(name)) : undefined;
  if (wrong === undefined) return;
  throw operationsError('input-invalid', `${into.type} has no field ${wrong}${suggestion(wrong, known)}`, {
    hint: `Correct --map, which has our field for each of theirs. Ours are ${known.join(', ')}.`,
  });
}

const isFitted = ({ map, ignore }: Against): boolean => Object.keys(map).length + ignore.length > 0;

const sinceOf = ({ since = '' }: Candidate): string => since;

/** Differences of which the documents are kept, so that a wrong key doesn't fill the memory. */
const KEPT = 1_000;

async function lookAgainst(
  loaded: Verified,
  services: Services,
  spec: ProjectionSpec,
  against: Against,
  options: SettleOptions,
): Promise<Pick<AgainstResult, 'refused' | 'unknown'> & { readonly found: Comparison; readonly names: Set<string> }> {
  const { pipeline, model } = loaded;
  const from = new Map<string, Derivation>();
  const { rows, documents, refused } = await recomputed(loaded, services, spec, {
    ...options,
    derived: (key, derivation) => from.set(key, derivation),
  });
  const keyPaths = keyPathsOf(model, spec.into.container);
  const keyOf = keyed(spec, keyPaths, rows.values());
  const left = new Map([...rows].map(([key, row]) => [keyOf(row), { row, of: from.get(key) }]));
  const shape = shapedBy(spec, against, pipeline);
  const differences: Candidate[] = [];
  const add = (
    kind: Candidate['kind'],
    document: string,
    [row, theirs]: readonly [Doc | undefined, Doc | undefined],
    { fields = [], at, etag }: { readonly fields?: string[]; readonly at: unknown; readonly etag?: unknown },
  ): void => {
    const docs = differences.length < KEPT && { ...(row && { expected: row }), ...(theirs && { found: theirs }) };
    const place = { projections: [projectionId(spec)], container: againstText(against), document };
    const since = new Date(Number(at) * 1_000).toISOString();
    differences.push({ ...place, kind, fields, since, ...docs, evidence: digest([row, etag]) });
  };
  const [mapped, ignored] = [new Set(Object.keys(against.map)), new Set(against.ignore)];
  const names = new Set<string>();
  for (const row of rows.values()) {
    removeKnown(ignored, row);
    for (const name of Object.keys(row)) names.add(name);
  }
  let found = 0;
  for await (const stored of theirsOf(loaded, services, against, options.signal)) {
    found += 1;
    const own = ownFields(stored);
    const ours = renamed(own, against.map);
    removeKnown(mapped, own);
    removeKnown(ignored, ours);
    const [document, theirs] = [keyOf(ours), shape(ours)];
    const { row: whole, of } = left.get(document) ?? {};
    left.delete(document);
    const { _ts: written, _etag: etag } = stored;
    const row = whole && shape(whole);
    const fields = row ? differing({ row, derived: { group: of?.group } }, {}, theirs) : [];
    // A copy was wrong from the change on that it missed; which change of a group it missed, nothing says.
    const at = row && spec.kind !== 'aggregate' ? of?.source['_ts'] : written;
    if (!row) add('unexpected', document, [undefined, theirs], { at, etag });
    else if (fields.length > 0) add('different', document, [row, theirs], { fields, at, etag });
  }
  for (const [document, { row, of }] of left)
    add('missing', document, [shape(row), undefined], { at: of?.source['_ts'] });
  const sources = [...documents.values()].reduce((sum, docs) => sum + docs.length, 0);
  const unknown = found === 0 ? [] : [...mapped, ...ignored];
  return {
    found: {
      projections: [{ id: projectionId(spec), expected: rows.size, refused: refused.count }],
      documents: { sources, expected: rows.size, found },
      differences,
      parked: [],
      largeGroups: 0,
    },
    names,
    ...(refused.count > 0 && { refused: refused.first }),
    ...(unknown.length > 0 && { unknown }),
  };
}

/** Removes the paths that a document has, up to a `*`. */
function removeKnown(paths: Set<string>, doc: Doc): void {
  for (const path of paths) {
    const [fixed = ''] = path.split('.*');
    if (valueAtPath(doc, fixed.split('.')) !== undefined) paths.delete(path);
  }
}

/** @throws UsageError `not-found` */
async function* theirsOf(
  { pipeline }: Pick<LoadedPipeline, 'pipeline'>,
  services: Services,
  { container: id, type }: Against,
  signal: AbortSignal,
): AsyncGenerator<Doc> {
  const container = placeDatabase(pipeline, services).container(id);
  const rules = type === undefined ? {} : typeRules(pipeline.sources, { container: id, type });
  const others = new Set<string | undefined>();
  let any = false;
  await container.read().catch(async (cause: unknown) => {
    if (failureOf(cause).kind !== 'not-found') throw cause;
    const known = (await container.database.containers.readAll().fetchAll()).resources.map((one) => one.id);
    throw sharedError(
      'not-found',
      `There is no container ${id} in database ${container.database.id}${suggestion(id, known)}`,
      {
        cause,
        hint: 'Correct the name after --against: the container is in the database of the sink.',
      },
    );
  });
  for await (const doc of fetchAll<Doc>(container, 'SELECT * FROM c', signal)) {
    if (isOwn(doc)) continue;
    if (type === undefined || isOfType(type, rules, doc)) {
      any = true;
      yield doc;
    } else if (others.size < 10) others.add(typeof doc['type'] === 'string' ? doc['type'] : undefined);
  }
  if (type === undefined || any) return;
  const types = [...others];
  throw sharedError('not-found', `No document of ${id} has the type ${type}`, {
    hint: types.every((each) => each === undefined)
      ? `No document of ${id} has a field type. Leave the type out to compare all of them: --against ${id}.`
      : `Its documents have the types ${types.map((each) => each ?? '(none)').join(', ')}.`,
  });
}

/** The key of a row or of one of their documents, as canonical JSON of its fields. */
function keyed(spec: ProjectionSpec, keyPaths: readonly string[], rows: Iterable<Doc>): (doc: Doc) => string {
  if (spec.kind !== 'aggregate')
    return (doc) => canonical(Object.fromEntries([...keyPaths, '/id'].map((path) => [path.slice(1), at(doc, path)])));
  const [first = {}] = rows;
  const names = Object.keys(first).filter((name) => !['id', 'type'].includes(name) && !(name in spec.measures));
  return (doc) => canonical(Object.fromEntries(names.map((name) => [name, doc[name] ?? null])));
}

const at = (doc: Doc, path: string): unknown => valueAtPath(doc, splitPath(path)) ?? null;

/** A document with what is compared of it. The id of an aggregate is Millrace's own. */
function shapedBy(
  spec: ProjectionSpec,
  { container, type, ignore }: Against,
  { sources }: Pick<LoadedPipeline['pipeline'], 'sources'>,
): (doc: Doc) => Doc {
  const { discriminator = 'type' } = type === undefined ? {} : typeRules(sources, { container, type });
  const names = ['type', ...(typeof discriminator === 'string' ? [discriminator] : [])];
  const left = [...names, ...(spec.kind === 'aggregate' ? ['id'] : []), ...ignore].map((name) => name.split('.'));
  return (doc) => left.reduce(withoutPath, doc);
}

/** Their document with our names. */
function renamed(doc: Doc, map: Against['map']): Doc {
  const paths = Object.entries(map).map(([theirs, ours]) => [theirs.split('.'), ours] as const);
  const named = paths.flatMap(([path, ours]) => {
    const value = valueAtPath(doc, path);
    return value === undefined ? [] : [[ours, value] as const];
  });
  return { ...paths.reduce((rest, [path]) => withoutPath(rest, path), doc), ...Object.fromEntries(named) };
}
