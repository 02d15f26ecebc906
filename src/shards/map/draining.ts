// Keys that go offline are drained: until all routers of their shard have stopped, a mark in the map keeps them from being
// online on another shard. An operation for which the mark must be gone drains first, by whatever process. SPEC-routing.
import { randomUUID } from 'node:crypto';
import { canonical } from '../../base/json.ts';
import type { Closed } from '../gate/shard-gates.ts';
import {
  type Draining,
  type MapHeader,
  type MappingDocument,
  type OperationDocument,
  type ShardDocument,
  isMapping,
  isShard,
} from './documents.ts';
import type { MapRequest, Operations, MapPlan } from './operations.ts';
import type { Whole } from './header-guarded-partition.ts';

/** Whether to wait until all routers of a shard have stopped. */
export interface StopOptions {
  /**
   * Default true. False: they may still write for a while. The next change for which they must have stopped waits for
   * them, by whatever process.
   */
  readonly wait?: boolean;
  /** How long to wait, milliseconds. Default 90,000: a router that died is forgotten before. */
  readonly withinMs?: number;
  /** The keys are held, and were so before they went offline: then nothing is waited for. */
  readonly held?: Closed;
  /** With `held`: the mark stays, and the next operation on the mapping takes it away, which saves one. Brought as `drained`. */
  readonly markStays?: boolean;
}

/** Resolves when no router of a shard writes by a reading of its local map below a generation. */
export type MapDrain = (draining: Draining, options: Pick<StopOptions, 'withinMs'>) => Promise<void>;

/** A mapping or a shard whose routers may not have stopped. */
interface Marked {
  readonly id: string;
  readonly draining: Draining;
}

/** An operation is refused until the routers have stopped. */
class Undrained extends Error {
  readonly marked: Marked;

  constructor(marked: Marked) {
    super(`Routers of the shard ${marked.draining.shard} may not have stopped`);
    this.marked = marked;
  }
}

/** `drained`: the mark of which the caller knows that the routers have stopped. */
export function assertDrained({ id, draining }: MappingDocument | ShardDocument, drained?: Draining): void {
  if (draining && canonical(draining) !== canonical(drained)) throw new Undrained({ id, draining });
}

/** The mark of an operation that is decided from the map as it is. */
export const drainingOf = ({ header }: Whole<MapHeader>, shard: string): Draining => ({
  shard,
  below: header.generation + 1,
});

/** The map as it is once all routers have stopped, to check an operation without draining. */
export const asDrained = (whole: Whole<MapHeader>): Whole<MapHeader> => ({
  ...whole,
  entries: new Map(
    [...whole.entries].map(([id, entry]) => {
      if (!isMapping(entry) && !isShard(entry)) return [id, entry];
      const { draining: _, ...drained } = entry;
      return [id, drained];
    }),
  ),
});

export class Drains {
  readonly #operations: Operations;
  readonly #drain: MapDrain;

  constructor(operations: Operations, drain: MapDrain) {
    this.#operations = operations;
    this.#drain = drain;
  }

  /** Runs an operation, and drains before it where that is what it needs. */
  async run(asked: MapRequest, plan: (whole: Whole<MapHeader>) => MapPlan): Promise<OperationDocument> {
    for (;;) {
      try {
        return await this.#operations.run(asked, plan);
      } catch (error) {
        if (!(error instanceof Undrained)) throw error;
        await this.#end(error.marked, {});
      }
    }
  }

  /** Drains a mapping or a shard, if it is marked. Resolves with the mark where it stays. */
  async end(
    { entries }: Whole<MapHeader>,
    id: string,
    { wait = true, held, markStays = false, ...options }: StopOptions,
  ): Promise<Draining | undefined> {
    const entry = entries.get(id);
    if (!wait || !entry || !(isMapping(entry) || isShard(entry)) || !entry.draining) return undefined;
    const { draining } = entry;
    const isHeld = held && isMapping(entry) && held.has(draining.shard, entry) && (await held.stop(draining.below));
    if (isHeld && markStays) return draining;
    await this.#end({ id, draining }, isHeld ? undefined : options);
    return undefined;
  }

  /** `options` undefined: the routers have stopped. */
  async #end(marked: Marked, options: Pick<StopOptions, 'withinMs'> | undefined): Promise<void> {
    if (options) await this.#drain(marked.draining, options);
    const asked: MapRequest = { id: randomUUID(), verb: 'markDrained', request: marked };
    await this.#operations.run(asked, (map) => markDrained(map, marked));
  }
}

/** Takes the mark away. The values in hand stay valid. */
function markDrained({ entries }: Whole<MapHeader>, { id, draining }: Marked): MapPlan {
  const entry = entries.get(id);
  const isMarked = entry && (isMapping(entry) || isShard(entry)) && canonical(entry.draining) === canonical(draining);
  if (!isMarked) return { removes: [], adds: [], shards: [] };
  const { draining: _, ...drained } = entry;
  return { removes: [entry], adds: [drained], shards: [] };
}
