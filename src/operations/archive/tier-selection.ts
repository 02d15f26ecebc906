// Which blobs the verbs of access tiers work on.
import { z } from 'zod';
import type { TierSelection } from '../../archive/tiers.ts';
import { milliseconds } from '../../definition/declaration.ts';
import { type Context, partsOf } from '../operation.ts';
import { tenantInput } from '../tenants/asked.ts';
import { monthsInput } from './chosen.ts';
import { assertArchivedTenant } from './of-tenant.ts';
import { openTogether } from './open-together.ts';
import type { OpenedArchive } from './open.ts';

export const tierSelectionInput = {
  name: z.string().optional().describe('one archive (default: all)'),
  ...tenantInput,
  from: monthsInput.from.describe('only blobs of this month or year on, such as 2001-01'),
  to: monthsInput.to.describe('only blobs up to the end of this month or year'),
  older: z
    .string()
    .refine((text) => milliseconds(text) !== undefined, 'must be a span of time such as 90d')
    .optional()
    .describe('only blobs that were written so long ago, such as 90d'),
};
export type TierSelectionInput = z.output<z.ZodObject<typeof tierSelectionInput>>;

export const tierSelection = ({ tenant, from, to, older }: TierSelectionInput): TierSelection => ({
  tenant,
  from,
  to,
  olderMs: older === undefined ? undefined : milliseconds(older),
});

/** @throws UsageError `tenant-unknown`, and the errors of `openArchives` */
export async function openTiers(
  { name: only, tenant }: TierSelectionInput,
  context: Context,
): Promise<OpenedArchive[]> {
  const { signal, screen } = context;
  const opened = await openTogether(await partsOf(context), { only, signal, screen });
  const archives = opened.map(({ archive }) => archive);
  await assertArchivedTenant(archives, tenant);
  return archives;
}
