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
    'Check leases for faults: wrong container, uncovered ranges, duplicates, stuck or orphaned leases, clocks, absent hosts',
  examples: ['millrace leases check', 'millrace leases check --absent-after 120 --json'],
  shards: 'every',
  effect: 'reads',
  input: z.object({
    absentAfter: z
      .int()
      .min(1)
      .default(300)
      .describe('report a container if no host has written its leases for this many seconds'),
    stuckAfter: z
      .int()
      .min(1)
      .default(300)
      .describe('report a renewed lease if its oldest change has waited for this many seconds'),
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
      ? `${plural(leases, 'lease')}: no findings.`
      : [
          ...findings.map(
            ({ severity, code, subject, message, hint }) =>
              `${severity}: ${subject === undefined ? '' : `${subject}: `}${message} [${code}]\n  ${hint}`,
          ),
          `${plural(leases, 'lease')}, ${plural(findings.length, 'finding')}.`,
        ].join('\n'),
});
