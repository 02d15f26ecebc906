import { z } from 'zod';
import { expiration } from './leases/inputs.ts';
import { defineOperation } from './operation.ts';
import { plural } from './table.ts';
import { examine } from './doctor.ts';

const SIGNS = { good: 'ok ', doubtful: '?  ', bad: 'BAD' } as const;

export const doctor = defineOperation({
  verb: 'doctor',
  summary:
    'Look at settings, account, rights, clock, containers, versions and leases, and say how to mend what is wrong',
  examples: ['millrace doctor', 'millrace doctor --env production --json'],
  effect: 'reads',
  input: z.object({ leaseExpiration: expiration }),
  run: ({ leaseExpiration }, context) => examine(context, leaseExpiration),
  format: (findings) => {
    // What is mended in one way is said once, below the last.
    const lines = findings.flatMap(({ check, verdict, what, mend }, at) => [
      `${SIGNS[verdict]}  ${check}: ${what}`,
      ...(mend === undefined || mend === findings[at + 1]?.mend ? [] : [`       ${mend}`]),
    ]);
    const wrong = findings.filter(({ verdict }) => verdict === 'bad').length;
    const open = findings.filter(({ verdict }) => verdict === 'doubtful').length;
    return [...lines, '', `${plural(wrong, 'thing')} wrong, ${open} to look at.`].join('\n');
  },
  ok: (findings) => findings.every(({ verdict }) => verdict !== 'bad'),
});
