import { canonical } from '../../base/json.ts';
import { type TenantRule, tenantRule } from '../../pipeline/tenant.ts';
import { watchErasures } from '../../runtime/open-engine.ts';
import type { Settings } from '../../base/settings.ts';
import { sourcesOf } from '../../pipeline/pipeline.ts';
import { type ProjectionSpec, projectionId } from '../../pipeline/specs.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { type CompareOptions, type Comparison, compare } from './compare.ts';
import { type Drawn, type SampleComparison, compareSample } from './compare-sample.ts';
import type { Candidate } from './difference.ts';
import { type Model, keyPathsOf } from '../../model/model.ts';
import type { AskedTenant } from '../tenants/tenant-flag.ts';
import { untilPassed } from '../projections/lag.ts';
import { unjudged } from './unjudged.ts';
import type { OtherSpec } from './verify-others.ts';

export interface Settled extends Comparison {
  /** The number of differences that changed at each comparison, because live hosts wrote them. */
  readonly moving: number;
  /** Hosts had not passed the changes that `moving` documents may wait for. */
  readonly behind?: true;
  /** The number of differences that may come from changes which hosts have set aside. They are not judged. */
  readonly setAside: number;
  readonly largeGroups?: number;
}

export interface Looked extends Required<Pick<CompareOptions, 'chosen' | 'kept' | 'others'>> {
  /** The documents to compare. Absent: all. */
  readonly drawn?: Drawn | undefined;
}

export interface SettleOptions extends Pick<CompareOptions, 'signal' | 'screen'> {
  readonly readLagMs?: number | undefined;
  /** With settings, live hosts may run. */
  readonly settings?: Settings | undefined;
  /** How long to wait for hosts that are behind, milliseconds. Default two minutes. */
  readonly patienceMs?: number | undefined;
  /** Only sink documents under this partition key. */
  readonly key?: readonly unknown[] | undefined;
  /** Only sink documents of this tenant. */
  readonly ofTenant?: AskedTenant | undefined;
}

/** How often changing differences are compared again. */
const ROUNDS = 5;

/**
 * The lasting differences: they did not change between two comparisons, and the hosts had passed the first one's sources.
 * Those of a tenant that is erased don't count.
 */
export async function settled(
  loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  services: Services,
  { chosen, kept, others, drawn }: Looked,
  { signal, screen, readLagMs, settings, key, ofTenant, patienceMs }: SettleOptions,
): Promise<Settled> {
  const erasures = watchErasures({ services, loaded });
  const rule = tenantRule(loaded.pipeline, loaded.model);
  const look = async (
    of: readonly ProjectionSpec[],
    beside: readonly OtherSpec[],
    some: Drawn | undefined,
  ): Promise<Comparison | SampleComparison> => {
    const asked = { signal, screen, readLagMs, settings, chosen: of, kept, others: beside };
    const found = await (some
      ? compareSample(loaded, services, { ...asked, drawn: some })
      : compare(loaded, services, { ...asked, ofTenant }));
    const within = key && `${canonical(key).slice(0, -1)},`;
    const erased = await erasures?.current();
    const differences = found.differences.filter(
      (one) =>
        // Its source documents wait for their removal, and its derived ones go too.
        !(rule && erased?.(tenantIn(rule, one, loaded.model))) &&
        (within === undefined || one.document.startsWith(within)) &&
        (!ofTenant || isOf(ofTenant, one, loaded.model)),
    );
    const parked = found.parked.filter(
      (one) => !ofTenant || (isAt(ofTenant, one.container, one.key, loaded.model) ?? true),
    );
    return { ...found, differences, parked };
  };
  const first = await look(chosen, others, drawn);
  if (!settings || first.differences.length === 0) return { ...first, moving: 0, setAside: 0 };
  const known = (of: Candidate): string => `${of.container} ${of.document} ${of.kind} ${of.evidence}`;
  // A host may have written most of what the first look missed, so the last look at everything is told.
  let latest = first;
  const certain: Candidate[] = [];
  let open: readonly Candidate[] = first.differences;
  let setAside = 0;
  for (let round = 0; round < ROUNDS && open.length > 0; round++) {
    const differs = (spec: ProjectionSpec | OtherSpec): boolean =>
      open.some(({ projections }) => projections.includes(projectionId(spec)));
    const concerned = chosen.filter(differs);
    const beside = others.filter(differs);
    const containers = [...new Set([...concerned, ...beside].flatMap(sourcesOf).map(({ container }) => container))];
    const passed = await untilPassed({
      loaded,
      services,
      settings,
      containers,
      readLagMs: readLagMs ?? 5_000,
      signal,
      screen,
      patienceMs,
    });
    const isOnItsWay = unjudged(loaded, [...concerned, ...beside], passed.setAside);
    const judgedOf = (all: readonly Candidate[]): Candidate[] => {
      const judged = all.filter((of) => !isOnItsWay(of));
      setAside = all.length - judged.length;
      return judged;
    };
    // No host runs, so the differences will not change.
    if (passed.hosts === 'none')
      return { ...latest, differences: [...certain, ...judgedOf(open)], moving: 0, setAside };
    if (passed.hosts === 'behind')
      return { ...latest, differences: certain, moving: judgedOf(open).length, setAside, behind: true };
    const seen = new Set(open.map(known));
    const reported = new Set(certain.map(known));
    const found = await look(concerned, beside, drawn && { ...drawn, read: undefined });
    if (concerned.length === chosen.length && beside.length === others.length) latest = found;
    const again = judgedOf(found.differences.filter((of) => !reported.has(known(of))));
    certain.push(...again.filter((of) => seen.has(known(of))));
    open = again.filter((of) => !seen.has(known(of)));
  }
  return { ...latest, differences: certain, moving: open.length, setAside };
}

/** Whether a difference is about a document of the tenant: by the level of its key, or by the field. */
function isOf(asked: AskedTenant, { container, document, expected, found, tenant }: Candidate, model: Model): boolean {
  if (tenant !== undefined) return tenant === asked.tenant;
  const at = isAt(asked, container, JSON.parse(document) as unknown[], model);
  return at ?? [expected, found].some((doc) => doc !== undefined && asked.owns(container, doc));
}

/** Whether a key is the tenant's; undefined: the tenant is no level of it. */
function isAt({ value, rule }: AskedTenant, container: string, key: readonly unknown[], model: Model) {
  const level = keyPathsOf(model, container).indexOf(`/${rule.field}`);
  return level === -1 ? undefined : key[level] === value;
}

/** The tenant of the document of a difference, as text; undefined if neither its key nor a field names one. */
function tenantIn({ field, kind }: TenantRule, one: Candidate, model: Model): string | undefined {
  if (one.tenant !== undefined) return one.tenant;
  const level = keyPathsOf(model, one.container).indexOf(`/${field}`);
  const value = level === -1 ? (one.expected ?? one.found)?.[field] : (JSON.parse(one.document) as unknown[])[level];
  return typeof value === kind ? String(value) : undefined;
}
