import { z } from 'zod';
import { UsageError } from '../../../base/errors.ts';
import { defineOperation } from '../../../operations/operation.ts';
import { plural } from '../../../operations/table.ts';
import { command, serverInput } from './command.ts';

const container = z.string().describe('as database/container');
const seconds = z.number().min(0);

export const emulatorStall = defineOperation({
  noun: 'emulator',
  verb: 'stall',
  summary: 'Stop the world of a running embedded server: nothing is answered for so long, and then everything',
  examples: ['millrace emulator stall --seconds 5'],
  effect: 'changes',
  input: z.object({ seconds: seconds.describe('how long'), ...serverInput }),
  run: async ({ seconds: long, ...server }, { signal }) => {
    await command('stall', server, { ms: long * 1000 }, signal);
    return { seconds: long };
  },
  format: ({ seconds: long }) => `Nothing is answered for ${long} s.`,
});

export const emulatorCrash = defineOperation({
  noun: 'emulator',
  verb: 'crash',
  summary: 'Crash a running embedded server and start it again: connections break, and what isn’t on disk yet is gone',
  examples: ['millrace emulator crash', 'millrace emulator crash --down 10'],
  effect: 'changes',
  input: z.object({
    down: seconds.default(0).describe('seconds until it is there again, on the same port'),
    ...serverInput,
  }),
  run: async ({ down, ...server }, { signal }) => {
    await command('crash', server, { downMs: down * 1000 }, signal);
    return { down };
  },
  format: ({ down }) => (down === 0 ? 'It crashed, and starts again.' : `It crashed, and starts again in ${down} s.`),
});

export const emulatorFailover = defineOperation({
  noun: 'emulator',
  verb: 'failover',
  summary: 'Fail a container of a running embedded server over to a region that lacks its last writes',
  examples: ['millrace emulator failover shop/orders --loss 5'],
  effect: 'changes',
  argument: 'container',
  input: z.object({
    container,
    loss: seconds.describe('seconds of writes that are lost; the server must have been started with as much --history'),
    ...serverInput,
  }),
  run: async ({ container: of, loss, ...server }, { signal }) => ({
    items: Number((await command('failover', server, { container: of, lossMs: loss * 1000 }, signal))['items']),
  }),
  format: ({ items }) => `${plural(items, 'item')} ${items === 1 ? 'is' : 'are'} as before, and the lsns come again.`,
});

export const emulatorRestore = defineOperation({
  noun: 'emulator',
  verb: 'restore',
  summary: 'Restore a container of a running embedded server, or all: another resource id, and lsns from the beginning',
  examples: ['millrace emulator restore shop/orders', 'millrace emulator restore --ago 60'],
  effect: 'changes',
  argument: 'container',
  input: z.object({
    container: container.optional().describe('as database/container, one that was dropped too; absent: all there are'),
    ago: seconds.default(0).describe('to what it was so many seconds ago, with as much --history at the start'),
    ...serverInput,
  }),
  run: async ({ container: of, ago, ...server }, { signal }) => ({
    items: Number((await command('restore', server, { container: of, agoMs: ago * 1000 }, signal))['items']),
  }),
  format: ({ items }) => `Restored with ${plural(items, 'item')}.`,
});

export const emulatorFaults = defineOperation({
  noun: 'emulator',
  verb: 'faults',
  summary: 'Set the faults of a running embedded server, or end them',
  examples: [
    'millrace emulator faults adverse',
    'millrace emulator faults \'{"latencyMs": 20, "rules": [{"operation": "replace", "nth": 3, "status": 449}]}\'',
    'millrace emulator faults none',
  ],
  effect: 'changes',
  argument: 'faults',
  input: z.object({
    faults: z.string().describe('`adverse`, `none`, or JSON as docs/emulator.md names them'),
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
    // Said below, as for any other text that isn't an object.
  }
  throw new UsageError('input-invalid', `'${text}' is no JSON object.`, {
    mend: 'Say `adverse`, `none`, or something like \'{"latencyMs": 20}\'.',
  });
}
