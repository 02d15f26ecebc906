import { z } from 'zod';
import type { Context, Plan } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../../procedures/table.ts';
import { type LeaseGroup, type LeaseInventory, chooseGroups, openLeases } from '../../procedures/leases/groups.ts';
import { expiration } from './inputs.ts';
import {
  type Move,
  type Procedure,
  assertEpochsFree,
  costOf,
  goesBack,
  moveLeases,
  moveText,
  raiseEpochs,
  whileStopped,
} from '../../procedures/rewind/rewind-leases.ts';
import { chooseLeases, movesBack, parseTarget, readTargetsAgain } from '../../procedures/rewind/targets.ts';
import { recorded } from '../../procedures/rewind/recorded.ts';

const input = z.object({
  container: z
    .string()
    .optional()
    .describe('only the pipeline’s leases of this container (default: all of its leases)'),
  prefix: z
    .string()
    .min(1)
    .optional()
    .describe('whole prefix of another processor’s leases (default: the pipeline’s own)'),
  to: z
    .string()
    .describe('beginning, a time (2026-06-03T12:00:00Z), checkpoint:NAME, or the position of one lease (\'"123"\')'),
  lease: z.string().optional().describe('only the lease with this token'),
  leaseExpiration: expiration,
});
type RewindInput = z.output<typeof input>;

interface Prepared {
  readonly inventory: LeaseInventory;
  readonly groups: readonly LeaseGroup[];
  readonly moves: readonly Move[];
  readonly procedure: Procedure;
}

async function prepare(given: RewindInput, context: Context): Promise<Prepared> {
  const target = parseTarget(given.to);
  const inventory = await openLeases(context);
  const groups = chooseGroups(inventory, given.prefix, given.container);
  const services = await context.workspace.services();
  const moves = await movesBack(chooseLeases(groups, given.lease), target, services, context.signal);
  await assertEpochsFree(context, moves);
  const prefixes = [...new Set(moves.map(({ group }) => group.prefix))];
  return { inventory, groups, moves, procedure: { prefixes, expirationMs: given.leaseExpiration } };
}

export const leasesRewind = defineOperation({
  noun: 'leases',
  verb: 'rewind',
  summary: 'Rewind leases to an earlier position, of the pipeline or of a stopped Functions app, .NET or Java service',
  examples: [
    'millrace leases rewind --to 2026-06-03T12:00:00Z --dry-run',
    'millrace leases rewind Orders --to beginning',
    'millrace leases rewind --to checkpoint:before-release',
    'millrace leases rewind Orders --to \'"4711"\' --lease 0',
    'millrace leases rewind --prefix billingacc.documents.azure.com_dbRid==_collRid= --to 2026-06-03',
  ],
  shards: 'one',
  effect: 'changes',
  argument: 'container',
  input,
  plan: async (given, context): Promise<Plan> => {
    const { moves, procedure } = await prepare(given, context);
    if (moves.length === 0) return { steps: [], ru: 0 };
    const again = await readTargetsAgain(moves);
    const { ru, seconds } = costOf(moves.length, procedure);
    return {
      steps: [
        'wait until no host has written the leases for two expirations; stop their hosts first',
        ...moves.map(moveText),
        ...(moves.some((move) => move.group.own) ? ['raise the epoch, so that changes read again count as newer'] : []),
        again === undefined ? 'deliver changes again' : `deliver at most ${plural(again, 'transaction')} again`,
        'wait one more expiration',
      ],
      // Reading a change of 1 KB again takes 1 RU; the projections' writes come on top.
      ru: ru + (again ?? 0),
      seconds,
    };
  },
  run: async (given, context) => {
    const { to } = given;
    // Reports wrong input before the waiting starts.
    const first = await prepare(given, context);
    if (first.moves.length === 0) return { to, moved: [], foreign: false };
    return recorded(context, first.inventory, 'leases rewind', given, async () => {
      const moves = await whileStopped(first.inventory.leases, first.procedure, context, async () => {
        const { inventory, moves: current } = await prepare(given, context);
        await moveLeases(inventory.leases, current, () => raiseEpochs(context, current));
        return current;
      });
      return {
        to,
        moved: moves.map((move) => ({ lease: move.lease.id, ...described(move) })),
        foreign: moves.some(({ group }) => !group.own),
      };
    });
  },
  format: ({ to, moved, foreign }) =>
    moved.length === 0
      ? `Every lease is already at ${to} or before it.`
      : [
          ...moved.map(({ text }) => text),
          `${plural(moved.length, 'lease')} rewound. Start the hosts again${foreign ? hintFor(to) : ''}.`,
        ].join('\n'),
});

const described = (move: Move): { from: string | null; to: string; back: boolean; text: string } => ({
  from: move.lease.position ?? null,
  to: move.to,
  back: goesBack(move),
  text: moveText(move),
});

/** A host that finds no lease creates one, which starts where the host's configuration says. */
const hintFor = (to: string): string =>
  to === 'beginning'
    ? ', configured to start from the beginning: startFromBeginning: true (Functions), WithStartTime(DateTime.MinValue.ToUniversalTime()) (.NET), setStartFromBeginning(true) (Java). Otherwise they start at the present'
    : '';
