/** Where an operation tells people how it goes. Nothing here is part of its result. */
export interface Screen {
  /** True: `draw` replaces what it drew before; false: a log, so draw seldom. */
  readonly live: boolean;
  /** One line that stays. */
  line(text: string): void;
  /** The present state of things as a block of lines. */
  draw(lines: readonly string[]): void;
  /** `of` absent: not known. */
  progress(what: string, done: number, of?: number): void;
}
