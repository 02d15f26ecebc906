// What the verbs that move documents have in common: their flags, the services they need, their plans and results.
import type { Container } from '@azure/cosmos';
import { z } from 'zod';
import { flag } from '../flags.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { requireShardMaps, resourceName } from '../../base/settings.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { erasuresUnderWay } from '../../engine/erasures/record.ts';
import type { Identity } from '../../feed/reading/change.ts';
import type { Shard, ShardLocation } from '../../shards/index.ts';
import { type KeySpan, spansOverlap } from '../../shards/keys/spans.ts';
import { shownLocation } from '../../shards/map/documents.ts';
import { span } from '../../shards/map/values.ts';
import { openStore } from '../../runtime/archives.ts';
import { recoveriesUnderWay } from '../../procedures/journal/lock.ts';
import type { Context, Plan } from '../../procedures/context.ts';
import { secondsToWrite } from '../../procedures/seconds.ts';
import { plural } from '../../procedures/table.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { address } from './inputs.ts';
import { type MovePlan, type Moved, planMove } from '../../procedures/move/move.ts';
import { type MoveOptions, touchedBy } from '../../procedures/move/options.ts';
import { spanOf } from '../../procedures/move/spans.ts';
import { PAUSE_PARTS, type PauseParts } from '../../procedures/move/switch/pause.ts';
import { cutTo, moveRange } from '../../procedures/move/range/move-range.ts';
import { openMap, openPlaces } from '../../procedures/shards/open.ts';
import { shardNamed } from './select.ts';

/** To read a document from the feed, copy it, renew the copy, mark it and delete it; with the comparisons. */
const RU_A_DOCUMENT = 42;
/** To copy it and remove the copy, to write an entry and remove one, to mark it as gone and remove the marker. */
const RU_ARCHIVED = 64;

const target = resourceName('A database name');
const patience = z
  .number()
  .min(0)
  .optional()
  .describe('seconds to wait for hosts, and for silent routers in all (default: 600)');
const takeOver = flag(
  'go on at once with a move whose process has just died (default: after 30 s in which it stored nothing)',
);

const graceInput = z
  .number()
  .min(0)
  .optional()
  .describe('seconds after the switch in which late writes on the source are carried over (default: 150)');

const timesInput = {
  endpoint: address.optional().describe('account of that shard (default: the account of the shard maps)'),
  batch: z
    .number()
    .int()
    .min(1)
    .default(1_000)
    .describe('of a range: how many keys move at a time; writes of the others don’t wait'),
  grace: graceInput,
  patience,
  takeOver,
};
export const cancelInput = {
  grace: graceInput.describe(
    'with --cancel: seconds in which copies are still removed that a slow process of the move writes (default: 0); of batches that are finished, as for `shards move`',
  ),
  takeOver,
};
export const moveInput = { to: target.describe('database of the shard that gets the keys'), ...timesInput };
/** For verbs that move documents only with `--to`. */
export const mayMoveInput = {
  to: target.optional().describe('database of the shard that gets the keys, with their documents'),
  ...timesInput,
};

export interface MoveFlags {
  readonly to: string;
  readonly endpoint?: string | undefined;
  readonly batch: number;
  readonly grace?: number | undefined;
  readonly patience?: number | undefined;
  readonly takeOver: boolean;
}

