import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { plural } from '../table.ts';
import { openLeases } from './groups.ts';
import { expiration } from './inputs.ts';
import { checkLeases } from './check.ts';

export const leasesCheck = defineOperation({
  noun: 'leases',
  verb: 'check',
  summary:
    'Look for what goes wrong with leases: the container, holes, duplicates, stuck and orphaned ones, clocks, absent hosts',
  examples: ['millrace leases check', 'millrace leases check --absent-after 120 --json'],
  effect: 'reads',
  input: z.object({
    absentAfter: z
      .int()
      .min(1)
      .default(300)
      .describe('seconds: no host has written any lease of a container for longer'),
    stuckAfter: z
      .int()
      .min(1)
      .default(300)
      .describe('seconds: a lease is renewed, and its oldest change waits for longer'),
    leaseExpiration: expiration,
  }),
  run: async ({ absentAfter, stuckAfter, leaseExpiration }, context) =>
    checkLeases(await openLeases(context), {
      absentMs: absentAfter * 1000,
      stuckMs: stuckAfter * 1000,
      expirationMs: leaseExpiration,
      signal: context.signal,
    }),
  ok: ({ findings }) => findings.every(({ severity }) => severity === 'warning'),
  format: ({ leases, findings }) =>
    findings.length === 0
      ? `${plural(leases, 'lease')}: nothing to complain of.`
      : [
          ...findings.map(
            ({ severity, code, subject, message, mend }) =>
              `${severity}: ${subject === undefined ? '' : `${subject}: `}${message} [${code}]\n  ${mend}`,
          ),
          `${plural(leases, 'lease')}, ${plural(findings.length, 'finding')}.`,
        ].join('\n'),
});
