import { randomUUID } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { shardsError } from '../errors.ts';
import { type Span, without } from '../keys/spans.ts';
import type { Closing, ShardGateDocument, ShardGateStore } from './shard-gate-store.ts';

export interface WaitOptions {
  /** How long to wait for routers. Default 90 s, which is longer than a router that died is remembered. */
  readonly withinMs?: number | undefined;
}

export interface HoldOptions extends WaitOptions {
  /** Names the work for which keys are held, so that who goes on with it can let them go. */
  readonly work?: string;
}

/** Keys of a shard that are held. */
export interface Closed {
  /** Writes go on. True: they were held all the time. False: the routers have opened before, because it took too long. */
  open(): Promise<boolean>;
  /** Whether these keys of the shard are among those that were held. */
  has(shard: string, keys: Span): boolean;
  /**
   * From now on no reading of the shard's local map below this generation admits a write. True: no write of the held keys
   * that one admitted is under way, and none will be. That needs no waiting, because they were held all the time: every
   * router that admits them again has seen the gate as it is from now on. False: they were not.
   */
  stop(generation: number): Promise<boolean>;
}

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
  async drain(shard: string, generation: number, options: WaitOptions = {}): Promise<void> {
    const store = this.#storeOf(shard);
    let gate = await store.ensure();
    while (gate.needs < generation)
      gate = (await store.change(gate, { needs: generation })) ?? (await this.#again(store));
    await this.#untilAcknowledged(store, shard, gate.generation, options);
  }

  /**
   * Holds writes of these keys, and resolves when none is under way. Routers open again after two minutes.
   * @throws MillraceError `routers-not-stopped`
   */
  async close(shard: string, spans: readonly Span[], { work = '', ...options }: HoldOptions = {}): Promise<Closed> {
    const store = this.#storeOf(shard);
    // Routers count from the first sight of an id, so each closing has one of its own.
    const added = spans.map((span): Closing => ({ id: `${work}|${randomUUID()}`, ...span }));
    const isOurs = ({ id }: Closing): boolean => added.some((one) => one.id === id);
    const closed = await this.#change(store, 0, ({ closing }) => [...closing, ...added]);
    const open = async (): Promise<boolean> => {
      let left = 0;
      await this.#change(store, closed.generation, ({ closing }) => {
        left = closing.filter(isOurs).length;
        return left === 0 ? undefined : closing.filter((one) => !isOurs(one));
      });
      return left === added.length;
    };
    try {
      await this.#untilAcknowledged(store, shard, closed.generation, options);
    } catch (error) {
      await open();
      throw error;
    }
    return {
      open,
      has: (of, keys) => of === shard && without([keys], spans).length === 0,
      stop: (needs) => this.#stop(store, closed.generation, { needs, isOurs, count: added.length }),
    };
  }

  async #stop(
    store: ShardGateStore,
    generation: number,
    {
      needs,
      isOurs,
      count,
    }: { readonly needs: number; readonly isOurs: (one: Closing) => boolean; readonly count: number },
  ): Promise<boolean> {
    for (let gate = await store.ensure(); ; gate = await this.#again(store)) {
      // A lagging replica may show an older gate.
      if (gate.generation < generation) continue;
      if (gate.closing.filter(isOurs).length < count) return false;
      if (gate.needs >= needs || (await store.change(gate, { needs }))) return true;
    }
  }

  /** Lets go what a process held for this work and did not open, because it died. */
  async letGo(shard: string, work: string): Promise<void> {
    await this.#change(this.#storeOf(shard), 0, ({ closing }) => {
      const left = closing.filter(({ id }) => !id.startsWith(`${work}|`));
      return left.length === closing.length ? undefined : left;
    });
  }

  /** Changes what a gate of this generation or a later one holds. Undefined from `next`: nothing is to be changed. */
  async #change(
    store: ShardGateStore,
    generation: number,
    next: (gate: ShardGateDocument) => readonly Closing[] | undefined,
  ): Promise<ShardGateDocument> {
    for (let gate = await store.ensure(); ; gate = await this.#again(store)) {
      // A lagging replica may show an older gate.
      if (gate.generation < generation) continue;
      const closing = next(gate);
      const changed = closing ? await store.change(gate, { closing }) : gate;
      if (changed) return changed;
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
    { withinMs = WITHIN_MS }: WaitOptions,
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
