import type { StoredItem, StoredVersion } from './logical-partition.ts';

interface UndoStep {
  readonly lsn: number;
  readonly at: number;
  readonly item: StoredItem;
  readonly before: StoredVersion | undefined;
}

/**
 * The steps that undo the last writes of a physical partition, kept for lagging replicas, failovers and restores. The
 * state at an lsn is the current state with every later write undone, the newest first.
 */
export class Undo {
  #steps: UndoStep[] = [];
  /** Everything up to this lsn can no longer be undone. */
  #floor = 0;

  push(step: UndoStep, keepMs: number): void {
    if (keepMs <= 0) {
      if (this.#steps.length > 0) this.#steps = [];
      this.#floor = step.lsn;
      return;
    }
    this.#steps.push(step);
    if (this.#steps.length > 256 && this.#steps[0]!.at < step.at - 2 * keepMs) {
      const from = this.#steps.findIndex(({ at }) => at >= step.at - keepMs);
      this.#floor = Math.max(this.#floor, this.#steps[from - 1]?.lsn ?? 0);
      this.#steps = this.#steps.slice(from);
    }
  }

  /** The steps of a part of the items, for a split partition. */
  part(keep: (item: StoredItem) => boolean): Undo {
    const part = new Undo();
    part.#floor = this.#floor;
    part.#steps = this.#steps.filter(({ item }) => keep(item));
    return part;
  }

  /** The steps that remain after everything above `lsn` is undone. */
  until(lsn: number): Undo {
    const rest = new Undo();
    rest.#floor = Math.min(this.#floor, lsn);
    rest.#steps = this.#steps.filter((step) => step.lsn <= lsn);
    return rest;
  }

  /** Drops all steps: nothing up to `lsn` can be undone any more. */
  forget(lsn: number): void {
    this.#steps = [];
    this.#floor = lsn;
  }

  /** The lsn that a replica had reached at `time`, never below `floor`. */
  lsnAt(time: number, floor: number, latest: number): number {
    let lsn = latest;
    for (let i = this.#steps.length - 1; i >= 0 && this.#steps[i]!.at > time; i--) lsn = this.#steps[i]!.lsn - 1;
    return Math.min(latest, Math.max(lsn, floor, this.#floor));
  }

  /** The items that were different at `lsn`, with their versions then. */
  since(lsn: number): Map<StoredItem, StoredVersion | undefined> {
    const past = new Map<StoredItem, StoredVersion | undefined>();
    for (let i = this.#steps.length - 1; i >= 0 && this.#steps[i]!.lsn > lsn; i--) {
      past.set(this.#steps[i]!.item, this.#steps[i]!.before);
    }
    return past;
  }
}
