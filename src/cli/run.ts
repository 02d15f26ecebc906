import { once } from 'node:events';
import { userInfo } from 'node:os';
import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { CommanderError } from 'commander';
import type { Clock } from '../base/clock.ts';
import { MillraceError, UsageError } from '../base/errors.ts';
import { startTracing, traced } from '../base/telemetry/opentelemetry.ts';
import { withoutSecrets } from '../base/secrets.ts';
import { codeFrame } from '../runtime/pipeline/code-frame.ts';
import { openWorkspace } from '../runtime/open-workspace.ts';
import type { Transport } from '../runtime/services.ts';
import type { Interim } from '../procedures/context.ts';
import { effectOf, operationName } from '../verbs/operation.ts';
import type { Registry } from '../verbs/registry.ts';
import { type CommandInvocation, buildProgram, everyCommand, wordsOf } from './program.ts';
import { describeError } from './describe-error.ts';
import { helpText } from './help.ts';
import { TerminalScreen } from './terminal.ts';
import { forTerminal } from '../procedures/table.ts';
import { operationsError } from '../procedures/errors.ts';

export interface Io {
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly directory: string;
  /** Aborted by Ctrl-C and SIGTERM. Until this property is first read, these signals end the process. */
  readonly signal: AbortSignal;
  /** Measures the waits of a procedure; absent: the system's clock. */
  readonly clock?: Clock;
  /** That of an embedded server in this process. */
  readonly transport?: Transport;
}

/** Exit codes: 0 success, 1 findings or a failure, 2 wrong usage or input, 130 interrupted. */
export async function runCli(registry: Registry, version: string, given: readonly string[], io: Io): Promise<number> {
  // Commander's own `help` takes a noun alone.
  const argv = given[0] === 'help' ? [...given.slice(1), '--help'] : given;
  let code = 0;
  const invoke = async (invocation: CommandInvocation): Promise<void> => {
    code = await invokeSafely(invocation, io);
  };
  const program = buildProgram(registry, version, invoke, argv);
  program.helpInformation = () => helpText(io.directory);
  for (const command of everyCommand(program)) {
    command.exitOverride().configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
    });
    command.showHelpAfterError(`  Run \`${wordsOf(command)} --help\`.`);
  }
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return code;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 0; // help or version
    // Commander has already printed the message to standard error.
    if (argv.includes('--json')) printError(usageError(error), io);
    return 2;
  }
}

/** For programs, as every other error. */
const printError = (error: unknown, io: Pick<Io, 'stdout'>): void =>
  void io.stdout.write(`${JSON.stringify({ error: describeError(error) })}\n`);

const usageError = ({ message }: CommanderError): UsageError =>
  operationsError('input-invalid', message.replace(/^error: /, '').replaceAll('\n', ' '));

async function invokeSafely({ operation, input, flags }: CommandInvocation, io: Io): Promise<number> {
  if (!flags.color) process.env['NO_COLOR'] = '1';
  const workspace = openWorkspace(
    {
      directory: io.directory,
      ...(flags.pipeline === undefined ? {} : { pipeline: flags.pipeline }),
      ...(flags.env === undefined ? {} : { env: flags.env }),
    },
    io.transport,
  );
  const { stdout } = io;
  // What runs on has a dashboard, whose pages show the same texts.
  if (!flags.json && !operation.lasting && 'isTTY' in stdout && stdout.isTTY === true)
    forTerminal(process.stdout.columns || 80);
  const screen = new TerminalScreen(flags.json ? io.stderr : io.stdout);
  let shown: string | undefined;
  let streamed = false;
  const context = {
    workspace,
    actor: actor(),
    get signal() {
      return io.signal;
    },
    screen,
    ...(io.clock && { clock: io.clock }),
    show: ({ value, text, line }: Interim): void => {
      if (flags.json) io.stdout.write(`${JSON.stringify(value)}\n`);
      else if (screen.live) screen.draw(text.split('\n'));
      else if (line !== shown) screen.line(line);
      shown = line;
    },
    output: async (line: string): Promise<void> => {
      streamed = true;
      if (!io.stdout.write(`${line}\n`)) await once(io.stdout, 'drain', { signal: io.signal });
    },
  };
  const endTracing = traced() ? startTracing() : undefined;
  // Reading the signal stops Ctrl-C from ending the process. A verb that only reads may be ended at any time.
  const effect = effectOf(operation, input);
  if (effect !== 'reads') void io.signal;
  const print = (value: unknown, text: string): void => {
    io.stdout.write(flags.json ? `${JSON.stringify(value, undefined, 2)}\n` : text === '' ? '' : `${text}\n`);
  };
  try {
    if (flags.dryRun && operation.plan) {
      const plan = await operation.plan(input, context);
      const costs = [
        ...(plan.ru > 0 ? [`${plan.ru.toLocaleString('en-US')} RU`] : []),
        ...(!plan.seconds ? [] : [`${plan.seconds.toLocaleString('en-US')} s`]),
      ];
      const cost = costs.length > 0 ? `\nThis takes about ${costs.join(' and ')}.` : '';
      print(
        plan,
        plan.steps.length === 0
          ? 'Nothing to do.'
          : `Would do:\n${plan.steps.map((step) => `  ${step}`).join('\n')}${cost}`,
      );
      return 0;
    }
    if (effect === 'destroys' && !flags.yes) {
      throw operationsError('not-confirmed', `\`millrace ${operationName(operation)}\` can't be undone`, {
        hint: operation.plan ? 'Look with --dry-run first, then add --yes.' : 'Add --yes to run it.',
      });
    }
    const { value, text, ok } = await operation.run(input, context);
    // The user has ended an operation that shows results until then, and has them all.
    if (shown !== undefined) return 0;
    if (streamed) await flushed(io.stdout);
    else print(value, text);
    return io.signal.aborted ? INTERRUPTED : ok ? 0 : 1;
  } catch (error) {
    if (io.signal.aborted && isAbort(error, io.signal)) {
      io.stderr.write('Interrupted; stopped cleanly.\n');
      return INTERRUPTED;
    }
    if (flags.json) printError(error, io);
    io.stderr.write(errorText(error, flags.debug, workspace.folder));
    return error instanceof UsageError ? 2 : 1;
  } finally {
    endTracing?.();
    await workspace.close();
  }
}

/** The process may end soon after this, so the last lines must not wait in a buffer. */
const flushed = (stream: Writable): Promise<void> => new Promise((resolve) => stream.write('', () => resolve()));

const INTERRUPTED = 130;

const isAbort = (error: unknown, signal: AbortSignal): boolean =>
  error === signal.reason ||
  (error instanceof Error && (error.name === 'AbortError' || ('code' in error && error.code === 'aborted')));

/** The message, the line of the user's code that it comes from, and the hint; the stack only with `--debug`. */
function errorText(error: unknown, debug: boolean, folder: string): string {
  const { message, hint } = describeError(error);
  const frame = codeFrame(folder, error);
  const lines = [`${styleText('red', 'error:', { stream: process.stderr })} ${message}`, ...frame];
  if (hint !== undefined) lines.push(`  ${hint}`);
  if (debug && error instanceof Error) {
    for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
      lines.push(withoutSecrets(cause.stack ?? cause.message));
  } else if (!(error instanceof MillraceError) && frame.length === 0)
    lines.push('  This error was not expected. Run the command with --debug to see its origin.');
  return `${lines.join('\n')}\n`;
}

function actor(): string {
  try {
    return userInfo().username;
  } catch {
    return 'unknown';
  }
}
