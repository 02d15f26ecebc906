import type { Settings } from '../../base/settings.ts';
import { canonical } from '../../base/json.ts';
import { absent } from '../../cosmos/failure.ts';
import { type ProjectionSpec, isOutside, projectionId } from '../../pipeline/specs.ts';
import { Views, type ViewsByName } from '../../engine/views/views.ts';
import type { Screen } from '../screen.ts';
import { plural, textTable, styled } from '../table.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { chooseDeclared, chooseProjection } from '../projections/choose.ts';
import { type AskedPart, assertKey, sayNone } from './asked-part.ts';
import { type Candidate, type Difference, innermost } from './difference.ts';
import type { Comparison, LookOptions } from './look.ts';
import { drawSample } from './sample/draw-sample.ts';
import { type Settled, settled } from './until-stable.ts';
import { type RepairedProjections, placeText, repair } from '../repair/repair.ts';
import { comparedHere } from '../projections/over-shards.ts';
import { type MovedKeys, sayMoved } from './moved-meanwhile.ts';
import { type NotCompared, notComparedOf, sayNotCompared } from './not-compared.ts';
import { type Beyond, beyondOf, notByShard, notInPart, notVerifiable } from './verify-beyond.ts';
import { type Discarded, sayDiscarded } from './discarded.ts';
import { type Orphans, sayOrphans } from './orphans.ts';
import type { ParkedDocument } from './parked.ts';
import { othersOf } from './verify-others.ts';

/** A difference that a repair could not correct. */
export interface Unrepaired {
  readonly container: string;
  readonly document: string;
  readonly why: string;
}

/** The result of a repair, checked by another comparison. */
export interface RepairResult extends RepairedProjections {
  /** The number of differences that no longer exist. */
  readonly repaired: number;
  /** The first thousand of the remaining differences. */
  readonly unrepaired: readonly Unrepaired[];
}

export interface Verification extends Omit<Comparison, 'differences' | 'largeGroups'>, Discarded {
  /** The number of all differences; `differences` has the first thousand. */
  readonly different: number;
  readonly differences: readonly Difference[];
  /** The number of differences that changed at each comparison, because live hosts wrote them. */
  readonly moving: number;
  /** Hosts are behind: `moving` documents may wait for changes that no host has applied yet. */
  readonly behind?: true;
  /** The number of differences that were not judged: hosts have deferred changes of their tenants. Absent: none. */
  readonly deferred?: number;
  /** Absent: all were compared. */
  readonly notCompared?: NotCompared;
  /** The result of `--repair`; null without it. `different` counts what is left after it. */
  readonly repaired: RepairResult | null;
  /** Projections that can't be compared, or can't be repaired. */
  readonly beyond: readonly Beyond[];
  /** Absent: all documents were compared. */
  readonly sampled?: Sampled;
  /** Keys that left this shard meanwhile: perhaps no shard had their documents when it was compared. Absent: none. */
  readonly moved?: readonly MovedKeys[];
  /** Absent: none refuses any, or it wasn't asked. */
  readonly untried?: readonly Untried[];
  /** The key or the tenant that was asked for, if no sink document has it, expected or stored. Absent: one has it. */
  readonly none?: string;
  /** The other copy, where one is compared. */
  readonly against?: AgainstResult;
  /** References of tables with rows whose other document is missing; such rows are no differences. Absent: none. */
  readonly orphans?: readonly Orphans[];
}

/** How a copy that a team keeps by hand differs from what is derived. */
export interface AgainstResult {
  /** `Container`, or `Container/type`. */
  readonly of: string;
  /** Derived, and not there. */
  readonly missing: number;
  readonly different: number;
  /** There, and derived from nothing. */
  readonly unexpected: number;
  /** Absent: nothing differs. */
  readonly oldest?: Pick<Difference, 'document' | 'kind' | 'since'>;
  /** Source documents that a function refuses, the first thousand: no host has parked and named them yet. Absent: none. */
  readonly refused?: readonly RefusedDocument[];
  /** What `--map` and `--ignore` name and no document has. Absent: nothing. */
  readonly unknown?: readonly string[];
  /** Fields in which pairs differ because their documents alone have them. Absent: none. */
  readonly extra?: readonly string[];
  /** Of `different`: those that differ in `extra` alone. */
  readonly extraAlone?: number;
  /** Other fields in which every document differs that both have. Absent: none, or only one is in both. */
  readonly common?: readonly string[];
  /** With other names of fields, or without some. */
  readonly fitted?: true;
}

