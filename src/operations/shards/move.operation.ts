import { z } from 'zod';
import type { Identity } from '../../feed/reading/change.ts';
import { requireShardMaps, resourceName } from '../../base/settings.ts';
import type { ShardLocation } from '../../shards/index.ts';
import { encodeKey } from '../../shards/keys/key-type.ts';
import { type Span, overlaps } from '../../shards/keys/spans.ts';
import { MAP_CONTAINER, shownLocation } from '../../shards/map/documents.ts';
import { audited } from '../audit/record.ts';
import { type Context, defineOperation } from '../operation.ts';
import { secondsToWrite } from '../seconds.ts';
import { plural, table } from '../table.ts';
import { shardVerbsError } from './errors.ts';
import { address, keysInput, mapInput } from './inputs.ts';
import {
  type MoveOptions,
  type MovePlan,
  type Moved,
  cancelMove,
  moveMapping,
  planMove,
  spanOf,
} from './moving/move.ts';
import { cutTo, moveRange } from './moving/range.ts';
import { isUnfinished, movesOf } from './moving/record.ts';
import { keyOf } from './keys.ts';
import { healMap, leftIn, mapNamed, openManager } from './open.ts';
import { mappingNamed, shardNamed } from './select.ts';

/** To read a document from the feed, copy it, mark it and delete it; with the comparisons. */
const RU_A_DOCUMENT = 32;

const takeOver = z
  .boolean()
  .default(false)
  .describe('go on at once with a move whose process has just died (default: after 30 s in which it stored nothing)');

const times = {
  grace: z
    .number()
    .min(0)
    .optional()
    .describe('seconds after the flip in which late writes on the source are carried over (default: 150)'),
  patience: z
    .number()
    .min(0)
    .optional()
    .describe('seconds to wait for hosts, and for silent routers in all (default: 600)'),
};

const input = z.object({
  ...mapInput,
  ...keysInput,
  to: resourceName('A database name').describe('database of the shard that gets the keys'),
  endpoint: address.optional().describe('account of that shard (default: the account of the shard maps)'),
  batch: z
    .number()
    .int()
    .min(1)
    .default(1_000)
    .describe('with --low or --high: how many keys move at a time; writes of the others don’t wait'),
  ...times,
  takeOver,
});
type MoveInput = z.output<typeof input>;

async function optionsOf(
  context: Context,
  name: string,
  given: { readonly grace?: number | undefined; readonly patience?: number | undefined; readonly takeOver: boolean },
): Promise<MoveOptions> {
  const { workspace, signal, clock, screen } = context;
  const settings = workspace.settings();
  const maps = requireShardMaps(settings);
  const services = await workspace.services();
  const endpointOf = ({ endpoint = maps.endpoint }: ShardLocation): string => endpoint;
  const manager = await openManager(context);
  const map = await mapNamed(manager, name);
  const opened = new Map<string, ReturnType<MoveOptions['connect']>>();
  for (const { location } of await map.shards()) {
    const at = { database: location.database, endpoint: endpointOf(location) };
    opened.set(shownLocation(location), (await services.at(at)).place.database);
  }
  const connect: MoveOptions['connect'] = (location) => {
    const database = opened.get(shownLocation(location));
    if (database) return database;
    throw shardVerbsError('move-unknown', `The shard ${shownLocation(location)} was added while the command ran`);
  };
  return {
    map,
    maps: services.places
      .connect({ database: maps.database, endpoint: maps.endpoint }, { purpose: 'administration' })
      .container(MAP_CONTAINER),
    connect,
    endpointOf,
    stateContainer: settings.stateContainer,
    leases: services.global.leases,
    signal,
    ...(clock && { clock }),
    ...(given.grace !== undefined && { graceMs: given.grace * 1_000 }),
    ...(given.patience !== undefined && { patienceMs: given.patience * 1_000 }),
    takeOver: given.takeOver,
    say: (text) => screen.draw([text]),
  };
}

async function chosen(given: MoveInput, options: MoveOptions) {
  const now = await options.map.inspect();
  const mapping = await mappingNamed(options.map, now, given);
  const { endpoint } = given;
  return { mapping, shard: shardNamed(options.map, now, { shard: given.to, endpoint }) };
}

async function planOf(given: MoveInput, options: MoveOptions): Promise<MovePlan> {
  const { mapping, shard } = await chosen(given, options);
  return planMove(options, mapping, shard);
}

