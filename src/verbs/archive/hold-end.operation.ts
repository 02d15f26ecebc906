import { z } from 'zod';
import { sharedError } from '../../base/shared-errors.ts';
import { type Hold, Holds, countHeld, releaseBlobs, removeReleased } from '../../archive/holds.ts';
import type { HoldingStore } from '../../access/blob-store.ts';
import { type ErasureRecord, ErasureRecords } from '../../engine/erasures/record.ts';
import { openStore } from '../../runtime/archives.ts';
import { audited } from '../../procedures/journal/runs.ts';
import type { Context } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../../procedures/table.ts';
import { askedTenant } from '../../procedures/tenants/tenant-flag.ts';

const input = z.object({ tenant: z.string().min(1).describe('the tenant, as `archive hold list` names it') });

export const archiveHoldEnd = defineOperation({
  shards: 'itself',
  name: 'archive hold end',
  summary: 'End the legal hold of a tenant, and remove the blobs that an erasure had to leave',
  examples: [
    'millrace archive hold end --tenant store-1 --dry-run',
    'millrace archive hold end --tenant store-1 --yes',
  ],
  help: 'If the tenant was erased under the hold, its blobs are removed for good. Run it again after it was stopped.',
  effect: 'destroys',
  input,
  plan: async ({ tenant: named }, context) => {
    const { hold, erasure, store } = await opened(named, context);
    return {
      steps: [
        `take the legal hold from ${plural(await countHeld(store, hold.tenant), 'blob')}`,
        ...(erasure ? [`remove what erasure ${erasure.id} had to leave`] : []),
      ],
      ru: 0,
    };
  },
  run: async ({ tenant: named }, context) => {
    const { hold, erasure, holds, store } = await opened(named, context);
    const { signal } = context;
    const given = erasure ? { erasure: erasure.id, digest: erasure.digest } : { tenant: hold.tenant };
    return audited(context, 'archive hold end', given, async () => {
      const released = await releaseBlobs(store, hold.tenant, signal);
      const { removed, held } = erasure ? await removeReleased(store, hold.tenant, signal) : { removed: 0, held: 0 };
      // Last: a run that died before finds the record again.
      await holds.remove(hold.tenant);
      return { released, removed, held, erasure: erasure?.id ?? null };
    });
  },
  format: ({ released, removed, held, erasure }) =>
    [
      `Took the legal hold from ${plural(released, 'blob')}.`,
      ...(erasure === null ? [] : [`Removed ${plural(removed, 'blob')} that erasure ${erasure} had left.`]),
      ...(held > 0
        ? [`A policy still keeps ${plural(held, 'blob')}: run \`millrace tenants erase\` when it ends.`]
        : []),
    ].join('\n'),
  ok: ({ held }) => held === 0,
});

interface Opened {
  readonly hold: Hold;
  /** The erasure that has left blobs. Absent: none, or the tenant was admitted again. */
  readonly erasure: ErasureRecord | undefined;
  readonly holds: Holds;
  readonly store: HoldingStore;
}

/** @throws UsageError `not-found`, `tenant-undeclared`, `input-invalid` */
async function opened(named: string, { workspace, signal, screen }: Context): Promise<Opened> {
  const [loaded, services] = [await workspace.pipeline(), await workspace.services()];
  const { tenant } = askedTenant(loaded, named);
  const holds = new Holds(services.global.state);
  const hold = await holds.of(tenant);
  if (!hold)
    throw sharedError('not-found', `Tenant ${tenant} is under no legal hold`, {
      hint: 'Run `millrace archive hold list` to see the tenants that are.',
    });
  const records = await new ErasureRecords(services.global.state, loaded.pipeline.name).read();
  const erasure = records.find(({ id }) => id === hold.erasure);
  return { hold, erasure, holds, store: await openStore(services, signal, (text) => screen.line(text)) };
}
