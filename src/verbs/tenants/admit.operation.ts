import { z } from 'zod';
import { systemClock } from '../../base/clock.ts';
import { ErasureRecords, erasing } from '../../engine/erasures/record.ts';
import { audited } from '../../procedures/journal/runs.ts';
import { defineOperation } from '../operation.ts';
import { askedTenant } from '../../procedures/tenants/tenant-flag.ts';
import { whileNoOtherErases } from '../../procedures/erase/erase.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { operationsError } from '../../procedures/errors.ts';

export const tenantsAdmit = defineOperation({
  shards: 'itself',
  name: 'tenants admit',
  summary: 'Admit an erased tenant again, or one whose erasure has removed nothing yet',
  examples: ['millrace tenants admit store-1'],
  effect: 'changes',
  argument: 'tenant',
  input: z.object({ tenant: z.string().min(1).describe('the tenant, as its documents name it') }),
  run: async ({ tenant }, context) => {
    const { workspace, actor, signal, clock = systemClock } = context;
    const loaded = await workspace.pipeline();
    const asked = askedTenant(loaded, tenant, 'the tenant');
    const { state } = (await workspace.services()).global;
    const records = new ErasureRecords(state, loaded.pipeline.name);
    const of = { state, pipeline: loaded.pipeline.name, actor, clock, signal };
    return whileNoOtherErases(of, async () => {
      const record = erasing(await records.read(), asked.tenant);
      if (!record)
        throw sharedError('not-found', `The tenant ${tenant} has no record of an erasure`, {
          hint: 'Check the name of the tenant. A tenant without a record can be used.',
        });
      if (record.state === 'removing')
        throw operationsError('erasure-open', `The erasure of the tenant ${tenant} is ${record.state}`);
      const { id: erasure, digest } = record;
      await audited(context, 'tenants admit', { erasure, digest }, () => records.remove(erasure));
      return { tenant, erasure, droppedSince: record.at };
    });
  },
  format: ({ tenant, droppedSince }) =>
    [
      `Changes of ${tenant} are applied again, as soon as every host has read it: within some seconds.`,
      `Those since ${droppedSince} were dropped. Run \`millrace projections verify NAME --tenant ${tenant}\`, and repair what differs.`,
    ].join('\n'),
});
