// Repairs all differences of a shard or of a map, however many: in steps, and with a new check where another process came
// between.
import { sharedError } from '../../base/shared-errors.ts';
import { type MapDifference, MOST_AT_ONCE, type RepairSide } from './differences.ts';

/** Which side is right, for all differences or for each; undefined: the difference stays. */
export type RepairChoice = RepairSide | ((difference: MapDifference) => RepairSide | undefined);

export interface RepairOptions {
  /** Called after each step. */
  readonly progress?: (progress: RepairProgress) => void;
}

export interface RepairProgress {
  readonly repaired: number;
  /** Of the last check. */
  readonly left: number;
}

export interface Repaired {
  readonly repaired: number;
  /** Differences that the choice leaves as they are. */
  readonly stays: readonly MapDifference[];
}

interface Steps {
  readonly check: () => Promise<readonly MapDifference[]>;
  /** Resolves with the map's generation after it, if no other process has changed the map since. */
  readonly repair: (differences: readonly MapDifference[], side: RepairSide) => Promise<number>;
}

/** Rounds of checks. Each but the first and the last means that another process changed the map. */
const ROUNDS = 100;

export async function repairAll(
  { check, repair }: Steps,
  choice: RepairChoice,
  { progress }: RepairOptions,
): Promise<Repaired> {
  const sideOf = chooser(choice);
  let repaired = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const chosen = (await check()).map((difference) => ({ difference, side: sideOf(difference) }));
    const of = (side: RepairSide | undefined): MapDifference[] =>
      chosen.filter((one) => one.side === side).map(({ difference }) => difference);
    const stays = of(undefined);
    let left = chosen.length - stays.length;
    if (left === 0) return { repaired, stays };
    let generation: number | undefined;
    try {
      for (const side of ['map', 'shard'] as const)
        for (const step of stepsOf(of(side), side)) {
          // After a step of this call, and no other change, the rest is as it was compared.
          generation = await repair(step.map(compared(generation)), side);
          repaired += step.length;
          left -= step.length;
          progress?.({ repaired, left });
        }
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'stale') throw error;
    }
  }
  throw sharedError('contended', 'Other processes changed the map between the steps of a repair, in every round');
}

/** Repairs several shards one after the other. What is only taken away goes first in all of them: another one may have its keys. */
export async function repairInTurn(
  repairs: readonly ((choice: RepairChoice) => Promise<Repaired>)[],
  choice: RepairChoice,
): Promise<Repaired> {
  const sideOf = chooser(choice);
  const going: RepairChoice = (difference) => {
    const side = sideOf(difference);
    return side && comes(difference, side) ? undefined : side;
  };
  let repaired = 0;
  for (const repair of repairs) repaired += (await repair(going)).repaired;
  const stays: MapDifference[] = [];
  for (const repair of repairs) {
    const rest = await repair(choice);
    repaired += rest.repaired;
    stays.push(...rest.stays);
  }
  return { repaired, stays };
}

const chooser =
  (choice: RepairChoice) =>
  (difference: MapDifference): RepairSide | undefined =>
    typeof choice === 'function' ? choice(difference) : choice;

/** Whether the right side has the mapping. */
const comes = ({ inMap, inShard }: MapDifference, side: RepairSide): boolean =>
  (side === 'map' ? inMap : inShard) !== undefined;

/** What is only taken away comes first: a mapping that comes may have its keys. */
function stepsOf(differences: readonly MapDifference[], side: RepairSide): MapDifference[][] {
  const sorted = differences.toSorted((one, other) => Number(comes(one, side)) - Number(comes(other, side)));
  const steps: MapDifference[][] = [];
  for (let at = 0; at < sorted.length; at += MOST_AT_ONCE) steps.push(sorted.slice(at, at + MOST_AT_ONCE));
  return steps;
}

const compared =
  (generation: number | undefined) =>
  (difference: MapDifference): MapDifference =>
    generation === undefined ? difference : { ...difference, stored: { ...difference.stored, generation } };
