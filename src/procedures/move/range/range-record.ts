import { randomUUID } from 'node:crypto';
import type { Container } from '@azure/cosmos';
import { type Clock, systemClock } from '../../../base/clock.ts';
import { formatOf } from '../../../base/format.ts';
import { fetchList } from '../../../cosmos/fetch-all.ts';
import { rewrite } from '../../../cosmos/compare-and-swap.ts';
import type { KeySpan } from '../../../shards/keys/spans.ts';
import { sharedError } from '../../../base/shared-errors.ts';
import { operationsError } from '../../errors.ts';
import { type MoveDocument, isUnfinished } from '../record.ts';

/**
 * - `moving`: batches begin, one after the other
 * - `cancelling`: no batch begins any more. What the map has given to the target stays there
 */
export type RangeStep = 'moving' | 'done' | 'cancelling' | 'cancelled';

/** A range of keys that moves to one shard in batches; a document beside the maps. Its batches name it. */
export interface RangeDocument extends KeySpan {
  readonly id: string;
  readonly pk: string;
  readonly type: 'millrace.moverange';
  readonly map: string;
  /** The range, for people. */
  readonly keys: string;
  /** Ids of shards. */
  readonly from: readonly string[];
  readonly to: string;
  readonly step: RangeStep;
  /** How many keys with documents were elsewhere when the range began to move. */
  readonly total: number;
  readonly startedAt: string;
  /** When a batch last began. */
  readonly aliveAt: string;
  readonly endedAt?: string;
}

const partitionOf = (map: string): string => `moveranges|${map.toLowerCase()}`;

/** The ranges of a map that move or have moved, the oldest first. */
export async function rangesOf(maps: Container, map: string, signal: AbortSignal): Promise<RangeDocument[]> {
  const partitionKey = partitionOf(map);
  const found = await fetchList<RangeDocument>(maps, 'SELECT * FROM c', signal, { partitionKey });
  return found.toSorted((a, b) => (a.startedAt < b.startedAt ? -1 : 1));
}

export const isOpen = ({ step }: RangeDocument): boolean => step === 'moving' || step === 'cancelling';

export const batchesOf = ({ id }: RangeDocument, moves: readonly MoveDocument[]): MoveDocument[] =>
  moves.filter(({ range }) => range?.id === id);

/** How far a range is, from the records of its batches. */
export function progressOfRange(range: RangeDocument, moves: readonly MoveDocument[]) {
  const batches = batchesOf(range, moves);
  const switched = batches.filter(({ step }) => step === 'switched' || step === 'clearing' || step === 'done');
  return {
    batches: batches.length,
    /** Keys that the map has given to the target. */
    moved: switched.reduce((sum, one) => sum + (one.range?.keys ?? 0), 0),
    parked: batches.flatMap(({ parked }) => parked),
    aliveAt: [range.aliveAt, ...batches.map((one) => one.aliveAt)].toSorted().at(-1)!,
    unfinished: batches.filter(isUnfinished),
  };
}

export async function beginRange(
  maps: Container,
  facts: Pick<RangeDocument, 'map' | 'keys' | 'low' | 'high' | 'from' | 'to' | 'total'>,
  clock: Clock = systemClock,
): Promise<RangeDocument> {
  const at = new Date(clock.now()).toISOString();
  const document: RangeDocument = {
    ...facts,
    id: randomUUID().slice(0, 8),
    pk: partitionOf(facts.map),
    type: 'millrace.moverange',
    ...formatOf('moverange'),
    step: 'moving',
    startedAt: at,
    aliveAt: at,
  };
  await rewrite(maps, document, (stored?: RangeDocument) => stored ?? document);
  return document;
}

/**
 * Stores the next step of a range, or that the next batch begins. One that is cancelled begins no batch any more.
 * @throws MillraceError `move-cancelled`, `not-found`
 */
export async function saveRange(
  maps: Container,
  { id, pk, keys }: RangeDocument,
  step: RangeStep,
  clock: Clock = systemClock,
): Promise<void> {
  const at = new Date(clock.now()).toISOString();
  await rewrite(maps, { id, pk }, (stored?: RangeDocument): RangeDocument => {
    if (!stored) throw sharedError('not-found', `The record of the range ${id} was removed`);
    const isCancelled = stored.step === 'cancelling' || stored.step === 'cancelled';
    if (isCancelled && (step === 'moving' || step === 'done'))
      throw operationsError('move-cancelled', `The move ${id} of ${keys} was cancelled`);
    const ends = step === 'done' || step === 'cancelled';
    return { ...stored, step, aliveAt: at, ...(ends && { endedAt: at }) };
  });
}
