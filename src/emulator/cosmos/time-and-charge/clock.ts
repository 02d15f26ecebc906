/** The server's time: the machine's time, which a command can move forward or stop. */
export class EmulatorClock {
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

  /** Stops the time: only `advance` moves it. */
  freeze(): void {
    this.#frozen ??= this.now();
  }

  /** Lets the time run again, from where it stopped. */
  thaw(): void {
    if (this.#frozen === undefined) return;
    this.#ahead = this.#frozen - Date.now();
    this.#frozen = undefined;
  }
}
