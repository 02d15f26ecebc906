import { z } from 'zod';
import { flag, required } from '../../../verbs/flags.ts';
import { defineOperation } from '../../../verbs/operation.ts';
import { command, serverInput } from './command.ts';
import { operationsError } from '../../../procedures/errors.ts';

export const emulatorThrottle = defineOperation({
  name: 'emulator throttle',
  summary: 'Limit a container of a running embedded server to a number of RU/s',
  examples: ['millrace emulator throttle shop/orders --ru 100', 'millrace emulator throttle shop/orders --off'],
  effect: 'changes',
  argument: 'container',
  input: z.object({
    container: required('as database/container'),
    ru: z.number().min(1).optional().describe('RU/s, divided evenly among its physical partitions'),
    off: flag('return to the provisioned RU/s'),
    ...serverInput,
  }),
  run: async ({ container, ru, off, ...server }, { signal }) => {
    if (off === (ru !== undefined)) {
      throw operationsError('input-invalid', '--ru and --off are both given, or neither is.', {
        hint: 'Give --ru NUMBER or --off.',
      });
    }
    await command('throttle', server, { container, ruPerSecond: ru ?? null }, signal);
    return { container, ru: ru ?? null };
  },
  format: ({ container, ru }) => (ru === null ? `${container} has no extra limit.` : `${container} has ${ru} RU/s.`),
});

export const emulatorClock = defineOperation({
  name: 'emulator clock',
  summary: 'Move, stop or start the clock of a running embedded server, and show its time',
  examples: [
    'millrace emulator clock --advance 3600',
    'millrace emulator clock --stop',
    'millrace emulator clock --purge',
  ],
  effect: 'changes',
  input: z.object({
    advance: z.number().min(0).optional().describe('move the clock forward by this many seconds'),
    stop: flag('stop the clock: only --advance moves it'),
    start: flag('let the clock run again'),
    purge: flag('delete expired items now'),
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
  format: ({ now }) => `The server’s time is ${now}.`,
});
