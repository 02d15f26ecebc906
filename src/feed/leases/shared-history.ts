import { isObject } from '../../base/json.ts';
import { lsnOf } from '../reading/position.ts';

/**
 * Up to `lsn` a lease has its transactions in common with others, `parts` leases in all: those came of one lease by
 * splits, and the parts of a physical partition keep the lsns of the whole. A list rises in `lsn`; an entry is about what
 * lies after the one before it.
 */
export interface SharedHistory {
  readonly lsn: number;
  readonly parts: number;
}

/** What each of `parts` has in common with others when a lease that had `former` in common is split at `lsn`. */
export function sharedBySplit(former: readonly SharedHistory[], lsn: number, parts: number): SharedHistory[] {
  const earlier = former.map((one) => ({ lsn: one.lsn, parts: one.parts * parts }));
  return lsn > (former.at(-1)?.lsn ?? -1) ? [...earlier, { lsn, parts }] : earlier;
}

/** Without what a position has passed. */
export const sharedAfter = (shared: readonly SharedHistory[], position: string | undefined): readonly SharedHistory[] =>
  shared.filter(({ lsn }) => lsn > lsnOf(position));

/** How many lsns from `first` to `newest` are a lease's, where each of those it shares is divided among the parts. */
export function countOwn(first: number, newest: number, shared: readonly SharedHistory[] = []): number {
  let own = 0;
  let from = first;
  for (const { lsn, parts } of shared) {
    const to = Math.min(lsn, newest);
    if (to < from) continue;
    own += (to - from + 1) / parts;
    from = to + 1;
  }
  return Math.ceil(own + Math.max(0, newest - from + 1));
}

/** Undefined where it is none. */
export function parseShared(value: unknown): SharedHistory[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const read = value.flatMap((one: unknown): SharedHistory[] => {
    if (!isObject(one)) return [];
    const { lsn, parts } = one;
    return isCount(lsn) && isCount(parts) && parts > 1 ? [{ lsn, parts }] : [];
  });
  const rises = read.every(({ lsn }, n) => lsn > (read[n - 1]?.lsn ?? -1));
  return rises && read.length === value.length ? read : undefined;
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
