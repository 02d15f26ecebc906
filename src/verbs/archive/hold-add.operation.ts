import { z } from 'zod';
import { type Hold, Holds, countHeld, holdBlobs } from '../../archive/holds.ts';
import { isShared } from '../../archive/blobs/layout.ts';
import { systemClock } from '../../base/clock.ts';
import { UsageError } from '../../base/errors.ts';
import { openStore } from '../../runtime/archives.ts';
import { READ_LAG_MS } from '../../runtime/open-engine.ts';
import { audited } from '../../procedures/journal/runs.ts';
import { operationsError } from '../../procedures/errors.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../../procedures/table.ts';
import { askedTenant } from '../../procedures/tenants/tenant-flag.ts';
import { assertByTenant } from '../../procedures/archive/of-tenant.ts';
import { declaredArchives } from '../../procedures/archive/open.ts';

/** The hold of a tenant, and how many blobs it keeps now. */
export interface AddedHold extends Hold {
  readonly blobs: number;
}

export const archiveHoldAdd = defineOperation({
  shards: 'itself',
  name: 'archive hold add',
  summary: 'Put a tenant’s archive under a legal hold: the storage account refuses to remove or overwrite its blobs',
  examples: [
    "millrace archive hold add --tenant store-1 --reason 'case 2026-17'",
    "millrace archive hold add --tenant store-1 --reason 'case 2026-17' --json",
  ],
  help: 'It covers blobs that sweeps write later, too. Run it again after it was stopped. The archive needs a tenant: it holds the tenant’s own folder.',
  effect: 'changes',
  input: z.object({
    tenant: z.string().min(1).describe('the tenant, as its documents name it'),
    reason: z.string().trim().min(1).describe('why; `archive hold list` shows it'),
  }),
  run: async ({ tenant: named, reason }, context): Promise<AddedHold> => {
    const { workspace, signal, screen, actor, clock = systemClock } = context;
    const [loaded, services] = [await workspace.pipeline(), await workspace.services()];
    const { tenant } = askedTenant(loaded, named);
    assertByTenant(
      declaredArchives(loaded).map((spec) => ({ spec })),
      tenant,
    );
    if (isShared({ tenant }))
      throw operationsError('input-invalid', `--tenant ${tenant} has the folder of archives without tenants`, {
        hint: 'Its blobs may be those of others, so no hold covers them alone. Keep the blobs by a policy of the storage account.',
      });
    const store = await openStore(services, signal, (text) => screen.line(text));
    const holds = new Holds(services.global.state);
    return audited(context, 'archive hold add', { tenant, reason }, async () => {
      const before = await holds.of(tenant);
      await holds.add({ tenant, reason, actor, at: new Date(clock.now()).toISOString() });
      const blobs = await holdBlobs(store, tenant, { settleMs: READ_LAG_MS, clock, signal }).catch(
        async (error: unknown) => {
          // A hold that nothing keeps would stop each sweep of the tenant.
          const refused = error instanceof UsageError && error.code === 'immutability-off';
          if (refused && !before && (await countHeld(store, tenant)) === 0) await holds.remove(tenant);
          throw error;
        },
      );
      const stored = await holds.of(tenant);
      return { tenant, reason: stored?.reason ?? reason, actor: stored?.actor ?? actor, at: stored?.at ?? '', blobs };
    });
  },
  format: ({ tenant, reason, at, blobs }) =>
    `Tenant ${tenant} is under a legal hold since ${at}: ${reason}. It keeps ${plural(blobs, 'blob')} and all that sweeps write later.${
      blobs === 0 ? ' The archive has nothing of this tenant now: check the name.' : ''
    }`,
});
