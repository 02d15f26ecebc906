import { z } from 'zod';
import { Holds } from '../../archive/holds.ts';
import { defineOperation } from '../operation.ts';
import { textTable } from '../../procedures/table.ts';

export const archiveHoldList = defineOperation({
  shards: 'itself',
  name: 'archive hold list',
  summary: 'List the tenants whose archive is under a legal hold, with the reasons',
  examples: ['millrace archive hold list', 'millrace archive hold list --json'],
  effect: 'reads',
  input: z.object({}),
  run: async (_, { workspace, signal }) => new Holds((await workspace.services()).global.state).all(signal),
  format: (holds) =>
    holds.length === 0
      ? 'No tenant is under a legal hold.'
      : textTable(
          ['tenant', 'since', 'by', 'reason', 'waiting erasure'],
          holds.map(({ tenant, at, actor, reason, erasure }) => [tenant, at, actor, reason, erasure ?? '']),
        ),
});
