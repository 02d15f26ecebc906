import { z } from 'zod';
import { UsageError } from '../../../base/errors.ts';
import { defineOperation } from '../../../operations/operation.ts';
import { plural } from '../../../operations/table.ts';
import { command, serverInput } from './command.ts';

const STEPS = ['acquire', 'work', 'fail', 'renew', 'stop', 'crash'];

export const emulatorForeignHost = defineOperation({
  noun: 'emulator',
  verb: 'foreign-host',
  summary:
    'Let a host of .NET’s change feed processor, or of the Functions trigger, take its next steps on a running embedded server',
  examples: [
    'millrace emulator foreign-host shop/orders --leases shop/leases --start beginning --steps acquire,work',
    'millrace emulator foreign-host shop/orders --leases shop/leases --steps renew',
    'millrace emulator foreign-host shop/orders --leases shop/leases --name trigger --functions --steps acquire,fail,stop',
  ],
  effect: 'changes',
  argument: 'container',
  input: z.object({
    container: z.string().describe('whose feed it reads, as database/container'),
    leases: z.string().describe('where its leases are, as database/container; that container’s key is /id'),
    steps: z
      .string()
      .describe(
        'by commas: acquire leases; work a page of each range; fail, the same with a handler that throws; renew; stop, offering its leases; crash, keeping them',
      ),
    name: z.string().default('foreign').describe('which host; it remembers its positions from call to call'),
    processor: z.string().optional().describe('name of its processor; absent: none, as for Functions'),
    prefix: z.string().optional().describe('what lease ids begin with; absent: as .NET and Functions form it'),
    start: z.enum(['now', 'beginning']).optional().describe('where a lease without a position begins; absent: now'),
    functions: z.boolean().default(false).describe('advances behind a batch that threw, as the Functions trigger does'),
    expiration: z.number().min(0).optional().describe('seconds after which it takes a lease that nobody renews'),
    ...serverInput,
  }),
  run: async ({ steps, functions, expiration, endpoint, key, ...host }, { signal }) => {
    const answer = await command(
      'foreign-host',
      { endpoint, key },
      {
        ...host,
        steps: stepsOf(steps),
        ...(functions ? { advanceFailed: true } : {}),
        ...(expiration === undefined ? {} : { expirationMs: expiration * 1000 }),
      },
      signal,
    );
    return answer as { owner: string | null; read: number; held: Record<string, string | null> };
  },
  format: ({ owner, read, held }) =>
    [
      owner === null ? 'It has crashed; its next step is another host’s.' : `It is ${owner}.`,
      `It read ${plural(read, 'document')}.`,
      ...Object.entries(held).map(([lease, position]) => `Lease ${lease}: ${position ?? 'no position yet'}.`),
    ].join('\n'),
});

function stepsOf(text: string): string[] {
  const steps = text.split(',').map((step) => step.trim());
  const wrong = steps.find((step) => !STEPS.includes(step));
  if (wrong === undefined) return steps;
  throw new UsageError('input-invalid', `--steps: there is no step '${wrong}'.`, {
    mend: `Name some of ${STEPS.join(', ')}.`,
  });
}
