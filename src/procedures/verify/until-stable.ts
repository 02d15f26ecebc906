import { tenantRule } from '../../pipeline/tenant.ts';
import { READ_LAG_MS, watchErasures } from '../../runtime/open-engine.ts';
import { sourcesOf } from '../../pipeline/pipeline.ts';
import { type ProjectionSpec, projectionId } from '../../pipeline/specs.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { type CompareOptions, compare } from './compare.ts';
import type { Candidate } from './difference.ts';
import type { Comparison } from './look.ts';
import type { Drawn } from './reading/named-reading.ts';
import { type AskedPart, countsOf, isAt, isOf, underOf } from './asked-part.ts';
import { type Passed, untilPassed } from '../projections/until-passed.ts';
import { tenantIn, unjudged } from './unjudged.ts';
import type { OtherSpec } from './verify-others.ts';

export interface Settled extends Comparison {
  /** The number of differences that changed at each comparison, because live hosts wrote them. */
  readonly moving: number;
  /** Hosts had not passed the changes that `moving` documents may wait for. */
  readonly behind?: true;
  /** The number of differences that may come from changes which hosts have deferred. They are not judged. */
  readonly deferred: number;
}

type Looked = Required<Pick<CompareOptions, 'chosen' | 'kept' | 'others'>>;

export interface SettleOptions extends Pick<CompareOptions, 'signal' | 'screen' | 'settings'>, AskedPart {
  /** How old a read may be, milliseconds. Default 5,000. */
  readonly readLagMs?: number | undefined;
  /** How long to wait for hosts that are behind, milliseconds. Default two minutes. */
  readonly patienceMs?: number | undefined;
}

/** How often changing differences are compared again. */
const ROUNDS = 5;

/** What compares, and what waits between two comparisons. */
interface Looks {
  /** `differing`: compares at least the projections with these names; undefined: all. `whole`: it compared all. */
  readonly look: (differing?: ReadonlySet<string>) => Promise<{ readonly found: Comparison; readonly whole: boolean }>;
  /** Until what a look has missed is written, and visible. */
  readonly wait: (differing: ReadonlySet<string>) => Promise<Pick<Passed, 'hosts'> & { isOnItsWay: Judge }>;
}
type Judge = (difference: Candidate) => boolean;

/** The lasting differences: two comparisons found them with the same evidence, with a wait between. */
export async function lasting({ look, wait }: Looks): Promise<Settled> {
  const { found: first } = await look();
  const known = (of: Candidate): string => `${of.container} ${of.document} ${of.kind} ${of.evidence}`;
  // A host may have written most of what the first look missed, so the last look at everything is what is reported.
  let latest = first;
  const certain: Candidate[] = [];
  let open: readonly Candidate[] = first.differences;
  let deferred = 0;
  for (let round = 0; round < ROUNDS && open.length > 0; round++) {
    const differing = new Set(open.flatMap(({ projections }) => projections));
    const { hosts, isOnItsWay } = await wait(differing);
    const judgedOf = (all: readonly Candidate[]): Candidate[] => {
      const judged = all.filter((of) => !isOnItsWay(of));
      deferred = all.length - judged.length;
      return judged;
    };
    // No host runs, so the differences will not change.
    if (hosts === 'none') return { ...latest, differences: [...certain, ...judgedOf(open)], moving: 0, deferred };
    if (hosts === 'behind')
      return { ...latest, differences: certain, moving: judgedOf(open).length, deferred, behind: true };
    const seen = new Set(open.map(known));
    const reported = new Set(certain.map(known));
    const { found, whole } = await look(differing);
    if (whole) latest = found;
    const again = judgedOf(found.differences.filter((of) => !reported.has(known(of))));
    certain.push(...again.filter((of) => seen.has(known(of))));
    open = again.filter((of) => !seen.has(known(of)));
  }
  return { ...latest, differences: certain, moving: open.length, deferred };
}

/**
 * The lasting differences of projections: the hosts had passed the first look's sources before the second. Those of a
 * tenant that is erased don't count.
 */
export async function settled(
  loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  services: Services,
  { chosen, kept, others, drawn }: Looked & { readonly drawn?: Drawn | undefined },
  options: SettleOptions,
): Promise<Settled> {
  const { signal, screen, readLagMs, settings, key, ofTenant } = options;
  const erasures = watchErasures({ services, loaded });
  const rule = tenantRule(loaded.pipeline, loaded.model);
  const counts = countsOf({ key, ofTenant }, loaded.model);
  const isUnder = underOf({ key });
  const differingOf = (differing?: ReadonlySet<string>) => {
    const differs = (spec: ProjectionSpec | OtherSpec): boolean => differing?.has(projectionId(spec)) ?? true;
    return { chosen: chosen.filter(differs), others: others.filter(differs) };
  };
  const look: Looks['look'] = async (differing) => {
    const asked = { signal, screen, readLagMs, settings, kept, ofTenant, counts, ...differingOf(differing) };
    const again = drawn && (differing ? { ...drawn, read: undefined } : drawn);
    const found = await compare(loaded, services, { ...asked, drawn: again });
    const erased = await erasures?.current();
    const differences = found.differences.filter(
      (one) =>
        // Its source documents wait for their removal, and its derived ones go too.
        !(rule && erased?.(tenantIn(rule, one, loaded.model))) &&
        isUnder(one.document) &&
        (!ofTenant || isOf(ofTenant, one, loaded.model)),
    );
    const parked = found.parked.filter(
      (one) => !ofTenant || (isAt(ofTenant, one.container, one.key, loaded.model) ?? true),
    );
    const whole = asked.chosen.length === chosen.length && asked.others.length === others.length;
    return { found: { ...found, differences, parked }, whole };
  };
  if (!settings) return { ...(await look()).found, moving: 0, deferred: 0 };
  const wait: Looks['wait'] = async (differing) => {
    const concerned = Object.values(differingOf(differing)).flat();
    const containers = [...new Set(concerned.flatMap(sourcesOf).map(({ container }) => container))];
    const passed = await untilPassed({
      ...options,
      settings,
      loaded,
      services,
      containers,
      readLagMs: readLagMs ?? READ_LAG_MS,
    });
    return { ...passed, isOnItsWay: unjudged(loaded, concerned, passed.deferred) };
  };
  return lasting({ look, wait });
}
