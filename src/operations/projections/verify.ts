import type { Settings } from '../../base/settings.ts';
import { canonical } from '../../base/json.ts';
import { isOfType, typeRules } from '../../definition/discriminator.ts';
import { type Doc, type ProjectionSpec, projectionId } from '../../definition/specs.ts';
import { sourcesOf } from '../../definition/pipeline.ts';
import { Views, type ViewsByName } from '../../engine/views/views.ts';
import type { Identity } from '../../feed/reading/change.ts';
import type { Screen } from '../screen.ts';
import { plural, table } from '../table.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { chooseProjection } from './choose.ts';
import { untilPassed } from './lag.ts';
import type { Candidate, Difference } from './difference.ts';
import { type CompareOptions, type Comparison, compare, nameOf } from './compare.ts';
import { type Sample, type SampleComparison, compareSample } from './compare-sample.ts';
import { draw } from './draw.ts';
import { countDocuments } from './estimate.ts';
import { type Repaired, placeText, repair } from './repair.ts';
import { type Beyond, beyondOf, notSampled, notVerifiable } from './verify-beyond.ts';
import { type OtherSpec, othersOf } from './verify-others.ts';

/** A difference that a repair could not correct. */
export interface Unrepaired {
  readonly container: string;
  readonly document: string;
  readonly why: string;
}

/** The result of a repair, checked by another comparison. */
export interface RepairResult extends Repaired {
  /** The number of differences that no longer exist. */
  readonly repaired: number;
  /** The first thousand of the remaining differences. */
  readonly unrepaired: readonly Unrepaired[];
}

export interface Verification extends Omit<Comparison, 'differences'> {
  /** The number of all differences; `differences` has the first thousand. */
  readonly different: number;
  readonly differences: readonly Difference[];
  /** The number of differences that changed at each comparison, because live hosts wrote them. */
  readonly moving: number;
  /** The result of `--repair`; null without it. `different` counts what is left after it. */
  readonly repaired: RepairResult | null;
  /** Projections that can't be compared, or can't be repaired. */
  readonly beyond: readonly Beyond[];
  /** Absent: all documents were compared. */
  readonly sampled?: Sampled;
}

/** What was compared of all documents. */
export interface Sampled {
  /** `--sample` as it was given. */
  readonly asked: string;
  /** Groups with so many source documents that only the contributions of those that were drawn were compared. */
  readonly largeGroups: number;
}

export interface VerifyOptions {
  readonly signal: AbortSignal;
  readonly screen: Pick<Screen, 'progress'>;
  /** One projection, as name (its current version) or name@version; absent: all current ones. */
  readonly only?: string | undefined;
  /** Only sink documents under this partition key. */
  readonly key?: readonly unknown[] | undefined;
  /**
   * How old a read may be, milliseconds (ASM-A3); archived documents are read twice, this long apart. Default 5,000.
   */
  readonly readLagMs?: number | undefined;
  /** With settings, live hosts may run. Without, no process may write sources and sinks meanwhile. */
  readonly settings?: Settings | undefined;
  /** Corrects differences; needs the settings. */
  readonly repair?: boolean | undefined;
  /** Compares documents drawn by chance: so many of each type, as `1000` or `1%`. Absent: all documents. */
  readonly sample?: string | undefined;
  /** Returns a number in [0, 1), for the sample. Default: `Math.random`. */
  readonly random?: () => number;
}

const SHOWN = 1_000;
const PRINTED = 20;
const NO_OBSTACLE =
  'its changes were applied again, but it still differs: the projection’s state documents may be wrong';
/** How often changing differences are compared again. */
const ROUNDS = 5;

/**
 * Reads every source document, archived ones included, and every sink document, recomputes every projection with code that
 * shares nothing with the running one, and compares document by document. Cosmos DB has no snapshot reads. So differences
 * are compared again after the live hosts have passed the end of the feeds, and only unchanged differences count.
 */
