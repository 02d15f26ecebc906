import { z } from 'zod';
import { type LeaseDocument, parseLease } from '../../feed/lease-document.ts';
import { fetchAll } from '../fetch-all.ts';
import { defineOperation } from '../operation.ts';
import { plural, table } from '../table.ts';
import type { Services } from '../workspace.ts';

export interface LeaseRow {
  /** What comes before `..` in the document's id: processor, account, database and container. */
  readonly prefix: string;
  readonly token: string;
  readonly range: string;
  readonly owner: string | null;
  /** Quoted LSN; null: nothing was checkpointed yet. */
  readonly position: string | null;
  /** Seconds since the lease was written last, by the service's clock (`_ts`) and ours. */
  readonly age: number;
}

/** Every lease document of the lease container, ours and others', by prefix and token. */
export async function readLeases(services: Services, signal: AbortSignal, now = Date.now()): Promise<LeaseRow[]> {
  const rows: LeaseRow[] = [];
  for await (const raw of fetchAll<LeaseDocument & { _ts?: number }>(services.leases, 'SELECT * FROM c', signal)) {
    const lease = parseLease(raw, () => undefined);
    if (!lease) continue;
    rows.push({
      prefix: lease.id.split('..')[0] ?? lease.id,
      token: lease.token,
      range: `${lease.range.min || '00'}-${lease.range.max}`,
      owner: lease.owner,
      position: lease.position ?? null,
      age: Math.max(0, Math.round(now / 1000 - (raw._ts ?? 0))),
    });
  }
  return rows.toSorted((a, b) =>
    `${a.prefix} ${a.token}`.localeCompare(`${b.prefix} ${b.token}`, 'en', { numeric: true }),
  );
}

export const leasesList = defineOperation({
  noun: 'leases',
  verb: 'list',
  summary: 'Show who reads which feed range, and how far',
  examples: ['millrace leases list', 'millrace leases list --env production --json'],
  effect: 'reads',
  input: z.object({}),
  run: async (_, { workspace, signal }) => readLeases(await workspace.services(), signal),
  format: (leases) =>
    leases.length === 0
      ? 'No leases yet: no processor has started.'
      : `${table(
          ['prefix', 'token', 'range', 'owner', 'position', 'written'],
          leases.map((lease) => [
            lease.prefix,
            lease.token,
            lease.range,
            lease.owner ?? '(free)',
            lease.position ?? '(none)',
            `${lease.age} s ago`,
          ]),
        )}\n${plural(leases.length, 'lease')}`,
});
