import { z } from 'zod';
import { audited } from '../audit/record.ts';
import { type Context, type Plan, defineOperation } from '../operation.ts';
import { plural } from '../table.ts';
import { type LeaseGroup, type LeaseRoom, chooseGroups, openLeases } from './groups.ts';
import { expiration } from './inputs.ts';
import {
  type Move,
  type Procedure,
  costOf,
  goesBack,
  moveLeases,
  moveText,
  raiseEpochs,
  whileStopped,
} from './move.ts';
import { chooseLeases, movesBack, parseTarget, readAgain } from './targets.ts';

const input = z.object({
  prefix: z
    .string()
    .min(1)
    .optional()
    .describe('another processor’s leases, by their whole prefix; the pipeline’s own if absent'),
  to: z
    .string()
    .describe('beginning, a time (2026-06-03T12:00:00Z), checkpoint:NAME, or the token of one lease (\'"123"\')'),
  container: z.string().optional().describe('only the pipeline’s leases of this container'),
  lease: z.string().optional().describe('only the lease with this token'),
  leaseExpiration: expiration,
});
type RewindInput = z.output<typeof input>;

interface Prepared {
  readonly room: LeaseRoom;
  readonly groups: readonly LeaseGroup[];
  readonly moves: readonly Move[];
  readonly procedure: Procedure;
}

async function prepare(given: RewindInput, context: Context): Promise<Prepared> {
  const target = parseTarget(given.to);
  const room = await openLeases(context);
  const groups = chooseGroups(room, given.prefix, given.container);
  const services = await context.workspace.services();
  const moves = await movesBack(chooseLeases(groups, given.lease), target, services, context.signal);
  const prefixes = [...new Set(moves.map(({ group }) => group.prefix))];
  return { room, groups, moves, procedure: { prefixes, expirationMs: given.leaseExpiration } };
}

export const leasesRewind = defineOperation({
  noun: 'leases',
  verb: 'rewind',
  summary:
    'Deliver changes again from an earlier point: ours, or those of a stopped Functions app, .NET or Java service',
  examples: [
    'millrace leases rewind --to 2026-06-03T12:00:00Z --dry-run',
    'millrace leases rewind --to beginning --container Orders',
    'millrace leases rewind --to checkpoint:before-release',
    'millrace leases rewind --to \'"4711"\' --lease 0 --container Orders',
    'millrace leases rewind billingacc.documents.azure.com_dbRid==_collRid= --to 2026-06-03',
  ],
  effect: 'changes',
  argument: 'prefix',
  input,
  plan: async (given, context): Promise<Plan> => {
    const { moves, procedure } = await prepare(given, context);
    if (moves.length === 0) return { steps: [], ru: 0 };
    const again = await readAgain(moves);
    const { ru, seconds } = costOf(moves.length, procedure);
    return {
      steps: [
        'wait until nobody has written the leases for two expirations: stop every host of theirs first',
        ...moves.map(moveText),
        ...(moves.some((move) => move.group.own)
          ? ['raise the epoch, so that what is read again counts as newer']
          : []),
        `deliver ${again === undefined ? 'changes' : plural(again, 'transaction')} again, at most`,
        'wait one expiration more',
      ],
      // Reading a change of 1 KB again takes 1 RU; what is derived from it comes on top.
      ru: ru + (again ?? 0),
      seconds,
    };
  },
  run: async (given, context) => {
    const { to } = given;
    // Everything that is wrong with the input is told before anybody waits.
    const first = await prepare(given, context);
    if (first.moves.length === 0) return { to, moved: [], foreign: false };
    return audited(context, 'leases rewind', given, async () => {
      const moves = await whileStopped(first.room.leases, first.procedure, context, async () => {
        const { room, moves: current } = await prepare(given, context);
        await moveLeases(room.leases, current, () => raiseEpochs(context, current));
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
      ? `Every lease is at ${to}, or before it: nothing to do.`
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

/** A host that finds no lease makes one, which begins where the host is told to. */
const hintFor = (to: string): string =>
  to === 'beginning'
    ? ', told to begin at the beginning: startFromBeginning: true (Functions), WithStartTime(DateTime.MinValue.ToUniversalTime()) (.NET), setStartFromBeginning(true) (Java); else they begin at now'
    : '';
