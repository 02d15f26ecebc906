import { z } from 'zod';
import { required } from '../../../verbs/flags.ts';
import { defineOperation } from '../../../verbs/operation.ts';
import { plural } from '../../../procedures/table.ts';
import { command, serverInput } from './command.ts';
import { operationsError } from '../../../procedures/errors.ts';

const container = required('as database/container');
const seconds = z.number().min(0);

export const emulatorStall = defineOperation({
  name: 'emulator stall',
  summary: 'Stall a running embedded server: for some seconds it answers no request, then it answers them all',
  examples: ['millrace emulator stall --seconds 5'],
  effect: 'changes',
  input: z.object({ seconds: seconds.describe('seconds for which the server does not answer'), ...serverInput }),
  run: async ({ seconds: long, ...server }, { signal }) => {
    await command('stall', server, { ms: long * 1000 }, signal);
    return { seconds: long };
  },
  format: ({ seconds: long }) => `The server answers nothing for ${long} s.`,
});

export const emulatorFailover = defineOperation({
  name: 'emulator failover',
  summary: 'Fail a container of a running embedded server over to a region that does not have its last writes',
  examples: ['millrace emulator failover shop/orders --loss 5'],
  effect: 'changes',
  argument: 'container',
  input: z.object({
    container,
    loss: seconds.describe('seconds of writes that are lost; start the server with at least as much --history'),
    ...serverInput,
  }),
  run: async ({ container: of, loss, ...server }, { signal }) => ({
    items: Number((await command('failover', server, { container: of, lossMs: loss * 1000 }, signal))['items']),
  }),
  format: ({ items }) => `${plural(items, 'item')} lost the last writes; their lsns will be used again.`,
});

export const emulatorRestore = defineOperation({
  name: 'emulator restore',
  summary:
    'Restore one or all containers of a running embedded server, with new resource ids and lsns from the beginning',
  examples: ['millrace emulator restore shop/orders', 'millrace emulator restore --ago 60'],
  effect: 'changes',
  argument: 'container',
  input: z.object({
    container: container.optional().describe('as database/container, also a dropped one (default: all containers)'),
    ago: seconds.default(0).describe('restore the state of this many seconds ago; needs at least as much --history'),
    ...serverInput,
  }),
  run: async ({ container: of, ago, ...server }, { signal }) => ({
    items: Number((await command('restore', server, { container: of, agoMs: ago * 1000 }, signal))['items']),
  }),
  format: ({ items }) => `Restored with ${plural(items, 'item')}.`,
});

export const emulatorFaults = defineOperation({
  name: 'emulator faults',
  summary: 'Set or end the faults of a running embedded server',
  examples: [
    'millrace emulator faults adverse',
    'millrace emulator faults \'{"latencyMs": 20, "rules": [{"operation": "replace", "nth": 3, "status": 449}]}\'',
    'millrace emulator faults none',
  ],
  effect: 'changes',
  argument: 'faults',
  input: z.object({
    faults: required('`adverse`, `none`, or a JSON object as in docs/emulator.md'),
    ...serverInput,
  }),
  run: async ({ faults, ...server }, { signal }) => {
    const set = faults === 'adverse' ? { preset: faults } : faults === 'none' ? {} : parsed(faults);
    await command('faults', server, set, signal);
    return { faults: set };
  },
  format: ({ faults }) => (Object.keys(faults).length === 0 ? 'There are no faults.' : 'The faults are set.'),
});

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Reported below, like any other text that isn't an object.
  }
  throw operationsError('input-invalid', `'${text}' is not a JSON object.`, {
    hint: 'Give `adverse`, `none`, or an object such as \'{"latencyMs": 20}\'.',
  });
}
