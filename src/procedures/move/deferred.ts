import type { Container } from '@azure/cosmos';
import type { FeedRange } from '../../cosmos/ranges.ts';
import { registeredOf } from '../../engine/deferred/registered.ts';
import { feedLsnOf } from '../../feed/reading/change.ts';
import { asDocument } from './entries-of.ts';
import type { MovedContainer } from './side.ts';

/** Up to where a range is written. */
export interface Written {
  readonly range: FeedRange;
  readonly lsn: number;
}

export interface IsDeferredOptions {
  readonly state: Container;
  /** By the names of their leases. */
  readonly pipelines: ReadonlySet<string>;
  readonly of: MovedContainer;
  readonly written: readonly Written[];
  readonly signal: AbortSignal;
}

/**
 * Whether hosts have deferred changes of the part (TEN-F1) that its feed showed up to `written`. Such a change is applied
 * later, by what its container has then: a document that has left would count as deleted.
 */
export async function isDeferred({ state, pipelines, of, written, signal }: IsDeferredOptions): Promise<boolean> {
  for (const pipeline of pipelines)
    for await (const items of registeredOf(state, { pipeline, source: of.name }, signal).changes())
      for (const item of items) {
        const hash = of.hashOf(item.key);
        const shown = written.some(({ range, lsn }) => range.min <= hash && hash < range.max && feedLsnOf(item) <= lsn);
        if (shown && of.part.has(asDocument(of, item.key))) return true;
      }
  return false;
}
