import type { Container } from '@azure/cosmos';
import type { Clock } from '../../base/clock.ts';
import { canonical } from '../../base/json.ts';
import { mapSettled } from '../../base/map-settled.ts';
import { until } from '../../base/until.ts';
import { Meter } from '../../cosmos/budget/charge-meter.ts';
import { storedKey } from '../../cosmos/paths.ts';
import { type ChangesPage, readChanges } from '../../feed/processor/read-changes.ts';
import type { HandedChange } from '../../feed/processor/handed-change.ts';
import { type RangePosition, lsnOf, positionIn } from '../../feed/reading/position.ts';
import { untilStopped } from '../../feed/tenure/fences.ts';
import type { WriteGate, WriteTarget } from '../../shards/gate/write-gate.ts';
import { CosmosAccess } from '../../access/cosmos-access.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { positionsNow } from '../positions-now.ts';
import type { BackfillOptions, Backfilled, Left } from './options.ts';
import type { Processed } from './processed.ts';
import type { BackfillTarget } from './target.ts';
import type { FoundTenant } from './values.ts';
import { type DueWrite, type WriteOptions, write } from './write.ts';

const PAGE = 1_000;
/** Documents that pass the write gate together, and how many times that many are written at the same time. */
const CHUNK = 100;
const CHUNKS_AT_ONCE = 8;
const POLL_MS = 250;
/** Rounds over what was written during the round before. */
const MOST_ROUNDS = 5;
/** `_ts` counts whole seconds. */
const CLOCK_SLACK_MS = 2_000;
const EXAMPLES = 20;
/** Reasons that are kept to name them for examples. */
const MOST_REASONS = 10_000;

/** What a backfill has done, in its lock. */
export interface Progress {
  readonly task: Task;
  /** Positions before which no document lacks a value that could be found. */
  readonly positions: readonly RangePosition[];
  /** Documents written until then. A process that died may have written more. */
  readonly written: number;
}

/** What is backfilled. Another task begins at the beginning of the feed. */
interface Task {
  /** The container's `_rid`, and its epoch: positions have no meaning in another one. */
  readonly rid: string;
  readonly epoch: number;
  /** The options that decide which documents get which values. */
  readonly given: Readonly<Record<string, unknown>>;
}

export interface RoundsOptions extends Omit<BackfillOptions, 'container' | 'patienceMs'> {
  readonly clock: Clock;
  /** How long it waits for hosts in a row. */
  readonly waitMs: number;
  readonly target: BackfillTarget;
  readonly in: Container;
  readonly known: Progress;
  readonly save: (progress: Progress) => Promise<void>;
  readonly gate: WriteGate;
  /** What hosts have processed; absent: no projection makes events of the container's changes. */
  readonly processed: Processed | undefined;
  readonly writing: WriteOptions;
}

/** A document that waits until hosts have processed its version. */
type Waiting = DueWrite & { readonly change: HandedChange };

/** One run of a backfill, in rounds over the feed. */
export class Rounds {
  readonly #options: RoundsOptions;
  readonly #meter = new Meter();
  readonly #access: CosmosAccess;
  /** Reasons that can't be found again from the document, by its identity. */
  readonly #reasons = new Map<string, string>();
  #read = 0;
  #written: number;
  #positions: readonly RangePosition[];
  #waitedMs = 0;

  constructor(options: RoundsOptions) {
    this.#options = options;
    this.#written = options.known.written;
    this.#positions = options.known.positions;
    this.#access = new CosmosAccess(options.services.place.database, untilStopped(options.signal), this.#meter);
  }

