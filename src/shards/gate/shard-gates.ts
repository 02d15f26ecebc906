import { randomUUID } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { shardsError } from '../errors.ts';
import { type KeySpan, withoutSpan } from '../keys/spans.ts';
import type { Closing, ShardGateDocument, ShardGateStore } from './shard-gate-store.ts';
import { TURN_MS } from './times.ts';

export interface GateWaitOptions {
  /** How long to wait for routers. Default 90 s, which is longer than a router that died is remembered. */
  readonly withinMs?: number | undefined;
}

export interface HoldOptions extends GateWaitOptions {
  /** Names the work for which keys are held, so that who goes on with it can let them go. */
  readonly work?: string;
  /** What this process holds on the shard already. */
  readonly after?: Closed;
  /**
   * Waits while other work holds keys of the shard, for each at most as long as it should take, and calls this again and
   * again. So that work that waits for one another's requests comes one after the other.
   */
  readonly inTurn?: () => Promise<void>;
  /** Called before a request is sent after which writes may wait. The last call counts. */
  readonly begins?: () => void;
}

/** Keys of a shard that are held. */
export interface Closed {
  /** Writes go on. True: they were held all the time. False: the routers have opened before, because it took too long. */
  open(): Promise<boolean>;
  /** Whether these keys of the shard are among those that were held. */
  has(shard: string, keys: KeySpan): boolean;
  /**
   * From now on no reading of the shard's local map below this generation admits a write. True: no write of the held keys
   * that one admitted is under way, and none will be. That needs no waiting, because they were held all the time: every
   * router that admits them again has seen the gate as it is from now on. False: they were not.
   */
  stop(generation: number): Promise<boolean>;
  /** Undefined: the map has no routers. */
  readonly known: KnownGate | undefined;
}

/** A gate as this process has left it, which is tried first without asking: a change finds out whether it is still so. */
interface KnownGate {
  gate: ShardGateDocument | undefined;
}

type Next = Partial<ShardGateDocument> | 'later' | undefined;

const WITHIN_MS = 90_000;
const POLL_MS = 100;
/** At first members are asked more often: they look often themselves where keys are held. */
const SOON_MS = 10;
const SOON_FOR_MS = 1_000;

/** The gates of a map's shards, as administrators change them. */
export class ShardGates {
  readonly #storeOf: (shard: string) => ShardGateStore;
  readonly #clock: Clock;

  constructor(storeOf: (shard: string) => ShardGateStore, clock: Clock) {
    this.#storeOf = storeOf;
    this.#clock = clock;
  }

  /**
   * Resolves when no routed write is under way, or will be admitted, by a reading of the shard's local map below this
   * generation. May be repeated, by any process.
   * @throws MillraceError `routers-not-stopped`
   */
  async drain(shard: string, generation: number, options: GateWaitOptions = {}): Promise<void> {
    const store = this.#storeOf(shard);
    const gate = await this.#change(store, { gate: undefined }, ({ needs }) =>
      needs < generation ? { needs: generation } : undefined,
    );
    await this.#untilAcknowledged(store, shard, gate.generation, options);
  }

  /**
   * Holds writes of these keys, and resolves when none is under way. Routers open again after two minutes.
   * @throws MillraceError `routers-not-stopped`
   */
  async close(
    shard: string,
    spans: readonly KeySpan[],
    { work = '', after, inTurn, begins = () => undefined, ...options }: HoldOptions = {},
  ): Promise<Closed> {
    const store = this.#storeOf(shard);
    // Routers count from the first sight of an id, so each closing has one of its own.
    const added = spans.map((span): Closing => ({ id: `${work}|${randomUUID()}`, ...span }));
    const countOurs = ({ closing }: ShardGateDocument): number =>
      closing.filter(({ id }) => added.some((one) => one.id === id)).length;
    const isOurTurn = this.#turns(work);
    const known = after?.known ?? { gate: undefined };
    const { generation } = await this.#change(store, known, async (now) => {
      if (inTurn && !isOurTurn(now)) {
        await inTurn();
        return 'later';
      }
      begins();
      return { closing: [...now.closing, ...added] };
    });
    const open = async (): Promise<boolean> => {
      let left = 0;
      await this.#change(store, known, (now) => {
        left = countOurs(now);
        if (left === 0) return undefined;
        return { closing: now.closing.filter(({ id }) => !added.some((one) => one.id === id)) };
      });
      return left === added.length;
    };
    try {
      await this.#untilAcknowledged(store, shard, generation, options);
    } catch (error) {
      await open();
      throw error;
    }
    return {
      open,
      has: (of, keys) => of === shard && withoutSpan([keys], spans).length === 0,
      stop: async (needs) => {
        let isHeld = false;
        await this.#change(store, known, (now) => {
          isHeld = countOurs(now) === added.length;
          // Also where routers need as much already: only a change finds out that the keys are still held.
          return isHeld ? { needs: Math.max(needs, now.needs) } : undefined;
        });
        return isHeld;
      },
      known,
    };
  }

  /** Whether no other work holds keys of a gate, apart from what has held them for so long that it may have died. */
  #turns(work: string): (gate: ShardGateDocument) => boolean {
    const seen = new Map<string, number>();
    return ({ closing }) => {
      const now = this.#clock.monotonic();
      const others = closing.filter(({ id }) => !id.startsWith(`${work}|`));
      for (const { id } of others) if (!seen.has(id)) seen.set(id, now);
      return others.every(({ id }) => now - seen.get(id)! >= TURN_MS);
    };
  }

  /** Lets go what a process held for this work and did not open, because it died. */
  async letGo(shard: string, work: string): Promise<void> {
    await this.#change(this.#storeOf(shard), { gate: undefined }, ({ closing }) => {
      const left = closing.filter(({ id }) => !id.startsWith(`${work}|`));
      return left.length === closing.length ? undefined : { closing: left };
    });
  }

  /** Changes a gate and resolves with what it is then. From `next`: what to change, nothing, or that it is to be asked later. */
  async #change(
    store: ShardGateStore,
    known: KnownGate,
    next: (gate: ShardGateDocument) => Next | Promise<Next>,
  ): Promise<ShardGateDocument> {
    for (let gate = known.gate ?? (await store.ensure()); ;) {
      const change = await next(gate);
      if (!change) return gate;
      const changed = change === 'later' ? undefined : await store.change(gate, change);
      if (changed) return (known.gate = changed);
      const { generation } = gate;
      gate = await (change === 'later' ? this.#again(store) : store.ensure());
      // A lagging replica may show an older gate.
      while (gate.generation < generation) gate = await this.#again(store);
    }
  }

  async #again(store: ShardGateStore): Promise<ShardGateDocument> {
    await this.#clock.sleep(POLL_MS / 2);
    return store.ensure();
  }

  async #untilAcknowledged(
    store: ShardGateStore,
    shard: string,
    generation: number,
    { withinMs = WITHIN_MS }: GateWaitOptions,
  ): Promise<void> {
    const since = this.#clock.monotonic();
    const pauseMs = (): number => (this.#clock.monotonic() - since < SOON_FOR_MS ? SOON_MS : POLL_MS);
    for (; ; await this.#clock.sleep(pauseMs())) {
      const routers = await store.members(generation);
      const open = (routers ?? []).filter(({ acknowledged }) => !(acknowledged >= generation));
      if (routers && open.length === 0) return;
      if (this.#clock.monotonic() - since < withinMs) continue;
      const names = open.map(({ name }) => name).join(', ');
      throw shardsError(
        'routers-not-stopped',
        `${open.length} routers of the shard ${shard} did not stop within ${withinMs} ms: ${names}`,
      );
    }
  }
}
