import { z } from 'zod';
import { audited } from '../audit/record.ts';
import { defineOperation } from '../operation.ts';
import { formatVerification } from './verify.ts';
import { verifyWith } from './verify.operation.ts';
import { operationsError } from '../errors.ts';

export const projectionsRepair = defineOperation({
  noun: 'projections',
  verb: 'repair',
  summary: 'Repair a projection under one partition key: recompute its documents and correct those that differ',
  examples: [
    `millrace projections repair store-days --key '["store-1"]'`,
    `millrace projections repair store-days --key '["store-1"]' --dry-run`,
  ],
  effect: 'changes',
  bulk: true,
  argument: 'name',
  input: z.object({
    name: z.string().describe('the projection'),
    key: z.string().describe('partition key of its sink as JSON, such as \'["store-1"]\''),
  }),
  plan: async ({ name, key }, context) => {
    const { differences } = await verifyWith({ name, key: keyOf(key), repair: false }, context);
    return {
      steps: differences.map(({ kind, container, document }) => `correct ${container} ${document} (${kind})`),
      ru: 0,
    };
  },
  run: async ({ name, key }, context) =>
    audited(context, 'projections repair', { name, key }, () =>
      verifyWith({ name, key: keyOf(key), repair: true }, context),
    ),
  format: formatVerification,
  ok: ({ different }) => different === 0,
});

function keyOf(text: string): unknown[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    parsed = undefined;
  }
  if (Array.isArray(parsed)) return parsed;
  throw operationsError('input-invalid', `--key ${text} is not a partition key`, {
    hint: 'Write it as a JSON array with a value for each level: --key \'["store-1"]\'.',
  });
}
