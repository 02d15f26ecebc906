/** The server's time: the machine's, moved forward on command, or standing still. */
export class Clock {
  #ahead = 0;
  #frozen: number | undefined;

  /** Milliseconds since 1970. */
  now(): number {
    return this.#frozen ?? Date.now() + this.#ahead;
  }

  advance(ms: number): void {
    if (this.#frozen === undefined) this.#ahead += ms;
    else this.#frozen += ms;
  }

  /** From here on time moves by `advance` only. */
  freeze(): void {
    this.#frozen ??= this.now();
  }

  /** Time runs again, from where it stood. */
  thaw(): void {
    if (this.#frozen === undefined) return;
    this.#ahead = this.#frozen - Date.now();
    this.#frozen = undefined;
  }
}
