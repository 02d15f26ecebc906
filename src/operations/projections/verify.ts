import { z } from 'zod';
import type { Settings } from '../../base/settings.ts';
import { UsageError } from '../../base/errors.ts';
import { canonical } from '../../base/json.ts';
import { type ProjectionSpec, projectionId } from '../../definition/kinds.ts';
import { sourcesOf } from '../../definition/pipeline.ts';
import { Views, type ViewsByName } from '../../engine/views.ts';
import { audited } from '../audit/record.ts';
import { type Enqueued, backgroundInput, enqueue, isEnqueued, sayEnqueued } from '../jobs/background.ts';
import { type Context, defineOperation } from '../operation.ts';
import type { Screen } from '../screen.ts';
import { plural, table } from '../table.ts';
import type { LoadedPipeline, Services } from '../workspace.ts';
import { chooseProjection } from './choose.ts';
import { untilPassed } from './lag.ts';
import { type Candidate, type Difference, type Pass, type PassOptions, comparePass } from './pass.ts';
import { RU_A_READ, estimate } from './rebuild.ts';
import { type Repaired, repair } from './repair.ts';
import { type OtherSpec, othersOf } from './verify-others.ts';

export type { Difference } from './pass.ts';

export interface Verification extends Omit<Pass, 'differences'> {
  /** All of them counted, the first thousand shown. */
  readonly different: number;
  readonly differences: readonly Difference[];
  /** Differences that changed each time they were looked at: live hosts were at work on them. */
  readonly moving: number;
  /** What `--repair` did; null without it. `different` is what was left after it. */
  readonly repaired: Repaired | null;
}

export interface VerifyOptions {
  readonly signal: AbortSignal;
  readonly screen: Pick<Screen, 'progress'>;
  /** One projection by its name (its current version) or name@version; all current ones if absent. */
  readonly only?: string | undefined;
  /** Only sink documents under this partition key. */
  readonly key?: readonly unknown[] | undefined;
  /** How old a read may be, milliseconds (A3); what is archived is looked at twice, that long apart. Default 5,000. */
  readonly readLagMs?: number | undefined;
  /** With them, live hosts are taken into account: without, sources and sinks must be at rest. */
  readonly settings?: Settings | undefined;
  /** Puts right what differs; needs the settings. */
  readonly repair?: boolean | undefined;
}

const SHOWN = 1_000;
const PRINTED = 20;
/** How often what differs is looked at again while it changes. */
const ROUNDS = 5;

/**
 * Reads every source document, archived ones included, and every sink document, works every projection out anew by code
 * that shares nothing with the running one, and compares document by document. There are no reads as of a moment: what
 * differs is looked at again once the live hosts have passed what was in the feeds, and only what is then as it was
 * before counts.
 */
export async function verify(
  loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  services: Services,
  options: VerifyOptions,
): Promise<Verification> {
  const kept = currentOf(loaded.pipeline.projections, await new Views(services.state, loaded.pipeline.name).read());
  const { only } = options;
  const other = othersOf(loaded.pipeline).filter(
    (spec) => only === undefined || spec.name === only || projectionId(spec) === only,
  );
  const one =
    only === undefined || other.length > 0
      ? undefined
      : (kept.find(({ name }) => name === only) ?? chooseProjection(loaded.pipeline, only));
  const chosen = one ? [one] : only === undefined ? kept : [];
  const all = one && !kept.includes(one) ? [...kept, one] : kept;
  const first = await settled(loaded, services, { chosen, kept: all, others: other }, options);
  if (!options.repair || first.differences.length === 0 || !options.settings) return summary(first, null);
  let left = first;
  const repaired = { removed: 0, reset: 0, applied: 0, charge: 0 };
  for (let round = 0; round < ROUNDS && left.differences.length > 0; round++) {
    const done = await repair(
      { ...options, settings: options.settings, services, loaded, chosen: all },
      left.differences,
    );
    for (const name of ['removed', 'reset', 'applied', 'charge'] as const) repaired[name] += done[name];
    left = await settled(loaded, services, { chosen, kept: all, others: other }, options);
  }
  return summary(left, repaired);
}

interface Settled extends Pass {
  readonly moving: number;
}

/** What differs for good: nothing of it changed between two looks, and the hosts had passed the first one's sources. */
async function settled(
  loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  services: Services,
  { chosen, kept, others }: Required<Pick<PassOptions, 'chosen' | 'kept' | 'others'>>,
  { signal, screen, readLagMs, settings, key }: VerifyOptions,
): Promise<Settled> {
  const look = async (of: readonly ProjectionSpec[], beside: readonly OtherSpec[]): Promise<Pass> => {
    const pass = await comparePass(loaded, services, { signal, screen, readLagMs, chosen: of, kept, others: beside });
    if (key === undefined) return pass;
    const within = `${canonical(key).slice(0, -1)},`;
    return { ...pass, differences: pass.differences.filter(({ document }) => document.startsWith(within)) };
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
    // Nobody is at work: what differs now will differ later.
    if (!live) return { ...first, differences: [...certain, ...open], moving: 0 };
    const seen = new Set(open.map(known));
    const told = new Set(certain.map(known));
    const again = (await look(concerned, beside)).differences.filter((of) => !told.has(known(of)));
    certain.push(...again.filter((of) => seen.has(known(of))));
    open = again.filter((of) => !seen.has(known(of)));
  }
  return { ...first, differences: certain, moving: open.length };
}

