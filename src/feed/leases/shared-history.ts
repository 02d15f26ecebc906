import { isObject } from '../../base/json.ts';
import { lsnOf } from '../reading/position.ts';

/**
 * Up to `lsn`, the lease shares its transactions with other leases, `parts` leases in all. They came from one lease by
 * splits, and the parts of a physical partition keep the lsns of the whole. In a list `lsn` rises; each entry counts from
 * the one before it.
 */
export interface SharedHistory {
  readonly lsn: number;
  readonly parts: number;
}

/** The shared history of each part when a lease with the shared history `former` is split at `lsn` into `parts`. */
export function sharedBySplit(former: readonly SharedHistory[], lsn: number, parts: number): SharedHistory[] {
  const earlier = former.map((one) => ({ lsn: one.lsn, parts: one.parts * parts }));
  return lsn > (former.at(-1)?.lsn ?? -1) ? [...earlier, { lsn, parts }] : earlier;
}

/** The shared history without the entries that a position has passed. */
export const sharedAfter = (shared: readonly SharedHistory[], position: string | undefined): readonly SharedHistory[] =>
  shared.filter(({ lsn }) => lsn > lsnOf(position));

/** The number of lsns from `first` to `newest` of a lease. A shared lsn counts as a fraction, 1 / parts. */
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

/** Reads a stored shared history; undefined if it is not valid. */
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
