import { sharedError } from '../../base/shared-errors.ts';
import { parseContinuation } from '../reading/position.ts';
import type { Start } from '../reading/source.ts';
import type { FeedStartOption } from './processor-options.ts';

/** @throws UsageError `continuation-invalid` */
export function feedStartOf(start: FeedStartOption, rid: string, container: string): Start {
  if (typeof start === 'string' || start instanceof Date) return start;
  if ('checkpoint' in start) return start.checkpoint;
  const { rid: of, positions } = parseContinuation(start.continuation);
  if (of === undefined || of === rid) return positions;
  throw sharedError(
    'continuation-invalid',
    `The continuation belongs to another container than ${container}, or to an earlier container of this name`,
    { hint: 'Start from the beginning, from a time or from now.' },
  );
}