export async function verify(
  loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  services: Services,
  options: VerifyOptions,
): Promise<Verification> {
  const kept = currentOf(loaded.pipeline.projections, await new Views(services.state, loaded.pipeline.name).read());
  const { only } = options;
  const meant = ({ name, version }: { readonly name: string; readonly version: number }): boolean =>
    only === undefined || name === only || projectionId({ name, version }) === only;
  const other = othersOf(loaded.pipeline).filter(meant);
  const sends = options.sample === undefined ? [] : other.filter((spec) => spec.kind === 'send');
  const beyond = [...beyondOf(loaded.pipeline).filter(meant), ...sends.map(notSampled)];
  const compared = other.filter(({ kind }) => kind !== 'send' || options.sample === undefined);
  const [alone] = only === undefined || compared.length > 0 ? [] : beyond;
  if (alone) throw notVerifiable(alone);
  const one =
    only === undefined || other.length > 0
      ? undefined
      : (kept.find(({ name }) => name === only) ?? chooseProjection(loaded.pipeline, only));
  const chosen = one ? [one] : only === undefined ? kept : [];
  const all = one && !kept.includes(one) ? [...kept, one] : kept;
  const sample = await drawSample({ loaded, services, options }, [...all, ...other]);
  const first = await settled(loaded, services, { chosen, kept: all, others: other }, { ...options, drawn: sample });
  if (!options.repair || first.differences.length === 0 || !options.settings)
    return summary(first, null, beyond, options.sample);
  let left = first;
  const done = { removed: 0, reset: 0, applied: 0, charge: 0 };
  let obstacles: ReadonlyMap<string, string> = new Map();
  for (let round = 0; round < ROUNDS && left.differences.length > 0; round++) {
    const before = new Set(left.differences.map(placeText));
    const { obstacles: met, ...more } = await repair(
      { ...options, settings: options.settings, services, loaded, chosen: all, others: other },
      left.differences,
    );
    obstacles = met;
    for (const name of ['removed', 'reset', 'applied', 'charge'] as const) done[name] += more[name];
    left = await settled(loaded, services, { chosen, kept: all, others: other }, options);
    // Another round would meet the same obstacles.
    if (left.differences.map(placeText).every((place) => before.has(place) && obstacles.has(place))) break;
  }
  const unrepaired = left.differences.map(({ container, document }) => ({
    container,
    document,
    why: obstacles.get(placeText({ container, document })) ?? NO_OBSTACLE,
  }));
  const still = new Set(unrepaired.map(placeText));
  const repaired = new Set(first.differences.map(placeText).filter((place) => !still.has(place))).size;
  return summary(left, { ...done, repaired, unrepaired: unrepaired.slice(0, SHOWN) }, beyond);
}

/** Draws source documents, sink documents and children; undefined: all are compared. */
async function drawSample(
  { loaded: { pipeline }, services, options }: Looked,
  specs: readonly (ProjectionSpec | OtherSpec)[],
): Promise<Sample | undefined> {
  const { sample, random = Math.random, signal, screen } = options;
  if (sample === undefined) return undefined;
  const types = specs.flatMap((spec) => [spec.from, ...(spec.kind === 'send' ? [] : [spec.into])]);
  const drawn = new Map<string, readonly Identity[]>();
  for (const [container, of] of Map.groupBy(types, (type) => type.container)) {
    const most = new Map<string, number>();
    for (const type of of)
      if (!most.has(type.type))
        most.set(type.type, await sampleSize(sample, () => countDocuments(type, services, pipeline.sources)));
    const typeOf = (stored: Doc): string | undefined =>
      of.find((each) => isOfType(each.type, typeRules(pipeline.sources, each), stored))?.type;
    const found = await draw(services.database.container(container), { typeOf, most, random, signal });
    for (const [type, documents] of found) drawn.set(nameOf({ container, type }), documents);
    screen.progress('drawn', [...drawn.values()].flat().length);
  }
  return drawn;
}

interface Looked {
  readonly loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>;
  readonly services: Services;
  readonly options: VerifyOptions;
}

const sampleSize = async (sample: string, count: () => Promise<number>): Promise<number> =>
  sample.endsWith('%') ? Math.ceil((Number.parseFloat(sample) / 100) * (await count())) : Number(sample);

interface Settled extends Comparison {
  readonly moving: number;
  readonly largeGroups?: number;
}

/** The lasting differences: they did not change between two comparisons, and the hosts had passed the first one's sources. */
async function settled(
  loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  services: Services,
  { chosen, kept, others }: Required<Pick<CompareOptions, 'chosen' | 'kept' | 'others'>>,
  { signal, screen, readLagMs, settings, key, drawn }: VerifyOptions & { readonly drawn?: Sample | undefined },
): Promise<Settled> {
  const look = async (
    of: readonly ProjectionSpec[],
    beside: readonly OtherSpec[],
  ): Promise<Comparison | SampleComparison> => {
    const asked = { signal, screen, readLagMs, chosen: of, kept, others: beside };
    const found = await (drawn
      ? compareSample(loaded, services, { ...asked, sample: drawn })
      : compare(loaded, services, asked));
    if (key === undefined) return found;
    const within = `${canonical(key).slice(0, -1)},`;
    return { ...found, differences: found.differences.filter(({ document }) => document.startsWith(within)) };
  };
  const first = await look(chosen, others);
  if (!settings || first.differences.length === 0) return { ...first, moving: 0 };
  const known = (of: Candidate): string => `${of.container} ${of.document} ${of.kind} ${of.evidence}`;
  const certain: Candidate[] = [];
  let open: readonly Candidate[] = first.differences;
  for (let round = 0; round < ROUNDS && open.length > 0; round++) {
    const differs = (spec: ProjectionSpec | OtherSpec): boolean =>
      open.some(({ projections }) => projections.includes(projectionId(spec)));
    const concerned = chosen.filter(differs);
    const beside = others.filter(differs);
    const containers = [...new Set([...concerned, ...beside].flatMap(sourcesOf).map(({ container }) => container))];
    const live = await untilPassed({
      loaded,
      services,
      settings,
      containers,
      readLagMs: readLagMs ?? 5_000,
      signal,
      screen,
    });
    // No host runs, so the differences will not change.
    if (!live) return { ...first, differences: [...certain, ...open], moving: 0 };
    const seen = new Set(open.map(known));
    const reported = new Set(certain.map(known));
    const again = (await look(concerned, beside)).differences.filter((of) => !reported.has(known(of)));
    certain.push(...again.filter((of) => seen.has(known(of))));
    open = again.filter((of) => !seen.has(known(of)));
  }
  return { ...first, differences: certain, moving: open.length };
}

