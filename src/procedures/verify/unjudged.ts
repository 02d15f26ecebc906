import { sourcesOf } from '../../pipeline/pipeline.ts';
import { type ProjectionSpec, projectionId } from '../../pipeline/specs.ts';
import { type TenantRule, tenantOf, tenantRule } from '../../pipeline/tenant.ts';
import { type Model, keyPathsOf } from '../../model/model.ts';
import type { LoadedPipeline } from '../../runtime/workspace.ts';
import type { Candidate } from './difference.ts';
import type { OtherSpec } from './verify-others.ts';

/** Tenants of which changes are deferred, by source container. Containers without any are left out. */
export type DeferredBy = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * Which differences may come from a change that is deferred, and so is on its way: those of the tenant, and those of
 * which the sink names no tenant (TEN-F15).
 */
export function unjudged(
  { pipeline, model }: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  specs: readonly (ProjectionSpec | OtherSpec)[],
  deferred: DeferredBy,
): (difference: Candidate) => boolean {
  const rule = tenantRule(pipeline, model);
  return (difference) => {
    const tenant = rule && tenantIn(rule, difference, model);
    return specs.some((spec) => {
      if (!difference.projections.includes(projectionId(spec))) return false;
      const across = spec.kind === 'send' || ('acrossTenants' in spec && spec.acrossTenants);
      return sourcesOf(spec).some(({ container }) => {
        const tenants = deferred.get(container);
        return tenants !== undefined && (across || tenant === undefined || tenants.has(tenant));
      });
    });
  };
}

/** The tenant of the document of a difference, as text; undefined if neither its key nor a field names one. */
export function tenantIn(rule: TenantRule, one: Candidate, model: Model): string | undefined {
  const { container, document, expected, found, tenant } = one;
  if (tenant !== undefined) return tenant;
  const level = keyPathsOf(model, container).indexOf(`/${rule.field}`);
  const stated = level === -1 ? (expected ?? found) : { [rule.field]: (JSON.parse(document) as unknown[])[level] };
  try {
    return stated && tenantOf(rule, stated);
  } catch {
    return undefined;
  }
}
