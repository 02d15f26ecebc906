/**
 * Guesses whether the documents to write are new. If so, they are created without a read before: a create fails where
 * the document exists, so a wrong guess costs one request and nothing else.
 */
export class Guess {
  /** The share of the latest reads that found a document; newer reads weigh more. */
  #found = 0;

  get absent(): boolean {
    return this.#found < 0.1;
  }

  /** Takes in what a read found. */
  learn(found: boolean): void {
    this.#found += ((found ? 1 : 0) - this.#found) / 16;
  }

  /** Reads, except at a first attempt where the document is likely to be new. A second attempt means that it existed. */
  async read<T>(first: boolean, read: () => Promise<T | undefined>): Promise<T | undefined> {
    if (first && this.absent) return undefined;
    const found = await read();
    this.learn(found !== undefined);
    return found;
  }
}
