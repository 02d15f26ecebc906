import { effectivePartitionKey } from '../../cosmos/effective-partition-key.ts';
import { keyHash } from '../../cosmos/key-definition.ts';
import { withRetry } from '../../cosmos/retry.ts';
import type { Identity } from '../../feed/reading/change.ts';
import { openLeases } from '../leases/groups.ts';
import { type LeaseRow, leaseRows } from '../leases/lease-rows.ts';
import type { Context } from '../context.ts';
import { plural } from '../table.ts';

/** How far the pipeline's hosts have read the part of the feed where a document's changes are. */
export interface TracedRange {
  /** The lease's token; null: there is no lease yet. */
  readonly token: string | null;
  readonly owner: string | null;
  readonly position: string | null;
  /** Milliseconds since 1970: changes that were written before it have been read; null: not known, or none was read. */
  readonly readUntil: number | null;
  readonly why: string;
}

/** The service's clock and ours may differ, and `_ts` has whole seconds. */
const CLOCKS_MS = 5_000;

/** Call it after the document was read: a range without lag has then passed what was read. */
export async function tracedRange({ container, key }: Identity, context: Context): Promise<TracedRange> {
  const services = await context.workspace.services();
  const { resource } = await withRetry(() => services.place.database.container(container).read(), { reads: true });
  const { kind, version } = keyHash(resource?.partitionKey);
  const hash = effectivePartitionKey([...key], kind, version);
  const { groups } = await openLeases(context);
  const own = groups.filter((group) => group.own && group.monitored?.container.id === container);
  const rows = await leaseRows(own, { expirationMs: 60_000 });
  const row = rows.find(({ range }) => range !== null && holds(range, hash));
  if (!row) {
    const why = `No lease of ${container} has this key: no host of the pipeline has started reading it.`;
    return { token: null, owner: null, position: null, readUntil: null, why };
  }
  const { token, owner, position, lag } = row;
  return { token, owner, position, readUntil: readUntil(row), why: `${sayOwner(row)} ${sayLag(lag)}` };
}

/** `min-max` of a lease, in hexadecimal; the first has 00 for the smallest. */
function holds(range: string, hash: string): boolean {
  const [min = '', max = ''] = range.split('-');
  return (min === '00' || min <= hash) && hash < max;
}

function readUntil({ lag, position }: LeaseRow): number | null {
  if (!lag.known || (position === null && lag.changes > 0)) return null;
  return lag.changes === 0 ? Date.now() + CLOCKS_MS : Date.now() - lag.ageMs - CLOCKS_MS;
}

const sayOwner = ({ token, container, owner }: LeaseRow): string =>
  owner === null
    ? `Lease ${token} of ${container ?? ''} is free: no host reads it.`
    : `${owner} has lease ${token} of ${container ?? ''}.`;

function sayLag(lag: LeaseRow['lag']): string {
  if (!lag.known) return `How far it was read is not known: ${lag.why}.`;
  return lag.changes === 0
    ? 'Every change of the range has been read.'
    : `At most ${plural(lag.changes, 'change')} of the range ${lag.changes === 1 ? 'waits' : 'wait'}; the oldest was written ${Math.round(lag.ageMs / 1_000)} s ago.`;
}