const summary = (
  { projections, documents, differences, moving }: Settled,
  repaired: Repaired | null,
): Verification => ({
  projections,
  documents,
  different: differences.length,
  differences: differences.slice(0, SHOWN).map(shown),
  moving,
  repaired,
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

/** The versions that are kept up; the lowest of each name where no host has run yet. */
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
  repaired,
}: Verification): string {
  const lines = [
    table(
      ['projection', 'documents', 'refused'],
      projections.map(({ id, expected, refused }) => [id, expected, refused]),
    ),
    '',
    `Worked out anew from ${plural(documents.sources, 'source document')} and compared with ${plural(documents.found, 'sink document')}: ${
      different === 0 ? 'no difference.' : plural(different, 'difference')
    }`,
  ];
  for (const { kind, container, document, fields, expected, found } of differences.slice(0, PRINTED)) {
    lines.push(`  ${kind}: ${container} ${document}${fields.length === 0 ? '' : ` in ${fields.join(', ')}`}`);
    for (const field of fields)
      lines.push(`    ${field}: expected ${canonical(expected?.[field])}, found ${canonical(found?.[field])}`);
  }
  if (moving > 0)
    lines.push(
      `  ${plural(moving, 'document')} changed each time ${moving === 1 ? 'it was' : 'they were'} looked at: verify again when less is written.`,
    );
  if (repaired)
    lines.push(
      `  Repaired: ${plural(repaired.removed, 'document')} removed, ${repaired.reset} set back, ${plural(repaired.applied, 'change')} applied again.`,
    );
  if (different > PRINTED)
    lines.push(`  … and ${plural(different - PRINTED, 'other')}; --json shows up to ${SHOWN.toLocaleString('en-US')}.`);
  return lines.join('\n');
}

const verifyWith = async (
  { name: only, key, repair: mend }: { name?: string | undefined; key?: readonly unknown[]; repair: boolean },
  { workspace, signal, screen }: Context,
): Promise<Verification> =>
  verify(await workspace.pipeline(), await workspace.services(), {
    signal,
    screen,
    only,
    ...(key === undefined ? {} : { key }),
    settings: workspace.settings(),
    repair: mend,
  });

export const projectionsVerify = defineOperation({
  noun: 'projections',
  verb: 'verify',
  summary: 'Work projections out anew and compare them with what is stored, document by document',
  examples: [
    'millrace projections verify',
    'millrace projections verify route-totals --json',
    'millrace projections verify route-totals --repair',
  ],
  effect: 'changes',
  argument: 'name',
  input: z.object({
    name: z.string().optional().describe('one projection; all of them if absent. Live hosts may go on'),
    repair: z.boolean().default(false).describe('put right what differs'),
    ...backgroundInput,
  }),
  plan: async ({ name, repair: mend }, { workspace }) => {
    const loaded = await workspace.pipeline();
    const services = await workspace.services();
    const views = await new Views(services.state, loaded.pipeline.name).read();
    const kept = currentOf(loaded.pipeline.projections, views);
    const other = othersOf(loaded.pipeline).some((spec) => spec.name === name || projectionId(spec) === name);
    const one =
      name === undefined || other
        ? undefined
        : (kept.find((of) => of.name === name) ?? chooseProjection(loaded.pipeline, name));
    let documents = 0;
    for (const spec of one ? [one] : other ? [] : kept) documents += 2 * (await estimate(spec, services)).documents;
    return {
      steps: [
        `read about ${plural(documents, 'document')} of sources and sinks and compare them`,
        ...(mend ? ['set back or remove what differs, and apply the changes it is derived from again'] : []),
      ],
      ru: Math.ceil(documents * RU_A_READ),
    };
  },
  run: async (asked, context): Promise<Verification | Enqueued> => {
    if (asked.background) return enqueue('projections verify', asked, context);
    if (!asked.repair) return verifyWith(asked, context);
    return audited(context, 'projections verify --repair', asked, () => verifyWith(asked, context));
  },
  format: (result) => (isEnqueued(result) ? sayEnqueued(result) : formatVerification(result)),
  ok: (result) => isEnqueued(result) || result.different === 0,
});

export const projectionsRepair = defineOperation({
  noun: 'projections',
  verb: 'repair',
  summary: 'Work out anew what a projection has under one partition key, and put right what differs',
  examples: [
    `millrace projections repair store-days --key '["store-1"]'`,
    `millrace projections repair store-days --key '["store-1"]' --dry-run`,
  ],
  effect: 'changes',
  argument: 'name',
  input: z.object({
    name: z.string().describe('the projection'),
    key: z.string().describe('partition key of its sink, as JSON: [\'"store-1"\']'),
  }),
  plan: async ({ name, key }, context) => {
    const { differences } = await verifyWith({ name, key: keyOf(key), repair: false }, context);
    return {
      steps: differences.map(({ kind, container, document }) => `put right ${container} ${document} (${kind})`),
      ru: 0,
    };
  },
  run: async ({ name, key }, context) =>
    audited(context, 'projections repair', { name, key }, () =>
      verifyWith({ name, key: keyOf(key), repair: true }, context),
    ),
  format: formatVerification,
  ok: ({ different }) => different === 0,
});

function keyOf(text: string): unknown[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    parsed = undefined;
  }
  if (Array.isArray(parsed)) return parsed;
  throw new UsageError('input-invalid', `--key ${text} is no partition key`, {
    mend: 'Write it as a JSON array with a value for each level: --key \'["store-1"]\'.',
  });
}
