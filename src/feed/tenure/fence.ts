/**
 * Says whether its holder may still act. Sinks call `assert` before each write: it throws once the lease is known to be
 * lost or the page is older than the write bound (R0). Kind `host` can't be fenced by us (Functions), so every
 * projection has to survive a zombie.
 */
export interface Fence {
  readonly kind: 'lease' | 'host';
  /** Whose changes these are: until another tenure comes, what this process wrote last of them is the last word. */
  readonly tenure: object;
  readonly signal: AbortSignal;
  assert(): void;
}