/** Each mapping is examined whole: what is outside of the range stays. */
async function planOfRange(given: MoveInput, options: MoveOptions, range: Span): Promise<MovePlan> {
  const { map } = options;
  const now = await map.inspect();
  const shard = shardNamed(map, now, { shard: given.to, endpoint: given.endpoint });
  const all = now.mappings.filter((one) => overlaps(spanOf(map, one), range) && one.shard !== shard.id);
  const documents: Record<string, number> = {};
  const from = new Set<string>();
  for (const mapping of all) {
    const plan = await planMove(options, mapping, shard, cutTo(spanOf(map, mapping), range));
    from.add(plan.from);
    for (const [name, count] of Object.entries(plan.documents)) documents[name] = (documents[name] ?? 0) + count;
  }
  const keys = `[${given.low ?? '…'}, ${given.high ?? '…'})`;
  return { keys, from: [...from].join(', '), to: shownLocation(shard.location), documents };
}

/** The range of the flags, on a range map; undefined: a single mapping moves. */
function rangeOf({ kind, keyType }: MoveOptions['map'], { key, low, high }: MoveInput): Span | undefined {
  if (kind !== 'range' || key !== undefined || (low === undefined && high === undefined)) return undefined;
  const code = (flag: string, text: string): string => encodeKey(keyType, keyOf(keyType, flag, text));
  return {
    low: low === undefined ? '' : code('low', low),
    ...(high !== undefined && { high: code('high', high) }),
  };
}

async function moveBatches(given: MoveInput, options: MoveOptions, range: Span): Promise<Moved> {
  const { map } = options;
  const shard = shardNamed(map, await map.inspect(), { shard: given.to, endpoint: given.endpoint });
  const moves = await moveRange(options, range, shard, { keys: given.batch });
  const [first] = moves;
  if (!first)
    throw shardVerbsError(
      'move-there',
      `The map ${map.name} has nothing of this range on another shard than ${given.to}`,
    );
  const sum = (of: (one: Moved) => number): number => moves.reduce((all, one) => all + of(one), 0);
  return {
    id: moves.map(({ id }) => id).join(' '),
    keys: `[${given.low ?? '…'}, ${given.high ?? '…'})`,
    from: [...new Set(moves.map(({ from }) => from))].join(', '),
    to: first.to,
    copied: sum(({ copied }) => copied),
    removed: sum(({ removed }) => removed),
    pausedMs: Math.max(...moves.map(({ pausedMs = 0 }) => pausedMs)),
    parked: moves.flatMap(({ parked }) => parked),
    charge: sum(({ charge }) => charge),
  };
}

export const shardsMove = defineOperation({
  noun: 'shards',
  verb: 'move',
  summary: 'Move the keys of a mapping with their documents to another shard while applications write them',
  examples: [
    'millrace shards move tenants --key 4711 --to east --dry-run',
    'millrace shards move tenants --key 4711 --to east',
    'millrace shards move tenants --low 0 --high 1000 --to east --grace 300',
  ],
  effect: 'changes',
  bulk: true,
  argument: 'map',
  input,
  plan: async (given, context) => {
    const options = await optionsOf(context, given.map, given);
    const range = rangeOf(options.map, given);
    const { keys, from, to, documents, resumes } = range
      ? await planOfRange(given, options, range)
      : await planOf(given, options);
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
        `hold writes of ${keys} for a moment, copy the rest, compare, and give the keys to ${to}`,
        `follow ${from} for ${given.grace ?? 150} s, and carry late writes over`,
        `remove the documents from ${from} when its hosts have acknowledged them, and unlock ${keys}`,
      ],
      ru: count * RU_A_DOCUMENT,
      seconds: secondsToWrite(3 * count, 0) + (given.grace ?? 150),
    };
  },
  run: async (given, context): Promise<Moved> => {
    const options = await optionsOf(context, given.map, given);
    await healMap(context, options.map);
    const range = rangeOf(options.map, given);
    if (range) return audited(context, 'shards move', given, () => moveBatches(given, options, range));
    const { mapping, shard } = await chosen(given, options);
    return audited(context, 'shards move', given, () => moveMapping(options, mapping, shard));
  },
  format: ({ keys, from, to, copied, removed, pausedMs, parked }) =>
    [
      `${keys} is on ${to} now, not on ${from} any more. ${plural(copied, 'document')} copied, ${removed.toLocaleString('en-US')} removed` +
        `${pausedMs === undefined ? '' : `; writes were held for ${(pausedMs / 1_000).toFixed(2)} s`}.`,
      ...parked.map((one) => `  ${shown(one)} was written on ${from} after the flip, and on ${to}: compare both.`),
    ].join('\n'),
  ok: ({ parked }) => parked.length === 0,
});