export async function moveOptions(
  context: Context,
  name: string,
  given: Pick<MoveFlags, 'grace' | 'takeOver'> & Partial<Pick<MoveFlags, 'patience'>>,
): Promise<MoveOptions> {
  const { workspace, signal, clock, screen } = context;
  const settings = workspace.settings();
  const maps = requireShardMaps(settings);
  const services = await workspace.services();
  const endpointOf = ({ endpoint = maps.endpoint }: ShardLocation): string => endpoint;
  const [map, { maps: container }] = [await openMap(context, name), await openPlaces(context)];
  const opened = new Map<string, ReturnType<MoveOptions['connect']>>();
  for (const { location } of await map.shards()) {
    const at = { database: location.database, endpoint: endpointOf(location) };
    opened.set(shownLocation(location), (await services.at(at)).place.database);
  }
  const connect: MoveOptions['connect'] = (location) => {
    const database = opened.get(shownLocation(location));
    if (database) return database;
    throw sharedError('not-found', `The shard ${shownLocation(location)} was added while the command ran`, {
      hint: 'Run the command again.',
    });
  };
  return {
    map,
    maps: container,
    connect,
    endpointOf,
    stateContainer: settings.stateContainer,
    erasures: () => openErasures(services.global.state, signal),
    recoveries: () => openRecoveries(services.global.state, clock ?? systemClock, signal),
    leases: services.global.leases,
    ...(await touched(context)),
    store: () => openStore(services, signal),
    signal,
    ...(clock && { clock }),
    ...(given.grace !== undefined && { graceMs: given.grace * 1_000 }),
    ...(given.patience !== undefined && { patienceMs: given.patience * 1_000 }),
    takeOver: given.takeOver,
    say: (text) => screen.draw([text]),
  };
}

const openErasures = async (state: Container, signal: AbortSignal): Promise<string[]> =>
  withState(async () => (await erasuresUnderWay(state, signal)).map(({ id }) => id));

const openRecoveries = async (state: Container, clock: Clock, signal: AbortSignal): Promise<string[]> =>
  withState(async () => (await recoveriesUnderWay(state, clock.now(), signal)).map(({ actor }) => actor));

/** Where no pipeline has run there is no state container, and nothing of the kind. */
async function withState(read: () => Promise<string[]>): Promise<string[]> {
  try {
    return await read();
  } catch (error) {
    if (failureOf(error).kind === 'not-found') return [];
    throw error;
  }
}

/** A move needs no pipeline; where there is one, it says what sweeps archive. */
async function touched({ workspace }: Context): Promise<Pick<MoveOptions, 'archives'>> {
  const loaded = await workspace.pipeline().catch(() => undefined);
  return loaded ? touchedBy(loaded.pipeline) : {};
}

export async function moveTargetOf({ map }: MoveOptions, { to, endpoint }: MoveFlags): Promise<Shard> {
  return shardNamed(map, await map.inspect(), { shard: to, endpoint });
}

/** Each mapping is examined whole: what is outside of the range stays. */
export async function planOfRange(options: MoveOptions, given: MoveFlags, range: KeySpan): Promise<MovePlan> {
  const { map } = options;
  const shard = await moveTargetOf(options, given);
  const all = (await map.inspect()).mappings.filter(
    (one) => spansOverlap(spanOf(map, one), range) && one.shard !== shard.id,
  );
  const documents: Record<string, number> = {};
  const counts = { archived: 0, letters: 0, embedded: 0 };
  const from = new Set<string>();
  for (const mapping of all) {
    const plan = await planMove(options, mapping, shard, cutTo(spanOf(map, mapping), range));
    from.add(plan.from);
    for (const name of ['archived', 'letters', 'embedded'] as const) counts[name] += plan[name];
    for (const [name, count] of Object.entries(plan.documents)) documents[name] = (documents[name] ?? 0) + count;
  }
  return {
    keys: span(map, range),
    from: [...from].join(', '),
    to: shownLocation(shard.location),
    documents,
    ...counts,
  };
}

export function stepsOf(
  { keys, from, to, documents, archived, letters, embedded, resumes }: MovePlan,
  { grace = 150 }: MoveFlags,
): Plan {
  const all = Object.entries(documents);
  const count = all.reduce((sum, [, one]) => sum + one, 0);
  const what = all.map(([name, one]) => `${one.toLocaleString('en-US')} of ${name}`).join(', ');
  return {
    steps: [
      ...(resumes === undefined ? [] : [`go on with the move ${resumes}`]),
      `lock ${keys}, and leave it out of queries on ${to}`,
      `raise the epochs of ${to} above those of ${from}, and end the running tenures of their hosts`,
      `copy ${plural(count, 'document')} (${what}) from ${from} to ${to}, then all changes since`,
      `wait until the hosts of ${to} have derived from the copies`,
      ...(archived === 0
        ? []
        : [`the same for ${plural(archived, 'archived document')}, which then leave ${to} again: their blobs stay`]),
      `hold writes of ${keys} for a moment, copy the rest, compare, and give the keys to ${to}`,
      ...(embedded === 0
        ? []
        : [
            `let embeds write on ${to}: ${plural(embedded, 'document')} ${embedded === 1 ? 'has' : 'have'} fields of theirs`,
          ]),
      `follow ${from} for ${grace} s, and carry late writes over`,
      ...(letters === 0
        ? []
        : [
            `take the ${plural(letters, 'dead letter')} of the keys along, unless hosts of ${to} have parked the copy themselves`,
          ]),
      `remove the documents from ${from} when its hosts have acknowledged them, and unlock ${keys}`,
    ],
    ru: count * RU_A_DOCUMENT + archived * RU_ARCHIVED,
    seconds: secondsToWrite(4 * count + 4 * archived, 0) + grace,
  };
}

