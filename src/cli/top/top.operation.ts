import { z } from 'zod';
import { systemClock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { placeInput } from '../../operations/at-places.ts';
import { expiration } from '../../operations/leases/inputs.ts';
import { type Operation, defineOperation } from '../../operations/operation.ts';
import { cliError } from '../errors.ts';
import { type Look, Rates, frameOf } from './frame.ts';
import { Fullscreen, type Key, type Terminal } from './fullscreen.ts';
import { statusReader } from './places.ts';

/** The terminal of the process; undefined: it has none. */
const ofProcess = (): Terminal | undefined =>
  process.stdin.isTTY && process.stdout.isTTY ? { input: process.stdin, output: process.stdout } : undefined;

/** Only the command line has it: it needs a terminal. */
export const top = (terminalOf = ofProcess): Operation =>
  defineOperation({
    verb: 'top',
    summary: 'Show the pipeline live in the terminal: rates, lag, ranges of the hosts and errors, until q or Ctrl-C',
    examples: ['millrace top', 'millrace top --env production', 'millrace top --every 5s', 'millrace top --shard east'],
    help: `It shows what \`millrace status\` reads: rates and ranges as hosts report them, each second in \`dev\` and each half
minute in \`run\`. In another terminal than that of \`millrace dev\`, export the lines that it prints first. Without a
terminal, \`millrace status --watch\` prints the same for a log, or with --json for a program. On a pipeline over shards it shows all
places together, as the map had them when it began, or the one that --shard names.`,
    shards: 'itself',
    effect: 'reads',
    input: z.object({
      leaseExpiration: expiration,
      every: z
        .string()
        .regex(/^[1-9]\d{0,4}s?$/, 'must be a number of seconds, such as 2s')
        .default('2s')
        .describe('the time between two looks'),
      ...placeInput,
    }),
    run: async ({ leaseExpiration, every, shard }, context) => {
      const terminal = terminalOf();
      if (!terminal) throw cliError('terminal-missing', '`millrace top` needs a terminal');
      const { clock = systemClock } = context;
      const { pipeline } = await context.workspace.pipeline();
      const read = await statusReader(context, leaseExpiration, shard);
      const rates = new Rates();
      const lookAgain = async (before?: Look): Promise<Look> => {
        const at = new Date(clock.now()).toTimeString().slice(0, 8);
        try {
          const looked = await read();
          return { ...looked, at, ...rates.note(looked.status, clock.monotonic()) };
        } catch (error) {
          // What can't be read at first can't be read later: the account, or a setting.
          if (!before) throw error;
          return { ...before, failed: messageOf(error) };
        }
      };
      let look = await lookAgain();
      const quit = new AbortController();
      const signal = AbortSignal.any([context.signal, quit.signal]);
      let scroll = 0;
      const draw = (): void => {
        const frame = frameOf(look, screen.size, { pipeline: pipeline.name, every, scroll });
        ({ scroll } = frame);
        screen.draw(frame.lines);
      };
      const pressed = (key: Key): void => {
        if (key === 'quit') return quit.abort();
        const page = Math.max(1, screen.size.rows - 4);
        scroll += { up: -1, down: 1, 'page-up': -page, 'page-down': page }[key];
        return draw();
      };
      using screen = new Fullscreen(terminal, { key: pressed, resize: () => draw() });
      while (!signal.aborted) {
        draw();
        await clock.sleep(1_000 * Number.parseInt(every, 10), signal).catch(() => undefined);
        if (!signal.aborted) look = await lookAgain(look);
      }
      return look.status;
    },
    format: () => '',
  });
