// The interview on a terminal: question by question, three at a time.
import { createInterface } from 'node:readline/promises';
import { UsageError } from '../../base/errors.ts';
import type { Documents } from '../../model/documents.ts';
import type { Context } from '../operation.ts';
import { openQuestions } from './interview-questions.ts';

/** Few enough that people answer them. */
export const AT_ONCE = 3;

/** Answers, by the id of the question. */
export type Answers = Readonly<Record<string, string>>;

interface Streams {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  /** True: the input is read key by key and echoed to the output. False: the terminal echoes it and delivers lines. */
  readonly terminal: boolean;
}

const ofProcess = (): Streams => ({
  input: process.stdin,
  output: process.stderr,
  terminal: process.stderr.isTTY,
});

/** Asks until each question is answered or skipped. An empty answer skips a question; the end of the input stops. */
export async function talk(
  documents: () => Documents,
  apply: (answers: Answers) => Promise<void>,
  { screen, signal }: Pick<Context, 'screen' | 'signal'>,
  { input, output, terminal: byKey }: Streams = ofProcess(),
): Promise<void> {
  const terminal = createInterface({ input, output, terminal: byKey });
  const stop = (): void => terminal.close();
  signal.addEventListener('abort', stop);
  // Readline gets Ctrl-C from the terminal, the process does not: pass it on.
  terminal.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  const lines = terminal[Symbol.asyncIterator]();
  let ended = false;
  terminal.once('close', () => (ended = true));
  // Ctrl-D typed before the terminal was read key by key arrives as NUL.
  const onKey = (_text: string | undefined, key: { readonly sequence?: string }): void => {
    if (key.sequence === '\0' && terminal.line === '') terminal.close();
  };
  input.on('keypress', onKey);
  const skipped = new Set<string>();
  try {
    screen.line('An empty answer skips a question; Ctrl-D stops.');
    for (;;) {
      const next = openQuestions(documents())
        .filter(({ id }) => !skipped.has(id))
        .slice(0, AT_ONCE);
      if (next.length === 0) return;
      for (const { id, rule, ask, form } of next) {
        for (let asking = true; asking;) {
          screen.line(`${ask} (${rule}; ${form})`);
          // After the end of the input, lines that were typed before it are still read.
          if (!ended) terminal.prompt();
          const line = await lines.next();
          signal.throwIfAborted();
          if (line.done === true) return;
          const text = line.value.trim();
          if (text === '') skipped.add(id);
          asking = text !== '' && !(await accepted(apply({ [id]: text }), screen));
        }
      }
    }
  } finally {
    signal.removeEventListener('abort', stop);
    input.off('keypress', onKey);
    terminal.close();
  }
}

/** False: the answer was not understood, and the screen says so. Every other error ends the interview. */
async function accepted(applied: Promise<void>, screen: Context['screen']): Promise<boolean> {
  try {
    await applied;
    return true;
  } catch (error) {
    if (!(error instanceof UsageError && error.code === 'answer-not-understood')) throw error;
    screen.line(`${error.message}. ${error.hint}`);
    return false;
  }
}
