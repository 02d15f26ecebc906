import type { OperationInput } from '@azure/cosmos';
import { mapSettled } from '../../base/map-settled.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { AmbiguousOutcome } from '../../cosmos/retry.ts';
import { MAX_BATCH, MAX_BATCH_BYTES } from '../../access/document-access.ts';
import type { LetterDocument, StoredLetter } from './letter-document.ts';

/** Batches of one projection's letters at the same time. They are in one logical partition. */
const BATCHES_AT_ONCE = 4;

/** Another host wrote first, or the outcome is unknown: read again and decide again. */
const isRace = (error: unknown): boolean =>
  error instanceof AmbiguousOutcome || ['precondition', 'conflict'].includes(failureOf(error).kind);

/** One letter made the batch fail, or its outcome is unknown: the letters can be written one by one. */
export const isOfOne = (error: unknown): boolean =>
  isRace(error) || ['not-found', 'too-large', 'refused'].includes(failureOf(error).kind);

export const writeLetter = (
  letter: Omit<LetterDocument, '_etag'>,
  before: StoredLetter | undefined,
): OperationInput => {
  const resourceBody = letter as never;
  if (!before) return { operationType: 'Create', resourceBody };
  return { operationType: 'Replace', id: letter.id, resourceBody, ifMatch: before._etag };
};

export const removal = ({ id, _etag }: StoredLetter): OperationInput => {
  // The service accepts a condition on a delete; only the SDK's type lacks it.
  const conditional: OperationInput & { ifMatch: string } = { operationType: 'Delete', id, ifMatch: _etag };
  return conditional;
};

export async function inBatches<T>(items: readonly T[], work: (some: readonly T[]) => Promise<void>): Promise<void> {
  const batches: T[][] = [];
  for (let from = 0; from < items.length; from += MAX_BATCH) batches.push(items.slice(from, from + MAX_BATCH));
  await mapSettled(batches, work, { concurrency: BATCHES_AT_ONCE });
}

/** Splits writes into batches, because letters with their changes may be larger together than a batch may be. */
export function bySize(writes: readonly OperationInput[]): OperationInput[][] {
  const batches: OperationInput[][] = [];
  let left = 0;
  for (const one of writes) {
    const bytes = Buffer.byteLength(JSON.stringify(one));
    if (bytes > left || batches.length === 0) {
      batches.push([]);
      left = MAX_BATCH_BYTES;
    }
    batches.at(-1)?.push(one);
    left -= bytes;
  }
  return batches;
}
