import { sayRange } from '../../cosmos/ranges.ts';
import type { Lag } from '../../feed/processor/lag-estimator.ts';
import type { LeaseGroup } from './groups.ts';
import { lagsOf } from './lags.ts';
import { type LeaseState, leaseStateOf } from './state.ts';

export interface LeaseRow {
  /** The part of the document's id before `..`: processor, account, database and container. */
  readonly prefix: string;
  /** The monitored container; null if it is not in this database. */
  readonly container: string | null;
  readonly token: string;
  readonly range: string | null;
  readonly dialect: string | null;
  readonly owner: string | null;
  /** Quoted LSN; null: no position yet. */
  readonly position: string | null;
  /** Seconds since the last write of the lease: our clock minus the service's (`_ts`). */
  readonly age: number | null;
  readonly lag: Lag;
  /** `unexplained`: a document in no known dialect; it is shown and never changed. */
  readonly state: LeaseState | 'unexplained';
  readonly why: string;
}

export interface RowOptions {
  readonly expirationMs: number;
}

/** Every lease of the groups, ours and others', with its lag, its state, and the reason for the state. */
export async function leaseRows(
  groups: readonly LeaseGroup[],
  options: RowOptions,
  now = Date.now(),
): Promise<LeaseRow[]> {
  const lags = await lagsOf(groups);
  return groups.flatMap((group): LeaseRow[] => {
    const { prefix, monitored, leases, unexplained } = group;
    const container = monitored?.container.id ?? null;
    const nothing = { range: null, dialect: null, owner: null, position: null, age: null } as const;
    return [
      ...leases.map((lease): LeaseRow => {
        const lag = lags.get(lease) ?? { known: false, why: 'it was not measured' };
        const { token, range, dialect, owner, position, storedAt } = lease;
        return {
          prefix,
          container,
          token,
          range: range ? sayRange(range) : null,
          dialect,
          owner,
          position: position ?? null,
          age: Math.max(0, Math.round((now - storedAt) / 1000)),
          lag,
          ...leaseStateOf(lease, group, lag, { ...options, now }),
        };
      }),
      ...unexplained.map(({ id, why }): LeaseRow => {
        const lag = { known: false, why: 'its position can’t be read' } as const;
        return { prefix, container, token: id, ...nothing, lag, state: 'unexplained', why };
      }),
    ];
  });
}
