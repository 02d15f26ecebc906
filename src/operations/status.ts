import { z } from 'zod';
import { projectionId } from '../definition/kinds.ts';
import { readDeadLetters } from './dead-letters/list.ts';
import { type HostStatus, readHostStatuses } from './host-status.ts';
import { chooseGroups, openLeases } from './leases/groups.ts';
import { expiration } from './leases/inputs.ts';
import { lagText } from './leases/lags.ts';
import { type LeaseRow, STUCK_MS, leaseRows } from './leases/list.ts';
import { type Context, defineOperation } from './operation.ts';
import { plural, table } from './table.ts';

export const status = defineOperation({
  verb: 'status',
  summary: 'Show the projections, who reads their feeds and how far behind, and what is parked',
  examples: ['millrace status --env production', 'millrace status --json'],
  effect: 'reads',
  input: z.object({ leaseExpiration: expiration }),
  run: async ({ leaseExpiration }, context: Context) => {
    const { workspace, signal } = context;
    const { pipeline } = await workspace.pipeline();
    const services = await workspace.services();
    const room = await openLeases(context);
    const groups = room.groups.some(({ own }) => own) ? chooseGroups(room) : [];
    const [leases, letters, said] = await Promise.all([
      leaseRows(groups, { expirationMs: leaseExpiration, stuckMs: STUCK_MS }),
      readDeadLetters(services),
      readHostStatuses(services, signal),
    ]);
    return {
      database: services.database.id,
      projections: pipeline.projections.map((spec) => {
        const id = projectionId(spec);
        return { id, parked: letters.filter(({ projection }) => projection === id).length };
      }),
      leases: { all: leases.length, free: leases.filter(({ owner }) => owner === null).length },
      sources: [...Map.groupBy(leases, ({ container }) => container ?? '')].map(([container, of]) => ({
        container,
        leases: of.length,
        lag: lagTogether(of),
        troubled: of.filter(({ state }) => TROUBLED.has(state)).map(({ token, why }) => ({ token, why })),
      })),
      hosts: hostsOf(leases, said),
    };
  },
  format: ({ database, projections, leases, sources, hosts }) =>
    [
      `Database ${database}: ${plural(leases.all, 'lease')}, ${leases.free} of them free.`,
      '',
      table(
        ['projection', 'parked'],
        projections.map(({ id, parked }) => [id, parked]),
      ),
      ...(sources.length === 0
        ? []
        : [
            '',
            table(
              ['source', 'leases', 'lag'],
              sources.map(({ container, leases: count, lag }) => [container, count, lagText(lag)]),
            ),
            ...sources.flatMap(({ container, troubled }) =>
              troubled.map(({ token, why }) => `${container} ${token}: ${why}`),
            ),
          ]),
      '',
      hosts.length === 0
        ? 'No host holds a lease: nothing runs, or it was killed before it took one.'
        : table(
            ['host', 'leases', 'last lease write', 'changes', 'says'],
            hosts.map(({ owner, leases: held, writtenSecondsAgo, status: of }) => [
              owner,
              held,
              writtenSecondsAgo === null ? '' : `${writtenSecondsAgo} s ago`,
              of ? of.projections.reduce((sum, { changes }) => sum + changes, 0) : '',
              of ? saying(of) : '',
            ]),
          ),
    ].join('\n'),
});

const TROUBLED: ReadonlySet<LeaseRow['state']> = new Set([
  'stuck',
  'expired',
  'unresolved',
  'unexplained',
  'duplicate',
]);

function lagTogether(rows: readonly LeaseRow[]): LeaseRow['lag'] {
  const sum = { known: true as const, changes: 0, ageMs: 0, charge: 0 };
  for (const { lag } of rows) {
    if (!lag.known) return lag;
    sum.changes += lag.changes;
    sum.ageMs = Math.max(sum.ageMs, lag.ageMs);
    sum.charge += lag.charge;
  }
  return sum;
}

/** Who holds leases, and who has said something of himself in the last day. */
function hostsOf(leases: readonly LeaseRow[], said: readonly HostStatus[]) {
  const owned = Map.groupBy(leases, ({ owner }) => owner ?? '');
  owned.delete('');
  return [...new Set([...owned.keys(), ...said.map(({ id }) => id)])].map((owner) => {
    const held = owned.get(owner) ?? [];
    const of = said.find(({ id }) => id === owner);
    const ages = held.flatMap(({ age }) => (age === null ? [] : [age]));
    return {
      owner,
      leases: held.length,
      writtenSecondsAgo: ages.length === 0 ? null : Math.min(...ages),
      ...(of && { status: of }),
    };
  });
}

function saying({ at, startedAt, sources }: HostStatus): string {
  const failure = sources.find((source) => source.failure !== undefined);
  const trouble = failure ? `; ${failure.container}: ${failure.failure}` : '';
  return `up since ${startedAt.slice(0, 19)}Z, last heard ${at.slice(11, 19)}Z${trouble}`;
}
