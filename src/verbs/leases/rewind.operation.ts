import { z } from 'zod';
import { named, optional, required } from '../flags.ts';
import type { Context, Plan } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../../procedures/table.ts';
import { type LeaseInventory, chooseGroups, openLeases } from '../../procedures/leases/groups.ts';
import { expiration } from './inputs.ts';
import {
  type Move,
  type Moving,
  assertEpochsFree,
  goesBack,
  moveByHand,
  moveText,
  planByHand,
} from '../../procedures/rewind/rewind-leases.ts';
import { chooseLeases, movesBack, parseTarget, readTargetsAgain } from '../../procedures/rewind/targets.ts';
import { recorded } from '../../procedures/rewind/recorded.ts';
import { HostRuns } from '../../procedures/rewind/until-quiet.ts';
import { audited } from '../../procedures/journal/runs.ts';
import { operationsError } from '../../procedures/errors.ts';
import { pipelineIfAny } from '../../procedures/pipeline-if-any.ts';
import type { IngestSpec } from '../../pipeline/specs.ts';

const input = z.object({
  container: optional(
    'only the pipeline’s leases of this container, or the positions of its ingests in this event hub (default: all of its leases)',
  ),
  prefix: named('whole prefix of another processor’s leases (default: the pipeline’s own)'),
  to: required('beginning, a time (2026-06-03T12:00:00Z), checkpoint:NAME, or the position of one lease (\'"123"\')'),
  lease: optional('only the lease with this token'),
  leaseExpiration: expiration,
});
type RewindInput = z.output<typeof input>;

interface Prepared extends Moving {
  readonly inventory: LeaseInventory;
}

async function prepare(given: RewindInput, context: Context): Promise<Prepared> {
  const target = parseTarget(given.to);
  const inventory = await openLeases(context);
  const groups = chooseGroups(inventory, given.prefix, given.container);
  const services = await context.workspace.services();
  const moves = await movesBack(chooseLeases(groups, given.lease), target, services, context.signal);
  await assertEpochsFree(context, moves);
  return { inventory, moves };
}

export const leasesRewind = defineOperation({
  name: 'leases rewind',
  summary: 'Rewind leases to an earlier position, of the pipeline or of a stopped Functions app, .NET or Java service',
  examples: [
    'millrace leases rewind --to 2026-06-03T12:00:00Z --dry-run',
    'millrace leases rewind Orders --to beginning',
    'millrace leases rewind device-readings --to beginning',
    'millrace leases rewind --to checkpoint:before-release',
    'millrace leases rewind Orders --to \'"4711"\' --lease 0',
    'millrace leases rewind --prefix billingacc.documents.azure.com_dbRid==_collRid= --to 2026-06-03',
  ],
  shards: 'one',
  effect: 'changes',
  argument: 'container',
  input,
  plan: async (given, context): Promise<Plan> => {
    const hub = await hubOf(given, context);
    if (hub)
      return {
        steps: hub.map(({ from, consumerGroup }) => `read every event of ${from} (${consumerGroup}) from the first on`),
        ru: 0,
      };
    const { moves } = await prepare(given, context);
    if (moves.length === 0) return { steps: [], ru: 0 };
    const again = await readTargetsAgain(moves);
    const plan = planByHand(moves, given.leaseExpiration, context, [
      ...(moves.some((move) => move.group.own) ? ['raise the epoch, so that changes read again count as newer'] : []),
      again === undefined ? 'deliver changes again' : `deliver at most ${plural(again, 'transaction')} again`,
    ]);
    // Reading a change of 1 KB again takes 1 RU; the projections' writes come on top.
    return { ...plan, ru: plan.ru + (again ?? 0) };
  },
  run: async (given, context) => {
    const { to } = given;
    const hub = await hubOf(given, context);
    if (hub) return audited(context, 'leases rewind', given, () => rewindHub(hub, given, context));
    // Reports wrong input before a host stops, or the waiting starts.
    const first = await prepare(given, context);
    if (first.moves.length === 0) return { to, moved: [], foreign: false };
    return recorded(context, first.inventory, 'leases rewind', given, async () => {
      const moves = await moveByHand(() => prepare(given, context), given.leaseExpiration, context);
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
          `${plural(moved.length, 'lease')} rewound. Hosts that you stopped can start again${foreign ? hintFor(to) : ''}.`,
        ].join('\n'),
});

/** The ingests that read the event hub that is given as the container; undefined: it is none. */
async function hubOf(
  { container, prefix, to }: RewindInput,
  { workspace }: Context,
): Promise<IngestSpec[] | undefined> {
  if (container === undefined || prefix !== undefined) return undefined;
  const { pipeline, model } = (await pipelineIfAny(workspace)) ?? {};
  const ingests = pipeline?.ingests.filter(({ from }) => from === container) ?? [];
  if (ingests.length === 0 || model?.containers.some(({ name }) => name === container)) return undefined;
  if (parseTarget(to).kind === 'beginning') return ingests;
  throw operationsError('input-invalid', `--to ${to}: an event hub is read again from its beginning alone`, {
    hint: 'Give --to beginning. An event that comes again finds its document.',
  });
}

/** Events that come again find their documents, so nothing is stored twice. */
async function rewindHub(ingests: readonly IngestSpec[], { to }: RewindInput, { workspace }: Context) {
  const { hubs } = await workspace.services();
  const moved = [];
  for (const { from, consumerGroup } of ingests) {
    const inUse = (owner: string): Error =>
      new HostRuns(`${from} (${consumerGroup})`, owner, 'Nothing was overwritten.');
    for (const { partitionId, sequenceNumber } of await hubs.positions(from, consumerGroup).forget(inUse)) {
      const [lease, was] = [`${from} (${consumerGroup}) ${partitionId}`, String(sequenceNumber)];
      moved.push({ lease, from: was, to, back: true, text: `${lease}: ${was} → ${to}` });
    }
  }
  return { to, moved, foreign: false };
}

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
