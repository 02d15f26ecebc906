// Checks that no projection combines tenants or writes for another tenant, unless it says that it does.
import { messageOf } from '../../base/errors.ts';
import { type Model, containerOf, examplesOf } from '../../model/model.ts';
import { about, error, ref, same } from '../declaration.ts';
import { typeRules } from '../discriminator.ts';
import { attempt } from '../fields/watched.ts';
import { recompute } from '../oracle/recompute.ts';
import { feedReaders, sourcesOf } from '../pipeline.ts';
import type { AggregateSpec, CopySpec, Doc, EmbedSpec, Finding, Pipeline, ReferenceSpec, SourceRef } from '../specs.ts';
import { type TenantRule, crossing, isOfTenants, tenantOf, tenantRule } from '../tenant.ts';

const INTENDED = 'If the projection is meant to combine tenants, declare `acrossTenants: true`.';

/** Findings of a pipeline that declares its tenant. The names of containers and types must exist. */
export function checkTenants(pipeline: Pipeline, model: Model): Finding[] {
  const rule = tenantRule(pipeline, model);
  if (!rule) return [];
  const tenanted = ({ container: name }: SourceRef): boolean => {
    const container = containerOf(model, name);
    return container !== undefined && isOfTenants(container, rule.field);
  };
  if (!model.containers.some((container) => isOfTenants(container, rule.field))) {
    const message = `The pipeline's tenant is ${rule.field}, which no container of ${model.file} has`;
    return [error('tenant-unknown-field', message, 'Name the field of the model that holds the tenant.')];
  }
  const check: Check = { pipeline, model, rule, tenanted };
  return [
    ...withoutTenant(check),
    ...pipeline.projections
      .filter(({ acrossTenants }) => !acrossTenants)
      .flatMap((spec) => {
        const findings = spec.kind === 'reference' ? reference(check, spec) : made(check, spec);
        return about(spec.name, spec.kind === 'copy' ? [...joins(check, spec), ...findings] : findings);
      }),
    ...pipeline.embeds
      .filter(({ acrossTenants }) => !acrossTenants)
      .flatMap((spec) => about(spec.name, embed(check, spec))),
  ];
}

interface Check {
  readonly pipeline: Pipeline;
  readonly model: Model;
  readonly rule: TenantRule;
  /** Whether the documents of a type belong to tenants. */
  readonly tenanted: (of: SourceRef) => boolean;
}

/** Every such document would be parked. */
function withoutTenant({ pipeline, model, rule, tenanted }: Check): Finding[] {
  const read = new Map(feedReaders(pipeline).flatMap((spec) => sourcesOf(spec).map((of) => [ref(of), of])));
  return [...read.values()].filter(tenanted).flatMap((of) => {
    for (const example of examplesOf(model, of)) {
      try {
        tenantOf(rule, asSeen(pipeline, of, example));
      } catch (cause) {
        const message = `The example ${String(example['id'])} of ${ref(of)} can't be given to a tenant: ${messageOf(cause)}`;
        const hint = `Give every ${of.type} the field ${rule.field}. If all tenants share ${of.container}, state \`reference: true\` for it.`;
        return [error('tenant-missing', message, hint)];
      }
    }
    return [];
  });
}

/** An example as the projections get it; as it is written if `upcast` throws, which another check reports. */
function asSeen({ sources }: Pipeline, of: SourceRef, example: Doc): Doc {
  const { upcast } = typeRules(sources, of);
  return (upcast && attempt(() => upcast(example))) ?? example;
}

/** A copy or an aggregate of an example belongs to the example's tenant. */
function made({ pipeline, model, rule, tenanted }: Check, spec: CopySpec | AggregateSpec): Finding[] {
  if (!tenanted(spec.from)) return [];
  for (const example of examplesOf(model, spec.from)) {
    const tenant = attempt(() => tenantOf(rule, asSeen(pipeline, spec.from, example)));
    if (tenant === undefined) continue;
    const documents = (of: SourceRef): readonly Doc[] => (same(of, spec.from) ? [example] : examplesOf(model, of));
    for (const row of recompute(spec, documents, pipeline.sources, { refused: () => undefined }).values()) {
      const crossed = crossing(rule, tenant, `Projection ${spec.name}`, row);
      if (crossed) return [error(crossed.code, `${crossed.message} (example ${String(example['id'])})`, INTENDED)];
    }
  }
  return [];
}

/** A copy may join documents of its own tenant, and of no tenant. */
const joins = ({ rule: { field }, tenanted }: Check, { name, from, joins: all }: CopySpec): Finding[] =>
  all
    .filter(({ of, on }) => tenanted(of) && !(tenanted(from) && on[field] === field))
    .map((join) => {
      const message = `Projection ${name} joins ${join.name} (${ref(join.of)}) without comparing ${field}, so a copy could hold data of another tenant`;
      return error('tenant-join', message, `Add ${field}: '${field}' to its on. ${INTENDED}`);
    });

/** A child gets fields of a parent of its own tenant, or of no tenant. */
function embed({ rule: { field }, tenanted }: Check, { name, from, into, on }: EmbedSpec): Finding[] {
  if (!tenanted(from) || (tenanted(into) && on[field] === field)) return [];
  const message = `Projection ${name} embeds fields of ${ref(from)} without comparing ${field}, so a document could hold data of another tenant`;
  return [error('tenant-join', message, `Add ${field}: '${field}' to its on. ${INTENDED}`)];
}

/** Reference data has no tenant; each of its copies has the tenant that it was made for. */
function reference({ rule: { field }, tenanted }: Check, { name, from, into, key }: ReferenceSpec): Finding[] {
  if (tenanted(from)) {
    const message = `Projection ${name} copies ${ref(from)} into every tenant, but each of these documents belongs to one tenant`;
    return [error('tenant-crossed', message, INTENDED)];
  }
  if (!tenanted(into) || Object.hasOwn(key, field)) return [];
  const message = `Projection ${name} doesn't take ${field} from the tenant, so its copies belong to no tenant`;
  return [error('tenant-crossed', message, `Add ${field} to its key.`)];
}
