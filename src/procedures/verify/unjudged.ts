import { sourcesOf } from '../../pipeline/pipeline.ts';
import { type ProjectionSpec, projectionId } from '../../pipeline/specs.ts';
import { tenantOf, tenantRule } from '../../pipeline/tenant.ts';
import { keyPathsOf } from '../../model/model.ts';
import type { LoadedPipeline } from '../../runtime/workspace.ts';
import type { Candidate } from './difference.ts';
import type { OtherSpec } from './verify-others.ts';

/** Tenants of which changes are set aside, by source container. Containers without any are left out. */
export type SetAsideBy = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * Which differences may come from a change that is set aside, and so is on its way: those of the tenant, and those of
 * which the sink names no tenant (TEN-F15).
 */
export function unjudged(
  { pipeline, model }: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  specs: readonly (ProjectionSpec | OtherSpec)[],
  setAside: SetAsideBy,
): (difference: Candidate) => boolean {
  const rule = tenantRule(pipeline, model);
  const tenantIn = ({ container, document, expected, found, tenant }: Candidate): string | undefined => {
    if (!rule || tenant !== undefined) return tenant;
    const level = keyPathsOf(model, container).indexOf(`/${rule.field}`);
    const stated = level === -1 ? (expected ?? found) : { [rule.field]: (JSON.parse(document) as unknown[])[level] };
    try {
      return stated && tenantOf(rule, stated);
    } catch {
      return undefined;
    }
  };
  return (difference) => {
    const tenant = tenantIn(difference);
    return specs.some((spec) => {
      if (!difference.projections.includes(projectionId(spec))) return false;
      const across = spec.kind === 'send' || ('acrossTenants' in spec && spec.acrossTenants);
      return sourcesOf(spec).some(({ container }) => {
        const tenants = setAside.get(container);
        return tenants !== undefined && (across || tenant === undefined || tenants.has(tenant));
      });
    });
  };
}