export async function moveBatches(options: MoveOptions, given: MoveFlags, range: KeySpan): Promise<Moved> {
  const { map } = options;
  const shard = await moveTargetOf(options, given);
  const moved = await moveRange(options, range, shard, { keys: given.batch });
  if (!moved)
    throw sharedError(
      'wrong-state',
      `The map ${map.name} has nothing of this range on another shard than ${given.to}`,
      { hint: `Run \`millrace shards show ${map.name}\` to see which shard has which keys.` },
    );
  return { ...sumOf(moved.moves), id: moved.id, keys: span(map, range), to: shownLocation(shard.location) };
}

/** What batches did together. */
export function sumOf(moves: readonly Moved[]): Omit<Moved, 'id' | 'keys' | 'to'> {
  const sum = (of: (one: Moved) => number): number => moves.reduce((all, one) => all + of(one), 0);
  // The longest: only the keys of one batch wait at a time.
  const [longest] = moves.toSorted((one, other) => (other.pausedMs ?? -1) - (one.pausedMs ?? -1));
  return {
    from: [...new Set(moves.map(({ from }) => from))].join(', '),
    copied: sum(({ copied }) => copied),
    archived: sum(({ archived }) => archived),
    letters: sum(({ letters }) => letters),
    removed: sum(({ removed }) => removed),
    ...(longest?.pausedMs !== undefined && {
      pausedMs: longest.pausedMs,
      pause: longest.pause!,
      tries: longest.tries!,
    }),
    parked: moves.flatMap(({ parked }) => parked),
    charge: sum(({ charge }) => charge),
  };
}

export const formatMoved = ({
  keys,
  from,
  to,
  copied,
  archived,
  letters,
  removed,
  pausedMs,
  pause,
  tries = 1,
  parked,
}: Moved): string =>
  [
    `${keys} is on ${to} now, not on ${from} any more. ${plural(copied, 'document')} copied, ${removed.toLocaleString('en-US')} removed` +
      (archived === 0 ? '' : `; ${plural(archived, 'archived document')} taken along`) +
      (letters === 0 ? '' : `; ${plural(letters, 'dead letter')} taken along`) +
      `${pausedMs === undefined ? '' : `; writes were held for ${(pausedMs / 1_000).toFixed(2)} s at most`}.`,
    ...(pause ? [`  The switch that succeeded, in ms: ${partsOf(pause)}`] : []),
    ...(tries > 1 ? [`  It took ${tries} tries; writes went on between them.`] : []),
    ...parked.map(
      (one) =>
        `  ${shownMove(one)} was written on ${from} after the switch: \`millrace shards check\` shows both versions.`,
    ),
  ].join('\n');

const PART_NAMES: Readonly<Record<keyof PauseParts, string>> = {
  hold: 'routers hold',
  copy: 'copy',
  compare: 'compare',
  offline: 'map offline',
  drain: 'routers stop',
  copyLast: 'copy the last',
  online: 'map online',
  open: 'routers go on',
};

const partsOf = (pause: PauseParts): string =>
  PAUSE_PARTS.map((part) => `${PART_NAMES[part]} ${pause[part]}`).join(', ');

export const shownMove = ({ container, key, id }: Identity): string => `${container} ${JSON.stringify(key)} ${id}`;
