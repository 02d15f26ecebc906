import { z } from 'zod';
import { audited } from '../audit/record.ts';
import { defineOperation } from '../operation.ts';
import { formatVerification } from './verify.ts';
import { verifyWith } from './verify.operation.ts';
import { operationsError } from '../errors.ts';
import { tenantInput } from '../tenants/asked.ts';

export const projectionsRepair = defineOperation({
  noun: 'projections',
  verb: 'repair',
  summary: 'Repair a projection under one partition key or for one tenant: recompute and correct what differs',
  examples: [
    `millrace projections repair store-days --key '["store-1"]'`,
    `millrace projections repair store-days --key '["store-1"]' --dry-run`,
    'millrace projections repair store-days --tenant store-1',
  ],
  shards: 'every',
  effect: 'changes',
  bulk: true,
  argument: 'name',
  input: z.object({
    name: z.string().describe('the projection'),
    key: z.string().optional().describe('partition key of its sink as JSON, such as \'["store-1"]\''),
    ...tenantInput,
  }),
  plan: async (asked, context) => {
    const { differences } = await verifyWith({ ...asked, key: keyOf(asked), repair: false }, context);
    return {
      steps: differences.map(({ kind, container, document }) => `correct ${container} ${document} (${kind})`),
      ru: 0,
    };
  },
  run: async (asked, context) =>
    audited(context, 'projections repair', asked, () =>
      verifyWith({ ...asked, key: keyOf(asked), repair: true }, context),
    ),
  format: formatVerification,
  ok: ({ different, moved }) => different === 0 && moved === undefined,
});

function keyOf({ key: text, tenant }: { readonly key?: string | undefined; readonly tenant?: string | undefined }) {
  if (text === undefined && tenant !== undefined) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(text ?? '');
  } catch {
    parsed = undefined;
  }
  if (Array.isArray(parsed)) return parsed;
  const what = text === undefined ? 'The command needs --key or --tenant' : `--key ${text} is not a partition key`;
  throw operationsError('input-invalid', what, {
    hint: 'Write it as a JSON array with a value for each level: --key \'["store-1"]\'.',
  });
}
