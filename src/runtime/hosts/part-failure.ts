/** A part of a host that fails and is tried again. */
export interface PartFailure {
  /** A container, `event hub NAME`, or `shards`. */
  readonly part: string;
  /** Name of the shard, which may be a tenant's. */
  readonly shard?: string | undefined;
  readonly error: unknown;
}
