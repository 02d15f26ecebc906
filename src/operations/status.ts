import { z } from 'zod';
import { projectionId } from '../definition/kinds.ts';
import { readDeadLetters } from './dead-letters/list.ts';
import { readLeases } from './leases/list.ts';
import { defineOperation } from './operation.ts';
import { plural, table } from './table.ts';

export const status = defineOperation({
  verb: 'status',
  summary: 'Show the projections, who reads their feeds, and what is parked',
  examples: ['millrace status --env production', 'millrace status --json'],
  effect: 'reads',
  input: z.object({}),
  run: async (_, { workspace, signal }) => {
    const { pipeline } = await workspace.pipeline();
    const services = await workspace.services();
    const [leases, letters] = await Promise.all([readLeases(services, signal), readDeadLetters(services)]);
    const owners = Map.groupBy(leases, ({ owner }) => owner ?? '');
    return {
      database: services.database.id,
      projections: pipeline.projections.map((spec) => {
        const id = projectionId(spec);
        return { id, parked: letters.filter(({ projection }) => projection === id).length };
      }),
      leases: { all: leases.length, free: owners.get('')?.length ?? 0 },
      hosts: [...owners]
        .filter(([owner]) => owner !== '')
        .map(([owner, held]) => ({
          owner,
          leases: held.length,
          writtenSecondsAgo: Math.min(...held.map(({ age }) => age)),
        })),
    };
  },
  format: ({ database, projections, leases, hosts }) =>
    [
      `Database ${database}: ${plural(leases.all, 'lease')}, ${leases.free} of them free.`,
      '',
      table(
        ['projection', 'parked'],
        projections.map(({ id, parked }) => [id, parked]),
      ),
      '',
      hosts.length === 0
        ? 'No host holds a lease: nothing runs, or it was killed before it took one.'
        : table(
            ['host', 'leases', 'last lease write'],
            hosts.map((host) => [host.owner, host.leases, `${host.writtenSecondsAgo} s ago`]),
          ),
    ].join('\n'),
});
