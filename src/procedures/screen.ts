/** Shows people the progress of an operation. Nothing here is part of its result. */
export interface Screen {
  /** True: `draw` replaces what it drew before; false: a log, so draw seldom. */
  readonly live: boolean;
  /** One line that stays. */
  line(text: string): void;
  /** The current state as a block of lines. */
  draw(lines: readonly string[]): void;
  /** `of` absent: the total is unknown. */
  progress(what: string, done: number, of?: number): void;
}
