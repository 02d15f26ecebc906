import { hostname } from 'node:os';
import type { Container } from '@azure/cosmos';
import { type Clock, systemClock } from '../../base/clock.ts';
import { formatOf } from '../../base/format.ts';
import { shardsError } from '../errors.ts';
import { type KeySpan, covers } from '../keys/spans.ts';
import { type GateRules, Membership } from './membership.ts';
import { GatePass, UnderWay } from './pass.ts';
import {
  type GateOf,
  type RouterDocument,
  type ShardGateDocument,
  type ShardGateStore,
  shardGatePartition,
  shardGateStore,
} from './shard-gate-store.ts';
import { MEMBER_TTL_S } from './times.ts';

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
   * that the map showed. Entries of another location or version of the shard don't count. `now` is the clock's reading in
   * this same step.
   * @throws FormatUnreadable; MillraceError `gate-closed`
   */
  enter(code: string, validatedAt: number, now?: number): ShardPass | Held;
  /**
   * Whether an administrator holds the key for a moment, or did so a moment ago, by what is known of the gate. A mapping
   * that is offline then is about to be online.
   */
  isHeld(code: string): boolean;
  /** Resolves when the gate, or what is known of the heartbeats, has changed. */
  changed(): Promise<void>;
}

/**
 * Opens the gate of a shard; a process opens one for each shard. `routers` is the container in the database of the maps.
 * @throws UsageError `container-missing`
 */
export async function openShardGate(
  routers: Container,
  of: GateOf,
  options: ShardGateOptions = {},
): Promise<ShardGate> {
  const gate = new RouterGate(shardGateStore(routers, of, options.clock ?? systemClock), of, options);
  await gate.open();
  return gate;
}

/** For so long after keys were let go, a reading of the map may still show their mapping as offline. */
const JUST_MS = 5_000;

class RoutedPass extends GatePass<RoutedPass> implements ShardPass {
  readonly code: string;
  readonly validatedAt: number;

  constructor(code: string, validatedAt: number, clock: Clock, now: number, underWay: UnderWay<RoutedPass>) {
    super(clock, now, underWay);
    this.code = code;
    this.validatedAt = validatedAt;
  }
}

/** Why a gate holds a write back; undefined: it doesn't. */
function heldBy({ needs, closing }: ShardGateDocument, code: string, validatedAt: number): Held | undefined {
  for (const span of closing) if (covers(span, code)) return 'closing';
  return validatedAt < needs ? 'stale' : undefined;
}

export class RouterGate implements ShardGate {
  readonly #shard: string;
  readonly #clock: Clock;
  readonly #underWay = new UnderWay<RoutedPass>();
  readonly #membership: Membership<ShardGateDocument, RouterDocument>;
  #needs = 0;
  /** Keys that were held, and when this process saw that they were let go. */
  #released: (KeySpan & { readonly at: number })[] = [];

  constructor(store: ShardGateStore, of: GateOf, { pollMs = 300, name, clock = systemClock }: ShardGateOptions) {
    this.#shard = of.shard;
    this.#clock = clock;
    const rules: GateRules<ShardGateDocument, RouterDocument> = {
      kind: 'shardgate',
      of: of.shard,
      acknowledges: (gate, acknowledged, joins) => {
        if (!gate || joins) return 0;
        for (const { code, validatedAt } of this.#underWay) if (heldBy(gate, code, validatedAt)) return acknowledged;
        return gate.generation;
      },
      member: (id, acknowledged) => ({
        id,
        pk: shardGatePartition(of),
        type: 'millrace.router',
        ...formatOf('router'),
        acknowledged,
        name: name ?? `${hostname()}:${process.pid}`,
        ttl: MEMBER_TTL_S,
      }),
      after: (known, read, joined) => {
        const next = known && known.generation > read.generation && !joined ? known : read;
        const at = this.#clock.monotonic();
        this.#released = this.#released.filter((one) => one.at > at - JUST_MS);
        for (const span of known?.closing ?? [])
          if (!next.closing.some(({ id }) => id === span.id)) this.#released.push({ ...span, at });
        this.#needs = Math.max(this.#needs, next.needs);
        return next.needs === this.#needs ? next : { ...next, needs: this.#needs };
      },
      closings: ({ closing }) => closing.map(({ id }) => id),
      reopened: ({ closing }, closings) => ({ closing: closing.filter(({ id }) => !closings.includes(id)) }),
    };
    this.#membership = new Membership(store, 'router', rules, { pollMs, clock });
  }

  get needs(): number {
    return this.#needs;
  }

  open(): Promise<void> {
    return this.#membership.open();
  }

  enter(code: string, validatedAt: number, now = this.#clock.monotonic()): ShardPass | Held {
    const { gate } = this.#membership;
    if (!gate || this.#membership.hasLapsed(now)) return 'lapsed';
    return heldBy(gate, code, validatedAt) ?? new RoutedPass(code, validatedAt, this.#clock, now, this.#underWay);
  }

  isHeld(code: string): boolean {
    const since = this.#clock.monotonic() - JUST_MS;
    this.#released = this.#released.filter(({ at }) => at > since);
    return [...(this.#membership.gate?.closing ?? []), ...this.#released].some((span) => covers(span, code));
  }

  changed(): Promise<void> {
    return this.#membership.changed();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#membership.close(shardsError('gate-closed', `The gate of the shard ${this.#shard} is closed`));
  }
}
