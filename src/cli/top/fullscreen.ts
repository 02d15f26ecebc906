// A whole terminal for one verb: drawn in place, and given back as it was.
import type { ReadStream, WriteStream } from 'node:tty';
import { fit } from '../fit.ts';

export interface Terminal {
  readonly input: Pick<ReadStream, 'on' | 'off' | 'setRawMode' | 'resume' | 'pause'>;
  readonly output: Pick<WriteStream, 'on' | 'off' | 'write'> & { readonly columns: number; readonly rows: number };
}

const ENTER = '\u001B[?1049h\u001B[?25l';
const LEAVE = '\u001B[?25h\u001B[?1049l';

/** What a key asks for. In raw mode Ctrl-C is a key too. */
export type Key = 'quit' | 'up' | 'down' | 'page-up' | 'page-down';
const KEYS: Readonly<Record<string, Key>> = {
  q: 'quit',
  Q: 'quit',
  '\u0003': 'quit',
  k: 'up',
  j: 'down',
  '\u001B[A': 'up',
  '\u001B[B': 'down',
  '\u001B[5~': 'page-up',
  '\u001B[6~': 'page-down',
};

export class Fullscreen implements Disposable {
  readonly #terminal: Terminal;
  readonly #onKey: (data: Buffer) => void;
  readonly #onResize: () => void;
  readonly #restore = (): void => {
    this.#terminal.output.write(LEAVE);
    this.#terminal.input.setRawMode(false);
  };

  constructor(terminal: Terminal, on: { readonly key: (key: Key) => void; readonly resize: () => void }) {
    this.#terminal = terminal;
    this.#onKey = (data) => {
      const key = KEYS[data.toString()];
      if (key !== undefined) on.key(key);
    };
    this.#onResize = on.resize;
    const { input, output } = terminal;
    // Also if the process exits without coming to the end of the verb.
    process.once('exit', this.#restore);
    output.write(ENTER);
    input.setRawMode(true);
    input.resume();
    input.on('data', this.#onKey);
    output.on('resize', this.#onResize);
  }

  /** Columns and rows. */
  get size(): { readonly columns: number; readonly rows: number } {
    const { columns, rows } = this.#terminal.output;
    return { columns: columns || 80, rows: rows || 24 };
  }

  draw(lines: readonly string[]): void {
    const { columns, rows } = this.size;
    // One column is left free: at the end of a full line, a terminal would erase the last character.
    const shown = lines.slice(0, rows).map((line) => `${fit(line, columns - 1)}\u001B[K`);
    this.#terminal.output.write(`\u001B[H${shown.join('\r\n')}\u001B[J`);
  }

  [Symbol.dispose](): void {
    const { input, output } = this.#terminal;
    process.off('exit', this.#restore);
    input.off('data', this.#onKey);
    output.off('resize', this.#onResize);
    this.#restore();
    input.pause();
  }
}
