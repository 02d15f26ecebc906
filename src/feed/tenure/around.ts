/** What is about to be handled. */
export interface Handling {
  readonly container: string;
  readonly lease: string;
  readonly changes: number;
}

/** Calls `work` once, within whatever it puts around it, and resolves or rejects as that does. */
export type Around = (about: Handling, work: () => Promise<void>) => Promise<void>;

const arounds = new Set<Around>();

/** Puts something around every handler of this process from now on: what the handler calls is then inside it. The returned function ends that. */
export function around(one: Around): () => void {
  arounds.add(one);
  return () => void arounds.delete(one);
}

export const within: Around = (about, work) =>
  [...arounds].reduce<() => Promise<void>>((inner, one) => () => one(about, inner), work)();
