import { z } from 'zod';
import { UsageError } from '../../../base/errors.ts';
import { defineOperation } from '../../../operations/operation.ts';
import { command, serverInput } from './command.ts';

export const emulatorThrottle = defineOperation({
  noun: 'emulator',
  verb: 'throttle',
  summary: 'Hold a container of a running embedded server to so many RU/s',
  examples: ['millrace emulator throttle shop/orders --ru 100', 'millrace emulator throttle shop/orders --off'],
  effect: 'changes',
  argument: 'container',
  input: z.object({
    container: z.string().describe('as database/container'),
    ru: z.number().min(1).optional().describe('RU/s, shared evenly by its physical partitions'),
    off: z.boolean().default(false).describe('back to what was provisioned'),
    ...serverInput,
  }),
  run: async ({ container, ru, off, ...server }, { signal }) => {
    if (off === (ru !== undefined)) {
      throw new UsageError('input-invalid', 'Say either how many RU/s, or that it shall end.', {
        mend: 'Give --ru NUMBER or --off.',
      });
    }
    await command('throttle', server, { container, ruPerSecond: ru ?? null }, signal);
    return { container, ru: ru ?? null };
  },
  format: ({ container, ru }) => (ru === null ? `${container} is not held back.` : `${container} has ${ru} RU/s.`),
});

export const emulatorClock = defineOperation({
  noun: 'emulator',
  verb: 'clock',
  summary: 'Move, stop or start the clock of a running embedded server; tell its time',
  examples: [
    'millrace emulator clock --advance 3600',
    'millrace emulator clock --stop',
    'millrace emulator clock --purge',
  ],
  effect: 'changes',
  input: z.object({
    advance: z.number().min(0).optional().describe('seconds forward'),
    stop: z.boolean().default(false).describe('time moves by --advance only'),
    start: z.boolean().default(false).describe('time runs again'),
    purge: z.boolean().default(false).describe('purge what has expired'),
    ...serverInput,
  }),
  run: async ({ advance, stop, start, purge, ...server }, { signal }) => {
    const answer = await command(
      'clock',
      server,
      {
        ...(advance === undefined ? {} : { advanceMs: advance * 1000 }),
        ...(stop === start ? {} : { freeze: stop }),
        purge,
      },
      signal,
    );
    return { now: String(answer['now']) };
  },
  format: ({ now }) => `It is ${now}.`,
});