const shown = ({ container, key, id }: Identity): string => `${container} ${JSON.stringify(key)} ${id}`;

export const shardsCancelMove = defineOperation({
  noun: 'shards',
  verb: 'cancel-move',
  summary: 'Cancel a move before the map gives the keys to its target, and remove the copies',
  examples: ['millrace shards cancel-move tenants --move 1f0c9a2e'],
  effect: 'changes',
  argument: 'map',
  input: z.object({
    ...mapInput,
    move: z.string().min(1).describe('id of the move, as `millrace shards moves` shows it'),
    patience: times.patience,
    takeOver,
  }),
  plan: async ({ map, move }, context) => {
    const options = await optionsOf(context, map, { takeOver: false });
    const found = (await movesOf(options.maps, options.map.name, context.signal)).find(({ id }) => id === move);
    if (!found) throw shardVerbsError('move-unknown', `There is no move ${move} of ${map}`);
    const open = isUnfinished(found);
    return { steps: open ? [`remove the copies of ${found.keys}, and unlock it where it is`] : [], ru: 0 };
  },
  run: async (given, context): Promise<Moved> => {
    const options = await optionsOf(context, given.map, given);
    await healMap(context, options.map);
    return audited(context, 'shards cancel-move', given, () => cancelMove(options, given.move));
  },
  format: ({ keys, from, removed }) =>
    `The move is cancelled. ${keys} stays on ${from}; copies removed: ${removed.toLocaleString('en-US')}.`,
});

export const shardsMoves = defineOperation({
  noun: 'shards',
  verb: 'moves',
  summary: 'List the moves of a shard map',
  examples: ['millrace shards moves tenants'],
  effect: 'reads',
  argument: 'map',
  input: z.object({ ...mapInput }),
  run: async ({ map }, context) => {
    const options = await optionsOf(context, map, { takeOver: false });
    const shards = new Map((await options.map.shards()).map(({ id, location }) => [id, shownLocation(location)]));
    const where = (id: string): string => shards.get(id) ?? id;
    const left = new Map(
      (await leftIn(context, options.map, await options.map.inspect())).map((one) => [one.move.id, one] as const),
    );
    return (await movesOf(options.maps, options.map.name, context.signal)).map((one) => ({
      id: one.id,
      keys: one.keys,
      from: where(one.from),
      to: where(one.to),
      step: one.step,
      startedAt: one.startedAt,
      aliveAt: one.aliveAt,
      parked: one.parked,
      /** Its process has stored nothing for a while. */
      silent: left.has(one.id),
      /** Its process has died between two operations of the map, and writes of the keys fail. */
      offline: left.get(one.id)?.offline !== undefined,
    }));
  },
  ok: (moves) => !moves.some(({ offline }) => offline),
  format: (moves, { map }) =>
    moves.length === 0
      ? 'No move yet.'
      : [
          table(
            ['move', 'keys', 'from', 'to', 'step', 'since', 'late writes'],
            moves.map(({ id, keys, from, to, step, startedAt, parked }) => [
              id,
              keys,
              from,
              to,
              step,
              startedAt,
              parked.length,
            ]),
          ),
          ...moves.filter(({ silent }) => silent).map((one) => remedyOf(map, one)),
        ].join('\n'),
});

function remedyOf(
  map: string,
  { id, keys, step, aliveAt, offline }: { id: string; keys: string; step: string; aliveAt: string; offline: boolean },
): string {
  const silent = `The process of the move ${id} has stored nothing since ${aliveAt}`;
  if (offline)
    return `${silent}, and left ${keys} offline: writes fail. \`millrace shards recover ${map}\` brings it online where it was; the command of the move goes on.`;
  const cancel = step === 'copying' || step === 'cancelling' ? ', or cancel it by its id' : '';
  return `${silent}. If it has died, run its command again${cancel}.`;
}
