// The questions of `init`, for who starts it in a terminal without saying everything.
import { createInterface } from 'node:readline/promises';

export interface InitAnswers {
  readonly directory: string;
  /** The folder of the user's own documents; undefined: the project begins with an example. */
  readonly from: string | undefined;
  readonly install: boolean;
}

/** What was given already, which is not asked. */
export type Given = { readonly [K in keyof InitAnswers]?: InitAnswers[K] | undefined };

export interface InitTerminal {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
}

export const DEFAULT_DIRECTORY = 'my-app';

/** Asks at most three questions; an empty answer takes what stands in brackets. Rejects if `signal` is aborted. */
export async function ask(given: Given, { input, output }: InitTerminal, signal: AbortSignal): Promise<InitAnswers> {
  const terminal = createInterface({ input, output });
  // Readline gets Ctrl-C from the terminal, the process does not: pass it on.
  terminal.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  const question = async (text: string): Promise<string> => (await terminal.question(text, { signal })).trim();
  try {
    const directory =
      given.directory ?? ((await question(`Folder of the project [${DEFAULT_DIRECTORY}]: `)) || DEFAULT_DIRECTORY);
    const from =
      given.from ??
      ((await question('Folder of your cosmosdb_data_model.md [none: begin with a small shop]: ')) || undefined);
    const install = given.install ?? !/^n/i.test(await question('Install its packages with npm now? [Y/n]: '));
    return { directory, from, install };
  } finally {
    terminal.close();
  }
}
