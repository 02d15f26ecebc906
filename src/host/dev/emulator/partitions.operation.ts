import { z } from 'zod';
import { optional, required } from '../../../verbs/flags.ts';
import { defineOperation } from '../../../verbs/operation.ts';
import { command, serverInput } from './command.ts';

const container = required('as database/container');

export const emulatorSplit = defineOperation({
  name: 'emulator split',
  summary: 'Split a physical partition of a running embedded server',
  examples: ['millrace emulator split shop/orders', 'millrace emulator split shop/orders --range 0 --refuse 3'],
  effect: 'changes',
  argument: 'container',
  input: z.object({
    container,
    range: optional('id of the partition key range (default: the fullest one)'),
    refuse: z.int().min(0).default(0).describe('how many requests are answered 410/1007 before the split is done'),
    ...serverInput,
  }),
  run: async ({ container: of, range, refuse, ...server }, { signal }) =>
    (await command('split', server, { container: of, range, refuse }, signal))['ranges'] as string[],
  format: (ranges) =>
    ranges.length === 0 ? 'The split has started.' : `The partition is now ${ranges.join(' and ')}.`,
});

export const emulatorMerge = defineOperation({
  name: 'emulator merge',
  summary: 'Merge two neighbouring physical partitions of a running embedded server',
  examples: ['millrace emulator merge shop/orders', 'millrace emulator merge shop/orders --ranges 1,2'],
  effect: 'changes',
  argument: 'container',
  input: z.object({
    container,
    ranges: z
      .string()
      .regex(/^\d+,\d+$/, 'must be two ids, such as 1,2')
      .optional()
      .describe('ids of two neighbours, such as 1,2 (default: the first two)'),
    ...serverInput,
  }),
  run: async ({ container: of, ranges, ...server }, { signal }) =>
    (await command('merge', server, { container: of, ranges: ranges?.split(',') }, signal))['ranges'] as string[],
  format: (ranges) => `The two partitions are now ${ranges.join()}.`,
});
