// `--tenant T` of every verb that reads or changes documents.
import { z } from 'zod';
import { MillraceError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { type TenantRule, isOfTenants, tenantOf, tenantRule, tenantValue } from '../../pipeline/tenant.ts';
import { containerOf } from '../../model/model.ts';
import { watchErasures } from '../../runtime/open-engine.ts';
import type { LoadedPipeline } from '../../runtime/workspace.ts';
import { operationsError } from '../errors.ts';

export const tenantInput = { tenant: z.string().optional().describe('only the documents of this tenant') };

type Loaded = Pick<LoadedPipeline, 'pipeline' | 'model'>;

/** A tenant that a person named. */
export interface AskedTenant {
  /** As `Change.tenant` has it. */
  readonly tenant: string;
  /** As documents store it. */
  readonly value: string | number;
  readonly rule: TenantRule;
  /** Whether a stored document is the tenant's. Documents of containers that belong to no tenant are not. */
  readonly owns: (container: string, document: object) => boolean;
}

/** How the pipeline's documents state their tenant. `what`: the beginning of the message. @throws UsageError `tenant-undeclared` */
export function declaredTenant({ pipeline, model }: Loaded, what = 'The pipeline'): TenantRule {
  const rule = tenantRule(pipeline, model);
  if (rule) return rule;
  throw operationsError('tenant-undeclared', `${what} ${pipeline.name} has no tenant`);
}

/**
 * `given`: how the person named it, for messages.
 * @throws UsageError `tenant-undeclared`, `input-invalid`
 */
export function askedTenant({ pipeline, model }: Loaded, tenant: string, given = '--tenant'): AskedTenant {
  const rule = declaredTenant({ pipeline, model }, `${given} ${tenant}: the pipeline`);
  const value = valueOf(rule, tenant, given);
  return {
    tenant: tenantOf(rule, { [rule.field]: value }),
    value,
    rule,
    owns: (name, document) => {
      const container = containerOf(model, name);
      return (
        container !== undefined &&
        isOfTenants(container, rule.field) &&
        (document as Record<string, unknown>)[rule.field] === value
      );
    },
  };
}

/** Whether the input of a verb that ran, or of a job, names the tenant. */
export const isGiven = ({ value, rule }: AskedTenant, input: unknown): boolean => {
  const tenant = isObject(input) ? input['tenant'] : undefined;
  return typeof tenant === 'string' && (rule.kind === 'number' ? Number(tenant) : tenant) === value;
};

/** @throws UsageError `tenant-erased` */
export async function assertNotErased(
  { tenant, rule }: AskedTenant,
  parts: Parameters<typeof watchErasures>[0],
): Promise<void> {
  const record = (await watchErasures(parts)?.current())?.(tenant);
  if (record)
    throw operationsError('tenant-erased', `The tenant with ${rule.field} ${tenant} is ${SAID[record.state]}`);
}

const SAID = { stopping: 'being erased', removing: 'being erased', erased: 'erased' } as const;

function valueOf(rule: TenantRule, tenant: string, given: string): string | number {
  try {
    return tenantValue(rule, tenant);
  } catch (error) {
    if (error instanceof MillraceError) throw operationsError('input-invalid', `${given}: ${error.message}`);
    throw error;
  }
}
