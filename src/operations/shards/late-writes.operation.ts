// Late writes that moves have named: list them, and settle them.
import { z } from 'zod';
import { audited } from '../audit/record.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../table.ts';
import { mapInput } from './inputs.ts';
import { movesOf } from './moving/record.ts';
import { lateWrites, settleLate } from './moving/settle.ts';
import { cancelInput, moveOptions, shown } from './moving-verbs.ts';

const none = { takeOver: false };

export const shardsLateWrites = defineOperation({
  noun: 'shards',
  verb: 'late-writes',
  summary: 'List late writes that moves have named, as both shards have their documents',
  examples: ['millrace shards late-writes tenants', 'millrace shards late-writes tenants --move 1f0c9a2e'],
  effect: 'reads',
  argument: 'map',
  input: z.object({ ...mapInput, move: z.string().min(1).optional().describe('only those of the move with this id') }),
  run: async ({ map, move }, context) => {
    const options = await moveOptions(context, map, none);
    const moves = (await movesOf(options.maps, options.map.name, context.signal)).filter(
      ({ id, parked }) => parked.length > 0 && (move === undefined || id === move),
    );
    const all = [];
    for (const { id } of moves) all.push(...(await lateWrites(options, id)));
    return all;
  },
  ok: (all) => all.length === 0,
  format: (all, { map }) =>
    all.length === 0
      ? 'No late write is left.'
      : [
          ...all.flatMap((one) => [
            `${one.move}: ${shown(one)}`,
            `  source ${one.source ? JSON.stringify(one.source) : 'has nothing'}`,
            `  target ${one.target ? JSON.stringify(one.target) : 'has nothing'}`,
          ]),
          `\`millrace shards settle ${map} --move ID --keep source\` carries them over, with \`--keep target\` it deletes them.`,
        ].join('\n'),
});

export const shardsSettle = defineOperation({
  noun: 'shards',
  verb: 'settle',
  summary: 'Settle late writes that a move has named: carry them over to the target, or delete them from the source',
  examples: [
    'millrace shards settle tenants --move 1f0c9a2e --keep source --id 4711 --container Orders',
    'millrace shards settle tenants --move 1f0c9a2e --keep target --dry-run',
  ],
  effect: 'destroys',
  argument: 'map',
  input: z.object({
    ...mapInput,
    move: z.string().min(1).describe('id of the move, as `millrace shards late-writes` shows it'),
    keep: z.enum(['source', 'target']).describe('whose version stays, in the target'),
    container: z.string().min(1).optional().describe('only documents of this container'),
    id: z.string().min(1).optional().describe('only documents with this id'),
    patience: cancelInput.patience,
  }),
  plan: async ({ map, move, keep, container, id }, context) => {
    const all = await lateWrites(await moveOptions(context, map, none), move);
    const what = keep === 'source' ? 'carry over and remove from the source:' : 'delete from the source:';
    return { steps: all.filter(chosenBy(container, id)).map((one) => `${what} ${shown(one)}`), ru: 0 };
  },
  run: async (given, context) => {
    const options = await moveOptions(context, given.map, { ...none, patience: given.patience });
    return audited(context, 'shards settle', given, async () => ({
      settled: await settleLate(options, given.move, given.keep, chosenBy(given.container, given.id)),
      left: (await lateWrites(options, given.move)).length,
    }));
  },
  format: ({ settled, left }) => `${plural(settled.length, 'late write')} settled, ${left} left.`,
});

const chosenBy =
  (container: string | undefined, id: string | undefined) =>
  (one: { readonly container: string; readonly id: string }): boolean =>
    (container === undefined || one.container === container) && (id === undefined || one.id === id);
