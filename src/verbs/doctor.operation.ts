import { z } from 'zod';
import { expiration } from './leases/inputs.ts';
import { defineOperation } from './operation.ts';
import { plural, styled } from '../procedures/table.ts';
import { examineAccount } from '../procedures/doctor/doctor.ts';

const SIGNS = { good: 'ok ', doubtful: '?  ', bad: 'BAD' } as const;
const COLOURS = { good: 'green', doubtful: 'yellow', bad: 'red' } as const;

export const doctor = defineOperation({
  name: 'doctor',
  summary:
    'Check settings, account, rights, clock, containers, tables, versions and leases, and show how to fix each problem',
  examples: ['millrace doctor', 'millrace doctor --env production --json'],
  shards: 'every',
  effect: 'reads',
  input: z.object({ leaseExpiration: expiration }),
  run: ({ leaseExpiration }, context) => examineAccount(context, leaseExpiration),
  format: (findings) => {
    // Several findings in a row with the same hint show it once, below the last.
    const lines = findings.flatMap(({ check, verdict, what, hint }, at) => [
      `${styled(COLOURS[verdict], SIGNS[verdict])}  ${check}: ${what}`,
      ...(hint === undefined || hint === findings[at + 1]?.hint ? [] : [`       ${hint}`]),
    ]);
    const wrong = findings.filter(({ verdict }) => verdict === 'bad').length;
    const open = findings.filter(({ verdict }) => verdict === 'doubtful').length;
    return [...lines, '', `${plural(wrong, 'problem')}, ${open} to look at.`].join('\n');
  },
  ok: (findings) => findings.every(({ verdict }) => verdict !== 'bad'),
});
