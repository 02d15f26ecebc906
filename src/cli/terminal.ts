import type { WriteStream } from 'node:tty';
import type { Writable } from 'node:stream';
import type { Screen } from '../operations/screen.ts';

const PLAIN_INTERVAL_MS = 5_000;

/**
 * Shows the progress of an operation: redrawn in place on a terminal, plain lines every few seconds elsewhere. With
 * `--json` the stream is standard error.
 */
export class TerminalScreen implements Screen {
  readonly live: boolean;
  readonly #stream: Writable;
  readonly #columns: () => number;
  #drawn = 0;
  #lastPlain = -Infinity;

  constructor(stream: Writable & Partial<Pick<WriteStream, 'isTTY' | 'columns'>>) {
    this.#stream = stream;
    this.live = stream.isTTY === true;
    this.#columns = () => stream.columns || 80;
  }

  line(text: string): void {
    this.#erase();
    this.#stream.write(`${text}\n`);
  }

  draw(lines: readonly string[]): void {
    if (this.live) {
      this.#erase();
      const fitting = lines.map((line) => line.slice(0, this.#columns() - 1));
      this.#stream.write(fitting.map((line) => `${line}\n`).join(''));
      this.#drawn = fitting.length;
      return;
    }
    const now = performance.now();
    if (now - this.#lastPlain < PLAIN_INTERVAL_MS) return;
    this.#lastPlain = now;
    this.#stream.write(lines.map((line) => `${line}\n`).join(''));
  }

  progress(what: string, done: number, of?: number): void {
    const share =
      of === undefined || of === 0 ? '' : ` of ${of.toLocaleString('en-US')} (${Math.floor((100 * done) / of)} %)`;
    this.draw([`${what}: ${done.toLocaleString('en-US')}${share}`]);
  }

  #erase(): void {
    if (this.#drawn > 0) this.#stream.write(`\u001B[${this.#drawn}A\u001B[J`);
    this.#drawn = 0;
  }
}
