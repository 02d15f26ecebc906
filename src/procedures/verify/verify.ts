import type { Settings } from '../../base/settings.ts';
import { canonical } from '../../base/json.ts';
import { type ProjectionSpec, isOutside, projectionId } from '../../pipeline/specs.ts';
import { Views, type ViewsByName } from '../../engine/views/views.ts';
import type { Screen } from '../screen.ts';
import { plural, textTable } from '../table.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { chooseDeclared, chooseProjection } from '../projections/choose.ts';
import { type Candidate, type Difference, innermost } from './difference.ts';
import type { Comparison } from './compare.ts';
import { drawSample } from './draw-sample.ts';
import { type Settled, settled } from './until-stable.ts';
import { type RepairedProjections, placeText, repair } from '../repair/repair.ts';
import type { AskedTenant } from '../tenants/tenant-flag.ts';
import { comparedHere } from '../projections/over-shards.ts';
import { type MovedKeys, sayMoved } from './moved-meanwhile.ts';
import { type Beyond, beyondOf, notByShard, notInPart, notVerifiable } from './verify-beyond.ts';
import { type Orphans, sayOrphans } from './orphans.ts';
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

export interface Verification extends Omit<Comparison, 'differences'> {
  /** The number of all differences; `differences` has the first thousand. */
  readonly different: number;
  readonly differences: readonly Difference[];
  /** The number of differences that changed at each comparison, because live hosts wrote them. */
  readonly moving: number;
  /** Hosts are behind: `moving` documents may wait for changes that no host has applied yet. */
  readonly behind?: true;
  /** The number of differences that were not judged: hosts have set changes of their tenants aside. Absent: none. */
  readonly setAside?: number;
  /** The result of `--repair`; null without it. `different` counts what is left after it. */
  readonly repaired: RepairResult | null;
  /** Projections that can't be compared, or can't be repaired. */
  readonly beyond: readonly Beyond[];
  /** Absent: all documents were compared. */
  readonly sampled?: Sampled;
  /** Keys that left this shard meanwhile: perhaps no shard had their documents when it was compared. Absent: none. */
  readonly moved?: readonly MovedKeys[];
  /** References of tables with rows whose other document is missing; such rows are no differences. Absent: none. */
  readonly orphans?: readonly Orphans[];
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
  /** Only sink documents of this tenant. */
  readonly ofTenant?: AskedTenant | undefined;
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

const NOTHING: Verification = {
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
const NO_OBSTACLE =
  'its changes were applied again, but it still differs: the projection’s state documents may be wrong';
/** How often differences are repaired and compared again. */
const ROUNDS = 5;

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
  const loaded = { ...given, pipeline: comparedHere(given.pipeline) };
  const kept = currentOf(
    loaded.pipeline.projections,
    await new Views(services.global.state, loaded.pipeline.name).read(),
  );
  const { only } = options;
  const meant = ({ name, version }: { readonly name: string; readonly version: number }): boolean =>
    only === undefined || name === only || projectionId({ name, version }) === only;
  const { part } = loaded.pipeline;
  // A sink outside has the rows of all shards, and a comparison in one of them knows only its own documents.
  const together = part?.place === 'shard' ? loaded.pipeline.effects.filter(({ kind }) => kind === 'send') : [];
  const other = othersOf(loaded.pipeline).filter((spec) => meant(spec) && !together.some((send) => send === spec));
  const { sample, ofTenant } = options;
  const whole = sample === undefined && ofTenant === undefined;
  const apart = whole
    ? []
    : other.filter(isOutside).flatMap((spec) => notInPart(spec, ofTenant !== undefined, loaded) ?? []);
  const beyond = [
    ...beyondOf(loaded.pipeline).filter((spec) => meant(spec) && !together.some(({ name }) => name === spec.name)),
    ...apart,
    ...together.filter(meant).map(notByShard),
  ];
  if (part && only !== undefined && ![...loaded.pipeline.projections, ...other, ...beyond].some(meant)) {
    // Another place compares it.
    chooseDeclared(part.whole, only);
    return NOTHING;
  }
  const compared = other.filter(
    ({ name, version }) => !apart.some((one) => one.name === name && one.version === version),
  );
  const [alone] = only === undefined || compared.length > 0 ? [] : beyond;
  if (alone) throw notVerifiable(alone);
  const one =
    only === undefined || other.length > 0
      ? undefined
      : (kept.find(({ name }) => name === only) ?? chooseProjection(loaded.pipeline, only));
  const chosen = one ? [one] : only === undefined ? kept : [];
  const all = one && !kept.includes(one) ? [...kept, one] : kept;
  const looked = { chosen, kept: all, others: compared };
  const drawn = await drawSample(loaded, services, [...all, ...compared], options);
  const first = await settled(loaded, services, { ...looked, drawn }, options);
  if (!options.repair || first.differences.length === 0 || !options.settings)
    return summary(first, null, beyond, options.sample);
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

const summary = (
  { projections, documents, differences, moving, behind, setAside, parked, largeGroups = 0 }: Settled,
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
  ...(setAside > 0 && { setAside }),
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
  behind,
  setAside = 0,
  parked,
  repaired,
  beyond,
  sampled,
  moved = [],
  orphans,
}: Verification): string {
  const lines = [
    textTable(
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
    const inner = fields.flatMap((field) => innermost(expected?.[field], found?.[field], field));
    for (const [path, wanted, stored] of inner.slice(0, PRINTED))
      lines.push(`    ${path}: expected ${canonical(wanted)}, found ${canonical(stored)}`);
    if (inner.length > PRINTED) lines.push(`    … and ${plural(inner.length - PRINTED, 'other value')}`);
  }
  if (moving > 0 && behind)
    lines.push(
      `  ${plural(moving, 'document')} can’t be judged: hosts are behind, or are paused. See \`millrace status\`, and verify again when the lag is small.`,
    );
  else if (moving > 0)
    lines.push(`  ${plural(moving, 'document')} changed at every comparison: verify again when writers write less.`);
  if (setAside > 0)
    lines.push(
      `  ${plural(setAside, 'document')} can’t be judged: changes of their tenants are set aside. Verify again when the backlog is empty: \`millrace status\`.`,
    );
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
