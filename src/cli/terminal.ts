import type { WriteStream } from 'node:tty';
import type { Writable } from 'node:stream';
import { Speed, sayRate } from '../base/speed.ts';
import type { Screen } from '../procedures/screen.ts';
import { ageText } from '../procedures/table.ts';
import { fit, widthOf } from './fit.ts';

const PLAIN_INTERVAL_MS = 5_000;
/** Columns of a bar. */
const BAR = 20;

export type TerminalStream = Writable & Partial<Pick<WriteStream, 'isTTY' | 'columns' | 'rows'>>;

/**
 * Shows the progress of an operation: redrawn in place on a terminal, and elsewhere as plain lines, one drawing every few
 * seconds at most and none twice. With `--json` the stream is standard error.
 */
export class TerminalScreen implements Screen {
  readonly live: boolean;
  readonly #stream: TerminalStream;
  readonly #now: () => number;
  /** The widths of the lines that `draw` wrote last. */
  #drawn: readonly number[] = [];
  #shown = '';
  #lastPlain = { at: -Infinity, text: '' };
  #counted: { readonly what: string; readonly speed: Speed } | undefined;

  constructor(stream: TerminalStream, now: () => number = () => performance.now()) {
    this.#stream = stream;
    this.#now = now;
    this.live = stream.isTTY === true;
  }

  line(text: string): void {
    this.#stream.write(`${this.#erased()}${text}\n`);
  }

  draw(lines: readonly string[]): void {
    if (this.live) {
      // One column is left free: a terminal may wrap a line that fills it. A block that is higher than the terminal
      // couldn't be erased.
      const [columns, rows] = [this.#columns - 1, (this.#stream.rows || 24) - 1];
      const fitting = lines.slice(0, rows).map((line) => fit(line, columns));
      if (this.#drawn.length > 0 && fitting.join('\n') === this.#shown) return;
      this.#shown = fitting.join('\n');
      this.#stream.write(`${this.#erased()}${fitting.map((line) => `${line}\n`).join('')}`);
      this.#drawn = fitting.map(widthOf);
      return;
    }
    const [at, text] = [this.#now(), lines.map((line) => `${line}\n`).join('')];
    if (at - this.#lastPlain.at < PLAIN_INTERVAL_MS || text === this.#lastPlain.text) return;
    this.#lastPlain = { at, text };
    this.#stream.write(text);
  }

  progress(what: string, done: number, of?: number): void {
    const counted = this.#counted?.what === what ? this.#counted : { what, speed: new Speed() };
    this.#counted = counted;
    const { speed } = counted;
    speed.note(done, this.#now());
    const [rate, left] = [speed.perSecond(), of === undefined ? undefined : speed.secondsTo(of)];
    const share =
      of === undefined || of === 0 ? '' : ` of ${of.toLocaleString('en-US')} (${Math.floor((100 * done) / of)} %)`;
    const full = of ? Math.min(BAR, Math.floor((BAR * done) / of)) : 0;
    const bar = this.live && of ? `${'█'.repeat(full)}${'░'.repeat(BAR - full)} ` : '';
    const parts = [
      `${bar}${what}: ${done.toLocaleString('en-US')}${share}`,
      ...(rate === undefined ? [] : [sayRate(rate)]),
      ...(left === undefined || left === 0 ? [] : [`${ageText(Math.ceil(left))} left`]),
    ];
    this.draw([parts.join(', ')]);
  }

  get #columns(): number {
    return this.#stream.columns || 80;
  }

  /** What removes the last drawing. A terminal that has become narrower has wrapped its lines. */
  #erased(): string {
    const lines = this.#drawn.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / this.#columns)), 0);
    this.#drawn = [];
    return lines > 0 ? `\u001B[${lines}A\u001B[J` : '';
  }
}
