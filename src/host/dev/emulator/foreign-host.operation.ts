import { z } from 'zod';
import { defineOperation } from '../../../operations/operation.ts';
import { plural } from '../../../operations/table.ts';
import { command, serverInput } from './command.ts';
import { operationsError } from '../../../operations/errors.ts';

const STEPS = ['acquire', 'work', 'fail', 'renew', 'stop', 'crash'];

export const emulatorForeignHost = defineOperation({
  noun: 'emulator',
  verb: 'foreign-host',
  summary:
    'Run the next steps of a simulated .NET change feed processor or Functions trigger on a running embedded server',
  examples: [
    'millrace emulator foreign-host shop/orders --leases shop/leases --start beginning --steps acquire,work',
    'millrace emulator foreign-host shop/orders --leases shop/leases --steps renew',
    'millrace emulator foreign-host shop/orders --leases shop/leases --name trigger --functions --steps acquire,fail,stop',
  ],
  effect: 'changes',
  argument: 'container',
  input: z.object({
    container: z.string().describe('container whose feed the host reads, as database/container'),
    leases: z.string().describe('container of its leases, as database/container; its partition key must be /id'),
    steps: z
      .string()
      .describe(
        'separated by commas: acquire leases; work: read a page of each range; fail: the same, with a handler that throws; renew; stop: release the leases; crash: keep them',
      ),
    name: z.string().default('foreign').describe('name of the host, which keeps its positions from call to call'),
    processor: z.string().optional().describe('name of its processor (default: no name, as with Functions)'),
    prefix: z.string().optional().describe('prefix of its lease ids (default: the one that .NET and Functions form)'),
    start: z.enum(['now', 'beginning']).optional().describe('where a lease without a position begins (default: now)'),
    functions: z.boolean().default(false).describe('move past a batch whose handler threw, like the Functions trigger'),
    expiration: z
      .number()
      .min(0)
      .optional()
      .describe('seconds after which it takes a lease that its owner does not renew (default: 60)'),
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
      owner === null ? 'The host has crashed; another host takes the next step.' : `The host is ${owner}.`,
      `The host read ${plural(read, 'document')}.`,
      ...Object.entries(held).map(([lease, position]) => `Lease ${lease}: ${position ?? 'no position yet'}.`),
    ].join('\n'),
});

function stepsOf(text: string): string[] {
  const steps = text.split(',').map((step) => step.trim());
  const wrong = steps.find((step) => !STEPS.includes(step));
  if (wrong === undefined) return steps;
  throw operationsError('input-invalid', `--steps: there is no step '${wrong}'.`, {
    hint: `Name one or more of ${STEPS.join(', ')}.`,
  });
}