const summary = (
  { projections, documents, differences, moving, parked, largeGroups = 0 }: Settled,
  repaired: RepairResult | null,
  beyond: readonly Beyond[],
  sample?: string,
): Verification => ({
  projections,
  documents,
  different: differences.length,
  differences: differences.slice(0, SHOWN).map(shown),
  moving,
  parked: parked.slice(0, SHOWN),
  repaired,
  beyond,
  ...(sample !== undefined && { sampled: { asked: sample, largeGroups } }),
});

const shown = ({ projections, container, document, kind, fields, expected, found }: Candidate): Difference => ({
  projections,
  container,
  document,
  kind,
  fields,
  ...(expected && { expected }),
  ...(found && { found }),
});

/** The current versions; if no host has run yet, the lowest version of each name. */
export function currentOf(projections: readonly ProjectionSpec[], views: ViewsByName | undefined): ProjectionSpec[] {
  if (views) return projections.filter(({ name, version }) => views[name]?.current?.version === version);
  const lowest = new Map<string, ProjectionSpec>();
  for (const spec of projections) {
    const known = lowest.get(spec.name);
    if (!known || spec.version < known.version) lowest.set(spec.name, spec);
  }
  return [...lowest.values()];
}

export function formatVerification({
  projections,
  documents,
  different,
  differences,
  moving,
  parked,
  repaired,
  beyond,
  sampled,
}: Verification): string {
  const lines = [
    table(
      ['projection', 'documents', 'refused'],
      projections.map(({ id, expected, refused }) => [id, expected, refused]),
    ),
    '',
    `${sampled ? `A sample of ${sampled.asked} of each type: recomputed` : 'Recomputed'} from ${plural(documents.sources, 'source document')} and compared with ${plural(documents.found, 'sink document')}: ${
      different === 0 ? 'no difference.' : plural(different, 'difference')
    }`,
  ];
  for (const { kind, container, document, fields, expected, found } of differences.slice(0, PRINTED)) {
    lines.push(`  ${kind}: ${container} ${document}${fields.length === 0 ? '' : ` in ${fields.join(', ')}`}`);
    for (const field of fields)
      lines.push(`    ${field}: expected ${canonical(expected?.[field])}, found ${canonical(found?.[field])}`);
  }
  if (moving > 0)
    lines.push(`  ${plural(moving, 'document')} changed at every comparison: verify again when writers write less.`);
  if (different > PRINTED)
    lines.push(`  … and ${plural(different - PRINTED, 'other')}; --json shows up to ${SHOWN.toLocaleString('en-US')}.`);
  for (const { projection, container, key, id, code, message } of parked.slice(0, PRINTED))
    lines.push(`  parked, not compared: ${container} ${canonical([...key, id])} in ${projection}, ${code}: ${message}`);
  if (parked.length > PRINTED)
    lines.push(`  … and ${plural(parked.length - PRINTED, 'other')}: \`millrace dead-letters list\`.`);
  if (sampled && sampled.largeGroups > 0)
    lines.push(
      `  ${plural(sampled.largeGroups, 'group')} with many source documents: compared only what the documents drawn contribute.`,
    );
  if (repaired) lines.push(...repairLines(repaired));
  for (const { name, version, why } of beyond) lines.push(`  ${projectionId({ name, version })}: ${why}`);
  return lines.join('\n');
}

function repairLines({ repaired, unrepaired, removed, reset, applied }: RepairResult): string[] {
  const of = repaired + unrepaired.length;
  return [
    `  Repaired ${repaired.toLocaleString('en-US')} of ${plural(of, 'difference')}: ${plural(removed, 'document')} removed, ${reset} reset, ${plural(applied, 'change')} applied again.`,
    ...unrepaired
      .slice(0, PRINTED)
      .map(({ container, document, why }) => `  not repaired: ${container} ${document}: ${why}`),
  ];
}
