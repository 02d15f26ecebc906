import type { Container } from '@azure/cosmos';
import type { Clock } from '../../base/clock.ts';

/** Permission for one routed write: send the write immediately, and dispose of the pass after its answer. */
export interface ShardPass extends Disposable {
  /**
   * Pass it to the write as `abortSignal`. After a minute it ends the write and the client's retries, so that the write
   * takes effect within the time that `markOffline` allows.
   */
  readonly signal: AbortSignal;
}

/**
 * Why a gate admits no write of a key now.
 * - `closing`: the key is held for a moment. Wait for `changed()`, with a bound
 * - `stale`: read the mapping again, in a reading of the shard's local map whose generation is at least `needs`
 * - `lapsed`: no heartbeat of this process was stored for a while. Wait for `changed()`, with a bound
 */
export type Held = 'closing' | 'stale' | 'lapsed';

export interface ShardGateOptions {
  /** How often a router reads the gate, milliseconds. It limits how long `markOffline` waits. */
  readonly pollMs?: number;
  /** Names this process where it doesn't stop in time. Default: the host's name and the process id. */
  readonly name?: string;
  readonly clock?: Clock;
}

/**
 * The gate of one shard, in a router's process. It fences writes: once an administrator has raised `needs` and this
 * process has acknowledged it, no write is under way that an older reading of the local map admitted.
 */
export interface ShardGate extends AsyncDisposable {
  /** The lowest generation of the shard's local map whose readings admit writes. It never falls. */
  readonly needs: number;
  /**
   * Looks in memory only. The caller owes that `validatedAt` is the generation of a local map's header, and that the
   * documents of that same reading had the mapping of `code`, online, under the id that the *map* showed, at the location
   * that the map showed. Entries of another location or version of the shard don't count.
   * @throws FormatUnreadable; MillraceError `gate-closed`
   */
  enter(code: string, validatedAt: number): ShardPass | Held;
  /** Resolves when the gate, or what is known of the heartbeats, has changed. */
  changed(): Promise<void>;
}

/** Opens the gate of a shard; a process opens one for each shard. `routers` is the container in the database of the maps. */
export type OpenShardGate = (
  routers: Container,
  of: { readonly map: string; readonly shard: string },
  options?: ShardGateOptions,
) => Promise<ShardGate>;
