import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { agoText, plural, textTable } from '../../procedures/table.ts';
import { listCheckpoints } from '../../procedures/checkpoints/store.ts';

export const checkpointsList = defineOperation({
  name: 'checkpoints list',
  summary: 'List the saved checkpoints, oldest first',
  examples: ['millrace checkpoints list', 'millrace checkpoints list --json'],
  shards: 'itself',
  effect: 'reads',
  input: z.object({}),
  run: async (_, { workspace, signal }) =>
    (await listCheckpoints(await workspace.services(), signal)).map(({ id, at, actor, sets }) => ({
      name: id,
      at,
      actor,
      sets,
    })),
  format: (checkpoints) =>
    checkpoints.length === 0
      ? 'No checkpoints. `millrace checkpoints save NAME` saves one.'
      : `${textTable(
          ['name', 'saved', 'by', 'container', 'positions', 'prefix'],
          checkpoints.flatMap(({ name, at, actor, sets }) =>
            sets.map(({ container, positions, prefix }) => [
              name,
              agoText(at),
              actor,
              container,
              positions.length,
              prefix,
            ]),
          ),
        )}\n${plural(checkpoints.length, 'checkpoint')}`,
});
