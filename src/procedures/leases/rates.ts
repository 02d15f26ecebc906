import { MillraceError } from '../../base/errors.ts';
import { type HostStatus, readHostStatuses } from '../status/host-status.ts';
import type { Context } from '../context.ts';
import type { LeaseGroup } from './groups.ts';
import type { LeaseRow } from './lease-rows.ts';

type Range = NonNullable<HostStatus['ranges']>[number];

export interface LeaseRates extends Pick<Range, 'handledPerSecond' | 'inPerSecond' | 'outPerSecond' | 'catchUp'> {
  /** The time of the report, ISO 8601 UTC. */
  readonly at: string;
}

export interface RatedRow extends LeaseRow {
  /** From the last report of the lease's owner; null: no report names this lease. */
  readonly rates: LeaseRates | null;
}

/**
 * Adds the rates that the owners last reported. Only hosts of this pipeline report, and a report names a lease by its
 * container and token: so leases of other prefixes have no rates. Nor has an expired lease: no host writes it any more,
 * though the last report of its owner stays for a day.
 */
export async function withRates(
  rows: readonly LeaseRow[],
  groups: readonly LeaseGroup[],
  { workspace, signal }: Pick<Context, 'workspace' | 'signal'>,
): Promise<RatedRow[]> {
  const own = new Set(groups.flatMap((group) => (group.own ? [group.prefix] : [])));
  const reports = own.size === 0 ? [] : await reportsOf(await workspace.services(), signal);
  return rows.map((row) => ({
    ...row,
    rates: own.has(row.prefix) && row.state !== 'expired' ? ratesOf(row, reports) : null,
  }));
}

/** The reports of the hosts; none without a state container, because leases can be listed without one. */
async function reportsOf(
  services: Parameters<typeof readHostStatuses>[0],
  signal: AbortSignal,
): Promise<readonly HostStatus[]> {
  try {
    return await readHostStatuses(services, signal);
  } catch (error) {
    if (error instanceof MillraceError && error.code === 'container-missing') return [];
    throw error;
  }
}

function ratesOf({ owner, container, token }: LeaseRow, reports: readonly HostStatus[]): LeaseRates | null {
  const report = reports.find(({ id }) => id === owner);
  const range = report?.ranges.find((of) => of.container === container && of.lease === token);
  if (!report || !range) return null;
  const { handledPerSecond, inPerSecond, outPerSecond, catchUp } = range;
  return { handledPerSecond, inPerSecond, outPerSecond, catchUp, at: report.at };
}
