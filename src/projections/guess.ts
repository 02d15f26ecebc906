/**
 * Whether documents about to be written are likely to be new. While they are, they are created without being read first:
 * a create fails where the document exists, so a wrong guess costs a request and nothing else.
 */
export class Guess {
  /** Of the last look-ups, weighed towards the latest: the share that found something. */
  #found = 0;

  get absent(): boolean {
    return this.#found < 0.1;
  }

  /** Tells what a look-up came to. */
  learn(found: boolean): void {
    this.#found += ((found ? 1 : 0) - this.#found) / 16;
  }

  /** Reads, unless it is the first attempt and the document is likely to be new. A second attempt means that it wasn't. */
  async read<T>(first: boolean, read: () => Promise<T | undefined>): Promise<T | undefined> {
    if (first && this.absent) return undefined;
    const found = await read();
    this.learn(found !== undefined);
    return found;
  }
}
