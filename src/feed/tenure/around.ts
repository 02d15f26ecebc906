/** The changes that a call of the handler is about. */
export interface Handling {
  readonly container: string;
  readonly lease: string;
  readonly changes: number;
}

/** Wraps a call of the handler. It must call `work` once, and settle as `work` does. */
export type Around = (about: Handling, work: () => Promise<void>) => Promise<void>;

const arounds = new Set<Around>();

/** Wraps all later handler calls of this process, for example in a span of a trace. The returned function ends that. */
export function around(one: Around): () => void {
  arounds.add(one);
  return () => void arounds.delete(one);
}

export const within: Around = (about, work) =>
  [...arounds].reduce<() => Promise<void>>((inner, one) => () => one(about, inner), work)();
