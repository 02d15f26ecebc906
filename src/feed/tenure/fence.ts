/**
 * Decides whether its holder may still act. Sinks call `assert` before each write. It throws once the lease is known to be
 * lost, or the page is older than the write bound (PROC-L13). Kind `host`: the lease belongs to the Functions host, so
 * every projection must survive writes of a host that lost it.
 */
export interface Fence {
  readonly kind: 'lease' | 'host';
  /** The tenure of the changes. Until another tenure begins, no other host writes for their range. */
  readonly tenure: object;
  readonly signal: AbortSignal;
  assert(): void;
}
