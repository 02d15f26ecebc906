import { z } from 'zod';
import { faultsOf, sayArchiveVerified } from '../archive/verified.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../table.ts';
import { type Due, verifyDue } from './verify-due.ts';

export const projectionsVerifyDue = defineOperation({
  noun: 'projections',
  verb: 'verify-due',
  summary: 'Do the verifications that VERIFY_SAMPLE and VERIFY_FULL say are due; hosts do it by themselves',
  examples: ['millrace projections verify-due --env production', 'millrace projections verify-due --within 240 --json'],
  shards: 'every',
  effect: 'changes',
  input: z.object({
    within: z.coerce
      .number()
      .int()
      .min(1)
      .optional()
      .describe('seconds after which it ends; the next call continues (default: no limit)'),
  }),
  run: ({ within }, context) => verifyDue(context, within === undefined ? undefined : 1_000 * within),
  format: (done) =>
    done.length === 0 ? 'No verification is due, or another host does it.' : done.map(sayDue).join('\n'),
  ok: (done) =>
    done.every((one) => (one.kind === 'archive' ? faultsOf(one.result) : (one.result?.different ?? 0)) === 0),
});

export function sayDue(due: Due): string {
  if (due.kind === 'archive') return sayArchiveVerified(due.result);
  const { kind, result } = due;
  const what = kind === 'sample' ? 'a sample' : 'all documents';
  if (!result) return `Verified a part of ${what}; the next look continues.`;
  const { different, differences, compared, examples = [], left = [] } = result;
  const where =
    different === 0 ? 'no difference' : `${plural(different, 'difference')} in ${Object.keys(differences).join(', ')}`;
  return [
    `Verified ${what}, ${plural(compared, 'sink document')}: ${where}.`,
    ...examples.map((each) => `  differs: ${each}`),
    ...left.map((each) => `  ${each}`),
  ].join('\n');
}
