import { canonical } from '../../base/json.ts';
import { type TenantRule, tenantRule } from '../../definition/tenant.ts';
import { watchErasures } from '../../runtime/open-engine.ts';
import type { Settings } from '../../base/settings.ts';
import { sourcesOf } from '../../definition/pipeline.ts';
import { type ProjectionSpec, projectionId } from '../../definition/specs.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { type CompareOptions, type Comparison, compare } from './compare.ts';
import { type Drawn, type SampleComparison, compareSample } from './compare-sample.ts';
import type { Candidate } from './difference.ts';
import { type Model, keyPathsOf } from '../../model/model.ts';
import type { AskedTenant } from '../tenants/asked.ts';
import { untilPassed } from './lag.ts';
import type { OtherSpec } from './verify-others.ts';

export interface Settled extends Comparison {
  /** The number of differences that changed at each comparison, because live hosts wrote them. */
  readonly moving: number;
  /** Hosts had not passed the changes that `moving` documents may wait for. */
  readonly behind?: true;
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
    const asked = { signal, screen, readLagMs, chosen: of, kept, others: beside };
    const found = await (some
      ? compareSample(loaded, services, { ...asked, drawn: some })
      : compare(loaded, services, asked));
    const within = key && `${canonical(key).slice(0, -1)},`;
    const erased = await erasures?.current();
    const differences = found.differences.filter(
      (one) =>
        // Its source documents wait for their removal, and its derived ones go too.
        !(rule && erased?.(tenantIn(rule, one, loaded.model))) &&
        (within === undefined || one.document.startsWith(within)) &&
        (!ofTenant || isOf(ofTenant, one, loaded.model)),
    );
    return { ...found, differences };
  };
  const first = await look(chosen, others, drawn);
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
    const hosts = await untilPassed({
      loaded,
      services,
      settings,
      containers,
      readLagMs: readLagMs ?? 5_000,
      signal,
      screen,
      patienceMs,
    });
    // No host runs, so the differences will not change.
    if (hosts === 'none') return { ...first, differences: [...certain, ...open], moving: 0 };
    if (hosts === 'behind') return { ...first, differences: certain, moving: open.length, behind: true };
    const seen = new Set(open.map(known));
    const reported = new Set(certain.map(known));
    const again = (await look(concerned, beside, drawn && { ...drawn, read: undefined })).differences.filter(
      (of) => !reported.has(known(of)),
    );
    certain.push(...again.filter((of) => seen.has(known(of))));
    open = again.filter((of) => !seen.has(known(of)));
  }
  return { ...first, differences: certain, moving: open.length };
}

/** Whether a difference is about a document of the tenant: by the level of its key, or by the field. */
function isOf({ value, rule, owns }: AskedTenant, { container, document, expected, found }: Candidate, model: Model) {
  const level = keyPathsOf(model, container).indexOf(`/${rule.field}`);
  if (level !== -1) return (JSON.parse(document) as unknown[])[level] === value;
  return [expected, found].some((doc) => doc !== undefined && owns(container, doc));
}

/** The tenant of the document of a difference, as text; undefined if neither its key nor a field names one. */
function tenantIn({ field, kind }: TenantRule, one: Candidate, model: Model): string | undefined {
  const level = keyPathsOf(model, one.container).indexOf(`/${field}`);
  const value = level === -1 ? (one.expected ?? one.found)?.[field] : (JSON.parse(one.document) as unknown[])[level];
  return typeof value === kind ? String(value) : undefined;
}