  /** Reads the feed to its present end, and again what was written meanwhile, until no document is left but for a reason. */
  async toEnd(): Promise<Backfilled> {
    const { in: container, writing, signal } = this.#options;
    for (let round = 1; ; round++) {
      await this.#look();
      const since = writing.clock.now() - CLOCK_SLACK_MS;
      await this.#readTo(await positionsNow(container, signal));
      const { left, fresh, examples } = await this.#left(since);
      if (fresh > 0 && round < MOST_ROUNDS) continue;
      const ru = { reading: Math.round(this.#read), writing: Math.round(this.#meter.charge) };
      return { container: container.id, field: writing.field, written: this.#written, left, examples, ru };
    }
  }

  async #readTo(end: readonly RangePosition[]): Promise<void> {
    const { in: container, known, save, signal, progress, pageSize = PAGE } = this.#options;
    const positions = this.#positions;
    const from = positions.length === 0 ? 'beginning' : ({ checkpoint: positions } as const);
    for await (const page of readChanges(container, { from, maxItems: pageSize, signal })) {
      this.#read += page.charge;
      await this.#page(page);
      this.#positions = page.checkpoint;
      await save({ ...known, positions: page.checkpoint, written: this.#written });
      progress?.(this.#written);
      if (end.every((one) => lsnOf(positionIn(one.range, page.checkpoint)) >= lsnOf(one.position))) return;
    }
  }

  async #page({ changes, range }: ChangesPage): Promise<void> {
    const { writing, processed, clock, signal, waitMs } = this.#options;
    const lacking = await this.#own(changes.filter(({ doc }) => writing.lacking.has(doc)));
    if (lacking.length === 0) return;
    await this.#look();
    const found = await this.#valuesOf(lacking.map(({ doc }) => doc));
    let due = lacking.flatMap((change, index): Waiting[] => {
      const one = found[index];
      return one && 'value' in one ? [{ change, stored: change.doc, value: one.value }] : [];
    });
    while (due.length > 0) {
      const isProcessed = (await processed?.of(range)) ?? (() => true);
      const [free, behind] = parted(due, ({ change }) => isProcessed(change));
      const parked = await processed?.parked(free.map(({ change }) => change));
      await this.#write(free.map((one) => ({ ...one, event: parked?.has(one.change) === true })));
      if (free.length > 0) this.#waitedMs = 0;
      due = behind;
      if (due.length === 0) return;
      if (this.#waitedMs >= waitMs) {
        for (const { change } of due) this.#leave(change, 'no host has processed its last change');
        return;
      }
      await clock.sleep(POLL_MS, signal);
      this.#waitedMs += POLL_MS;
    }
  }

  /**
   * Without those that a move has in hand: to the mover a copy that this has written would be the application's, and the
   * source's next version would be lost (MOVE-V38). The map is read after the page, so that no copy is older.
   */
  async #own(lacking: readonly HandedChange[]): Promise<readonly HandedChange[]> {
    const isForeign = lacking.length > 0 ? await this.#options.foreign?.() : undefined;
    if (!isForeign) return lacking;
    const [foreign, own] = parted(lacking, ({ key }) => isForeign(key));
    for (const change of foreign) this.#leave(change, 'its key moves, or is on another shard');
    return own;
  }

  async #write(due: readonly DueWrite[]): Promise<void> {
    const chunks = Array.from({ length: Math.ceil(due.length / CHUNK) }, (_, n) =>
      due.slice(n * CHUNK, (n + 1) * CHUNK),
    );
    await mapSettled(chunks, (chunk) => this.#writeChunk(chunk), { concurrency: CHUNKS_AT_ONCE });
  }

  /** A pass lasts a minute. If throttling takes longer, the rest goes by another one. */
  async #writeChunk(chunk: readonly DueWrite[]): Promise<void> {
    const { gate, services, signal, writing } = this.#options;
    const open = new Set(chunk);
    while (open.size > 0) {
      using pass = await until(gate.enter(), signal);
      this.#assertHere(pass.target);
      const fence = untilStopped(AbortSignal.any([signal, pass.signal]));
      const access = new CosmosAccess(services.place.database, fence, this.#meter);
      const one = async (due: DueWrite): Promise<void> => {
        const outcome = await write(due, access, writing);
        open.delete(due);
        if (outcome === 'written') this.#written += 1;
        else if (typeof outcome === 'object') this.#leave(due.change, outcome.why);
      };
      try {
        await mapSettled([...open], one, { concurrency: CHUNK });
      } catch (error) {
        if (signal.aborted || !pass.signal.aborted) throw error;
      }
    }
  }

  #assertHere({ container, database, endpoint }: WriteTarget): void {
    const { in: here } = this.#options;
    const there = database !== undefined && database !== here.database.id;
    if (container === here.id && !there && endpoint === undefined) return;
    throw sharedError('wrong-state', `Writers of ${here.id} write to ${container} now`, {
      hint: 'Run the backfill for the container that writers write to.',
    });
  }

  /** Documents that lack the field now. `fresh`: how many of them were written since. */
  async #left(since: number): Promise<{ left: number; fresh: number; examples: Left[] }> {
    const { writing, signal } = this.#options;
    const first: Readonly<Record<string, unknown>>[] = [];
    let [left, fresh] = [0, 0];
    for await (const doc of writing.lacking.read(signal)) {
      left += 1;
      if (Number(doc['_ts']) * 1_000 >= since) fresh += 1;
      if (first.length < EXAMPLES) first.push(doc);
    }
    const found = await this.#valuesOf(first);
    const examples = first.map((doc, index): Left => {
      const key = storedKey(doc, this.#options.target.keyPaths);
      const id = String(doc['id']);
      const one = found[index];
      const known = this.#reasons.get(canonical([key, id])) ?? 'it was written meanwhile';
      return { key, id, why: one && 'why' in one ? one.why : known };
    });
    return { left, fresh, examples };
  }

  async #valuesOf(documents: readonly Readonly<Record<string, unknown>>[]): Promise<FoundTenant[]> {
    const { writing } = this.#options;
    const found = await writing.values.of(documents, this.#access);
    return documents.map((_, index): FoundTenant => found[index] ?? { why: 'it was written meanwhile' });
  }

  #leave({ key, id }: Pick<HandedChange, 'key' | 'id'>, why: string): void {
    if (this.#reasons.size < MOST_REASONS) this.#reasons.set(canonical([key, id]), why);
  }

  #look(): Promise<void> {
    const { services, signal, writing } = this.#options;
    return writing.clock.look(services.place.state, signal);
  }
}

/** Those for which it holds, and the others. */
const parted = <T>(all: readonly T[], holds: (one: T) => boolean): [T[], T[]] => [
  all.filter(holds),
  all.filter((one) => !holds(one)),
];
