// States which tenant each derived document is from, and finds a document that combines two. It shares nothing with the
// check of each change while a pipeline runs: it recomputes the documents of one tenant after another, from that tenant's
// sources alone.
import { canonical } from '../../base/json.ts';
import { isOfType, typeRules } from '../../definition/discriminator.ts';
import { recompute } from '../../definition/oracle/recompute.ts';
import type { AggregateSpec, CopySpec, Doc, Pipeline, SourceRef } from '../../definition/specs.ts';
import { type TenantRule, tenantRule, tenantRuleOf } from '../../definition/tenant.ts';
import { attempt } from '../../definition/watched.ts';
import { type Model, keyPathsOf } from '../../model/model.ts';
import type { ByContainer } from './oracle.ts';

interface Loaded {
  readonly pipeline: Pipeline;
  readonly model: Model;
}

/** The first document that is from another tenant than it says, or from several, in words. `documents`: all that exist. */
export function crossingOf({ pipeline, model }: Loaded, documents: readonly ByContainer[]): string | undefined {
  const rule = tenantRule(pipeline, model);
  if (!rule) return undefined;
  const isTenanted = ({ container }: SourceRef): boolean => tenantRuleOf(pipeline, model, container) !== undefined;
  for (const spec of pipeline.projections) {
    if (spec.kind === 'reference' || spec.acrossTenants || !isTenanted(spec.from)) continue;
    const of = new Map(
      [spec.from, ...(spec.kind === 'copy' ? spec.joins.map((join) => join.of) : [])].map((source) => [
        source,
        typed(source, documents, pipeline),
      ]),
    );
    const found = ofProjection(spec, rule, of, isTenanted, { pipeline, model });
    if (found !== undefined) return `${spec.into.container}: ${found}`;
  }
  return undefined;
}

function ofProjection(
  spec: CopySpec | AggregateSpec,
  rule: TenantRule,
  documents: ReadonlyMap<SourceRef, readonly Doc[]>,
  isTenanted: (of: SourceRef) => boolean,
  { pipeline, model }: Loaded,
): string | undefined {
  const options = { keyPaths: keyPathsOf(model, spec.into.container), refused: () => undefined };
  const rowsOf = (of: (source: SourceRef) => readonly Doc[]) => recompute(spec, of, pipeline.sources, options);
  const all = rowsOf((source) => documents.get(source) ?? []);
  const tenants = new Map<string, unknown>();
  const tenant = (source: SourceRef, doc: Doc): unknown => asSeen(source, doc, pipeline)?.[rule.field];
  const ofTenants = Map.groupBy(documents.get(spec.from) ?? [], (doc) => tenant(spec.from, doc));
  for (const value of ofTenants.keys()) {
    const own = (source: SourceRef): readonly Doc[] =>
      (documents.get(source) ?? []).filter((doc) => !isTenanted(source) || tenant(source, doc) === value);
    for (const [place, row] of rowsOf(own)) {
      if (tenants.has(place))
        return `${place} combines the tenants ${canonical(tenants.get(place))} and ${canonical(value)}`;
      tenants.set(place, value);
      if (row[rule.field] !== value)
        return `${place} is from tenant ${canonical(value)} and has ${rule.field} ${canonical(row[rule.field] ?? null)}`;
      if (canonical(all.get(place) ?? null) !== canonical(row))
        return `${place} of tenant ${canonical(value)} holds data of another tenant`;
    }
  }
  return undefined;
}

const typed = (of: SourceRef, all: readonly ByContainer[], { sources }: Pipeline): Doc[] =>
  all.flatMap((one) => (one.get(of.container) ?? []).filter((doc) => isOfType(of.type, typeRules(sources, of), doc)));

/** A document as projections get it; undefined if they don't, because `upcast` throws. */
function asSeen(of: SourceRef, doc: Doc, { sources }: Pipeline): Doc | undefined {
  const { upcast } = typeRules(sources, of);
  return upcast ? attempt(() => upcast(doc)) : doc;
}