/** A version that is declared and not current, and how many source documents it refuses. */
export interface Untried {
  readonly projection: string;
  readonly refused: number;
  readonly first: RefusedDocument;
}

export type RefusedDocument = Pick<ParkedDocument, 'container' | 'key' | 'id' | 'message'>;

/** What was compared of all documents. */
export interface Sampled {
  /** `--sample` as it was given. */
  readonly asked: string;
  /** Groups with so many source documents that only the contributions of those that were drawn were compared. */
  readonly largeGroups: number;
}

export interface VerifyOptions extends AskedPart {
  readonly signal: AbortSignal;
  readonly screen: Pick<Screen, 'progress'>;
  /** One projection, as name (its current version) or name@version; absent: all current ones. */
  readonly only?: string | undefined;
  /**
   * How old a read may be, milliseconds (ASM-A3); archived documents are read twice, this long apart. Default 5,000.
   */
  readonly readLagMs?: number | undefined;
  /** How long to wait for hosts that are behind, milliseconds. Default two minutes. */
  readonly patienceMs?: number | undefined;
  /** With settings, live hosts may run. Without, no process may write sources and sinks meanwhile. */
  readonly settings?: Settings | undefined;
  /** Corrects differences; needs the settings. */
  readonly repair?: boolean | undefined;
  /** Compares documents drawn by chance: so many of each type, as `1000` or `1%`. Absent: all documents. */
  readonly sample?: string | undefined;
  /** Returns a number in [0, 1), for the sample. Default: `Math.random`. */
  readonly random?: () => number;
}

export const NOTHING: Verification = {
  projections: [],
  documents: { sources: 0, expected: 0, found: 0 },
  different: 0,
  differences: [],
  moving: 0,
  parked: [],
  repaired: null,
  beyond: [],
};
const SHOWN = 1_000;
const PRINTED = 20;
/** Of parked documents, which one cause can make thousands of. */
const PARKED_PRINTED = 5;
const NO_OBSTACLE =
  'its changes were applied again, but it still differs: the projection’s state documents may be wrong';
/** How often differences are repaired and compared again. */
const ROUNDS = 5;

interface Selection extends Required<Pick<LookOptions, 'chosen' | 'kept' | 'others'>> {
  readonly loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>;
  readonly beyond: readonly Beyond[];
}

/** What is compared in this place. Undefined: another place compares it. @throws UsageError `unsupported`, `not-found`, `input-invalid` */
export async function selectionOf(
  given: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  services: Services,
  { only, key, sample, ofTenant }: Pick<VerifyOptions, 'only' | 'key' | 'sample' | 'ofTenant'>,
): Promise<Selection | undefined> {
  const loaded = { ...given, pipeline: comparedHere(given.pipeline) };
  const { pipeline } = loaded;
  // A copy kept by hand is compared before there is a container for state.
  const views = await new Views(services.global.state, pipeline.name).read().catch(absent);
  const kept = currentOf(pipeline.projections, views);
  const meant = ({ name, version }: { readonly name: string; readonly version: number }): boolean =>
    only === undefined || name === only || projectionId({ name, version }) === only;
  const { part } = pipeline;
  // A sink outside has the rows of all shards, and a comparison in one of them knows only its own documents.
  const together = part?.place === 'shard' ? pipeline.effects.filter(({ kind }) => kind === 'send') : [];
  const other = othersOf(pipeline).filter((spec) => meant(spec) && !together.some((send) => send === spec));
  const whole = sample === undefined && ofTenant === undefined;
  const apart = whole
    ? []
    : other.filter(isOutside).flatMap((spec) => notInPart(spec, ofTenant !== undefined, loaded) ?? []);
  const beyond = [
    ...beyondOf(pipeline).filter((spec) => meant(spec) && !together.some(({ name }) => name === spec.name)),
    ...apart,
    ...together.filter(meant).map(notByShard),
  ];
  if (part && only !== undefined && ![...pipeline.projections, ...other, ...beyond].some(meant)) {
    chooseDeclared(part.whole, only);
    return undefined;
  }
  const others = other.filter(
    ({ name, version }) => !apart.some((one) => one.name === name && one.version === version),
  );
  const [alone] = only === undefined || others.length > 0 ? [] : beyond;
  if (alone) throw notVerifiable(alone);
  if (only === undefined) return { loaded, chosen: kept, kept, others, beyond };
  const one =
    other.length > 0 ? undefined : (kept.find(({ name }) => name === only) ?? chooseProjection(pipeline, only));
  assertKey({ key }, one ? [one] : other, loaded.model);
  if (!one) return { loaded, chosen: [], kept, others, beyond };
  return { loaded, chosen: [one], kept: kept.includes(one) ? kept : [...kept, one], others, beyond };
}

