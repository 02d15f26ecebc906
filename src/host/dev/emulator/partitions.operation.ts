import { z } from 'zod';
import { defineOperation } from '../../../operations/operation.ts';
import { command, serverInput } from './command.ts';

const container = z.string().describe('as database/container');

export const emulatorSplit = defineOperation({
  noun: 'emulator',
  verb: 'split',
  summary: 'Split a physical partition of a running embedded server',
  examples: ['millrace emulator split shop/orders', 'millrace emulator split shop/orders --range 0 --refuse 3'],
  effect: 'changes',
  argument: 'container',
  input: z.object({
    container,
    range: z.string().optional().describe('id of the partition key range; absent: the fullest'),
    refuse: z.int().min(0).default(0).describe('requests that are answered 410/1007 before it is done'),
    ...serverInput,
  }),
  run: async ({ container: of, range, refuse, ...server }, { signal }) =>
    (await command('split', server, { container: of, range, refuse }, signal))['ranges'] as string[],
  format: (ranges) =>
    ranges.length === 0 ? 'The split is under way.' : `The partition is now ${ranges.join(' and ')}.`,
});

export const emulatorMerge = defineOperation({
  noun: 'emulator',
  verb: 'merge',
  summary: 'Merge two neighbouring physical partitions of a running embedded server',
  examples: ['millrace emulator merge shop/orders', 'millrace emulator merge shop/orders --ranges 1,2'],
  effect: 'changes',
  argument: 'container',
  input: z.object({
    container,
    ranges: z
      .string()
      .regex(/^\d+,\d+$/, 'must be two ids, as 1,2')
      .optional()
      .describe('ids of two neighbours, as 1,2; absent: the first two'),
    ...serverInput,
  }),
  run: async ({ container: of, ranges, ...server }, { signal }) =>
    (await command('merge', server, { container: of, ranges: ranges?.split(',') }, signal))['ranges'] as string[],
  format: (ranges) => `The two are now ${ranges.join()}.`,
});
