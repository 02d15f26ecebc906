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
import { TESTING_ERRORS } from './errors.ts';

/** What may happen during a delivery. The change feed, a host or the service does each of these in production. */
export interface Adversity {
  /** Pages come again from an earlier checkpoint, since delivery is at least once. */
  readonly redeliver?: boolean;
  /** Earlier pages, with their old documents, are applied again after later ones, by a host that lost its lease. */
  readonly reorder?: boolean;
  /** A host dies between two requests, and another continues from the checkpoint. */
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
  /** The pages delivered so far, with those of earlier steps. */
  readonly #passed: Page[] = [];
  /** Whether `finish` has delivered them again since the last step began. */
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

  /** Sets what may happen from now on. */
  begin(adversity: Adversity, dice: Dice): void {
    this.#adversity = adversity;
    this.#dice = dice;
    this.#replayed = false;
  }

  /** Delivers the next page, perhaps after a page that was delivered before. False: the feed has no more. */
  async step(): Promise<boolean> {
    const { redeliver = false, reorder = false } = this.#adversity;
    if (redeliver && this.#dice.chance(0.2)) this.#checkpoint = this.#dice.pick(this.#positions);
    if (reorder && this.#passed.length > 0 && this.#dice.chance(0.3))
      await this.#consume(this.#dice.pick(this.#passed));
    return this.#next();
  }

  /** Delivers the rest without failures, then old pages again, as by a host that has lost its lease. False: all done. */
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

  /** False: the host died before the end of the page. */
  async #consume(page: Page, quiet = false): Promise<boolean> {
    const dies = this.#adversity.crash === true && !quiet;
    const fence = untilStopped(NEVER, () => {
      if (dies && this.#dice.chance(0.05)) throw new HostDied();
    });
    // An old page counts as fresh: other tests cover pages that are older than the write bound (PROC-L13).
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
    super('host-died', 'The scenario stopped the host', TESTING_ERRORS['host-died']);
  }
}