/**
 * Reads every source document, archived ones included, and every sink document, recomputes every projection with code that
 * shares nothing with the running one, and compares document by document. Cosmos DB has no snapshot reads. So differences
 * are compared again after the live hosts have passed the end of the feeds, and only unchanged differences count.
 */
export async function verify(
  given: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  services: Services,
  options: VerifyOptions,
): Promise<Verification> {
  const selected = await selectionOf(given, services, options);
  if (!selected) return NOTHING;
  const { loaded, chosen, kept: all, others: compared, beyond } = selected;
  const looked = { chosen, kept: all, others: compared };
  const drawn = await drawSample(loaded, services, [...all, ...compared], options);
  const first = await settled(loaded, services, { ...looked, drawn }, options);
  if (!options.repair || first.differences.length === 0 || !options.settings)
    return {
      ...summary(first, null, beyond, options.sample),
      ...(isNone(first, options, loaded) && { none: sayNone(options) }),
    };
  let left = first;
  const done = { removed: 0, reset: 0, applied: 0, charge: 0 };
  let obstacles: ReadonlyMap<string, string> = new Map();
  for (let round = 0; round < ROUNDS && left.differences.length > 0; round++) {
    const before = new Set(left.differences.map(placeText));
    const { obstacles: met, ...more } = await repair(
      { ...options, settings: options.settings, services, loaded, chosen: all, others: compared },
      left.differences,
    );
    obstacles = met;
    for (const name of ['removed', 'reset', 'applied', 'charge'] as const) done[name] += more[name];
    left = await settled(loaded, services, looked, options);
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

/** Whether no document has what was asked for. Over shards, another place may have its documents. */
const isNone = (
  { documents, differences, moving, deferred, parked }: Settled,
  { key, ofTenant, sample }: VerifyOptions,
  { pipeline }: Selection['loaded'],
): boolean =>
  (key !== undefined || ofTenant !== undefined) &&
  sample === undefined &&
  !pipeline.part &&
  documents.expected + documents.found + differences.length + moving + deferred + parked.length === 0;

export const summary = (
  { projections, documents, differences, moving, behind, deferred, parked, largeGroups }: Settled,
  repaired: RepairResult | null,
  beyond: readonly Beyond[],
  sample?: string,
): Verification => ({
  projections,
  documents,
  different: differences.length,
  differences: differences.slice(0, SHOWN).map(shown),
  moving,
  ...(behind && { behind }),
  ...(deferred > 0 && { deferred }),
  parked: parked.slice(0, SHOWN),
  ...notComparedOf({ parked, projections }),
  repaired,
  beyond,
  ...(sample !== undefined && { sampled: { asked: sample, largeGroups } }),
});

/** Nothing differs, and nothing is left that a person or a host must still do before it can be compared. */
export const isVerified = ({ different, behind, deferred, moved, parked, against, untried }: Verification): boolean =>
  different === 0 &&
  !behind &&
  deferred === undefined &&
  moved === undefined &&
  parked.length === 0 &&
  !untried &&
  !against?.refused;

function shown(candidate: Candidate): Difference {
  const { evidence: _, derived: __, tenant: ___, ...difference } = candidate;
  return difference;
}

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

interface Listing {
  /** Of differences. */
  readonly most: number;
  /** What shows the others. */
  readonly shows: string;
}

export function formatVerification(
  {
    projections,
    documents,
    different,
    differences,
    moving,
    behind,
    deferred = 0,
    parked,
    notCompared,
    repaired,
    beyond,
    sampled,
    moved = [],
    against,
    untried = [],
    orphans,
    discarded,
    none,
  }: Verification,
  { most, shows }: Listing = { most: PRINTED, shows: `--json shows up to ${SHOWN.toLocaleString('en-US')}` },
): string {
  const lines = [
    textTable(
      ['projection', 'documents', 'refused'],
      projections.map(({ id, expected, refused }) => [id, expected, refused]),
    ),
    '',
    `${sampled ? `A sample of ${sampled.asked} of each type: recomputed` : 'Recomputed'} from ${plural(documents.sources, 'source document')} and compared with ${plural(documents.found, against ? 'document' : 'sink document')}${against ? ` of ${against.of}` : ''}: ${
      none !== undefined
        ? `no sink document has ${none}, expected or stored: check it.`
        : different === 0
          ? styled('green', 'no difference.')
          : styled('red', plural(different, 'difference'))
    }`,
  ];
  if (against?.oldest) {
    const { missing, different: stale, unexpected, oldest } = against;
    lines.push(
      `  ${missing} missing there, ${stale} different, ${unexpected} that nothing derives.`,
      ...(unexpected > 0 && unexpected === documents.found && missing === documents.expected
        ? ['  No key is in both: name the fields of the key with --map.']
        : []),
      `  The oldest: ${oldest.kind} ${oldest.document}, since ${oldest.since}.`,
    );
  }
  const { unknown, extra = [], extraAlone = 0, common = [] } = against ?? {};
  const fieldsOf = ({ fields }: Difference): string[] => fields.filter((field) => !extra.includes(field));
  const listed = differences.filter((of) => of.fields.length === 0 || fieldsOf(of).length > 0).slice(0, most);
  if (unknown) lines.push(`  No document has ${unknown.join(' or ')}: correct --map or --ignore.`);
  if (extra.length > 0) {
    const [who, how] = extraAlone > 0 ? [extraAlone.toLocaleString('en-US'), 'alone'] : ['Some', 'too'];
    lines.push(
      `  ${who} of them differ in ${extra.join(', ')} ${how}, which only ${against?.of} has: \`--ignore ${extra.join(',')}\` leaves it out.`,
    );
  }
  if (common.length > 0)
    lines.push(`  All that both have differ in ${common.join(', ')}: correct --map or pipeline.ts, or ignore it too.`);
  for (const of of listed) {
    const { kind, container, document, expected, found, why, since } = of;
    const fields = fieldsOf(of);
    const where = fields.length === 0 ? '' : ` in ${fields.join(', ')}`;
    lines.push(`  ${kind}: ${container} ${document}${where}${since === undefined ? '' : `, since ${since}`}`);
    const inner = fields.flatMap((field) => innermost(expected?.[field], found?.[field], field));
    for (const [path, wanted, stored] of inner.slice(0, PRINTED))
      lines.push(`    ${path}: expected ${canonical(wanted)}, found ${canonical(stored)}`);
    if (why !== undefined) lines.push(`    ${why}`);
    if (inner.length > PRINTED) lines.push(`    … and ${plural(inner.length - PRINTED, 'other value')}`);
  }
  if (moving > 0 && behind)
    lines.push(
      `  ${plural(moving, 'document')} can’t be judged: hosts are behind, or are paused. See \`millrace status\`, and verify again when the lag is small.`,
    );
  else if (moving > 0)
    lines.push(`  ${plural(moving, 'document')} changed at every comparison: verify again when writers write less.`);
  if (deferred > 0)
    lines.push(
      `  ${plural(deferred, 'document')} can’t be judged: changes of their tenants are deferred. Verify again when their queues are empty: \`millrace status\`.`,
    );
  const others = different - listed.length - extraAlone;
  if (others > 0) lines.push(`  … and ${plural(others, 'other')}; ${shows}.`);
  lines.push(...sayDiscarded({ discarded }));
  if (notCompared) lines.push(`  ${sayNotCompared(notCompared)}.`);
  for (const { container, key, id, message } of against?.refused?.slice(0, PRINTED) ?? [])
    lines.push(`  refused: ${container} ${canonical([...key, id])}: ${message}`);
  for (const { projection, container, key, id, code, message } of parked.slice(0, PARKED_PRINTED))
    lines.push(`  parked, not compared: ${container} ${canonical([...key, id])} in ${projection}, ${code}: ${message}`);
  if (parked.length > PARKED_PRINTED)
    lines.push(`  … and ${plural(parked.length - PARKED_PRINTED, 'other')}: \`millrace dead-letters list\`.`);
  for (const { projection, refused, first } of untried)
    lines.push(
      `  ${projection} is not built yet, and a rebuild would park ${plural(refused, 'document')}, such as ${first.container} ${canonical([...first.key, first.id])}: ${first.message}`,
    );
  if (sampled && sampled.largeGroups > 0)
    lines.push(
      `  ${plural(sampled.largeGroups, 'group')} with many source documents: compared only what the documents drawn contribute.`,
    );
  lines.push(...sayMoved(moved, (to) => `\`millrace projections verify --shard ${to}\``));
  lines.push(...sayOrphans(orphans));
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
