// G14: the tenant of the pipeline against the tenant of the document.
import { type Rule, SOURCES, missing } from '../model/rules/rule.ts';
import type { Contract } from './declared.ts';
import { noPipeline } from './existence.ts';

export function tenant(contract: Contract): Rule[] {
  const { pipeline } = contract;
  return [
    {
      id: 'G14',
      title: 'Code and document name the same tenant',
      severity: 'error',
      source: SOURCES.tenancy,
      why: 'The pipeline’s `tenant` decides which tenant a change belongs to. Millrace then refuses a projection that combines tenants, unless it declares `acrossTenants: true`. Without `tenant` nothing is refused.',
      hint: 'Name the document’s field in `definePipeline({ tenant: … })`, or correct the document’s bullet "Tenancy".',
      *check(facts) {
        if (!pipeline) {
          yield noPipeline;
          return;
        }
        const stated = facts.tenant;
        if (!stated) {
          if (pipeline.tenant !== undefined) yield missing('the document’s tenant (a bullet "Tenancy")');
          return;
        }
        if (pipeline.tenant === stated.field) return;
        const at = contract.placeOf('tenant');
        if (pipeline.tenant === undefined)
          yield {
            severity: 'warning',
            message: `The document’s tenant is ${stated.field}, but the pipeline declares none`,
            at: stated.at,
            related: [at],
          };
        else
          yield {
            message: `The document’s tenant is ${stated.field}, but the pipeline’s is ${pipeline.tenant}`,
            at: stated.at,
            related: [at],
          };
      },
    },
  ];
}
