import { setImmediate as turn } from 'node:timers/promises';
import type { Database } from '@azure/cosmos';
import { WRITE_BOUND_MS } from '../base/bounds.ts';
import { MillraceError } from '../base/errors.ts';
import { FULL_RANGE } from '../cosmos/ranges.ts';
import type { Engine } from '../engine/engine.ts';
import type { Page } from '../feed/reading/change.ts';
import type { SourceContainer } from '../feed/reading/mapper.ts';
import { untilStopped } from '../feed/tenure/fences.ts';
import { openSource } from '../feed/reading/open-source.ts';
import type { ChangeSource } from '../feed/reading/source.ts';
import { Dice } from './dice.ts';

/** What may befall a delivery; each is what the change feed, a host or the service really does. */
export interface Adversity {
  /** Pages come again, from an earlier checkpoint: delivery is at least once. */
  readonly redeliver?: boolean;
  /** Earlier pages, with their outdated documents, are applied once more after later ones: a host that lost its lease. */
  readonly reorder?: boolean;
  /** A host dies between two requests, and another goes on from the checkpoint. */
  readonly crash?: boolean;
  /** Reads lag behind the writes of others. */
  readonly stale?: boolean;
  /** The same seed repeats the same decisions. Default 1. */
  readonly seed?: number;
}

const NEVER = new AbortController().signal;
const PAGE = 5;

/**
 * The change feed of one source container, delivered to an engine page by page with a checkpoint.
 * @internal
 */
export class Delivery {
  readonly #engine: Engine;
  readonly #source: ChangeSource;
  #dice = new Dice(1);
  #adversity: Adversity = {};
  /** Handed on so far, those of earlier steps included; and whether they have come back since the last step began. */
  readonly #passed: Page[] = [];
  #replayed = false;
  readonly #positions: string[] = [''];
  #checkpoint = '';

  private constructor(engine: Engine, source: ChangeSource) {
    this.#engine = engine;
    this.#source = source;
  }

  static async open(engine: Engine, database: Database, map: SourceContainer): Promise<Delivery> {
    return new Delivery(engine, (await openSource(database.container(map.name), { map, pageSize: PAGE })).source);
  }

  /** What may befall it from now on. */
  begin(adversity: Adversity, dice: Dice): void {
    this.#adversity = adversity;
    this.#dice = dice;
    this.#replayed = false;
  }

  /** Hands on one page, or one that was handed on before; false where there was none. */
  async step(): Promise<boolean> {
    const { redeliver = false, reorder = false } = this.#adversity;
    if (redeliver && this.#dice.chance(0.2)) this.#checkpoint = this.#dice.pick(this.#positions);
    if (reorder && this.#passed.length > 0 && this.#dice.chance(0.3))
      await this.#consume(this.#dice.pick(this.#passed));
    return this.#next();
  }

  /** All that is left, and nothing else befalls it; the old pages once more, since the last to wake may be a zombie. */
  async finish(): Promise<boolean> {
    if (await this.#next(true)) return true;
    if (this.#adversity.reorder !== true || this.#replayed) return false;
    this.#replayed = true;
    for (const page of this.#dice.shuffle(this.#passed)) await this.#consume(page, true);
    return true;
  }

  async #next(quiet = false): Promise<boolean> {
    const page = await this.#source.read(FULL_RANGE, this.#checkpoint, NEVER);
    const moved = page.next !== this.#checkpoint;
    if (page.changes.length > 0) {
      this.#passed.push(page);
      if (!(await this.#consume(page, quiet))) return true;
    }
    this.#checkpoint = page.next;
    this.#positions.push(page.next);
    return moved;
  }

  /** False: the host died on the way. */
  async #consume(page: Page, quiet = false): Promise<boolean> {
    const dies = this.#adversity.crash === true && !quiet;
    const fence = untilStopped(NEVER, () => {
      if (dies && this.#dice.chance(0.05)) throw new HostDied();
    });
    // However long ago it was read: that a page outlives its write bound is another test's matter (R0).
    const readAt = Math.max(page.readAt, performance.now() - WRITE_BOUND_MS / 2);
    try {
      await this.#engine.consume({ ...page, readAt }, fence);
      return true;
    } catch (error) {
      if (error instanceof HostDied) return false;
      throw error;
    } finally {
      await turn();
    }
  }
}

class HostDied extends MillraceError<'host-died'> {
  constructor() {
    super('host-died', 'The host died', { retryable: true });
  }
}
