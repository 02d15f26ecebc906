import { z } from 'zod';
import { type KeyTypeName, keyJson, shownKey } from '../../shards/keys/key-type.ts';
import type { InspectedMapping, ShardMap } from '../../shards/index.ts';
import { shownLocation } from '../../shards/map/documents.ts';
import { defineOperation } from '../operation.ts';
import { plural, size, table } from '../table.ts';
import { NEAR_FULL, PARTITION_BYTES } from '../tenants/sizes.ts';
import { advise } from './advice/advise.ts';
import type { Weighed } from './advice/layout.ts';
import { type MeasuredKey, type MeasuredShard, measureShard } from './advice/measure.ts';
import { type IsStray, type PastRouter, pastRouterOf, straysOf } from './advice/past-router.ts';
import { type Rates, ratesOf } from './advice/spent.ts';
import { rowsOfAdvice } from './advice/words.ts';
import { mapInput } from './inputs.ts';
import { type Mapped, mappedBy, mappingOf } from './mapped.ts';
import { moveOptions } from './moving-verbs.ts';

interface HeldShard extends MeasuredShard {
  /** Keys that the map doesn't give it. */
  readonly foreign: readonly MeasuredKey[];
}

/** What each shard has of the keys that the map gives it, by the shard's id. */
type Held = ReadonlyMap<string, HeldShard>;

/** Keys that were written past the router, of which the command names those with the most documents. */
const MOST_PAST = 20;

export const shardsAdvise = defineOperation({
  noun: 'shards',
  verb: 'advise',
  summary: 'Advise which keys to isolate or to move, and which mappings to merge, from measured sizes and RU',
  examples: [
    'millrace shards advise tenants',
    'millrace shards advise tenants --most-gb 50 --share 30',
    'millrace shards advise tenants --by ru --json',
  ],
  effect: 'reads',
  bulk: true,
  argument: 'map',
  input: z.object({
    ...mapInput,
    by: z.enum(['bytes', 'ru']).default('bytes').describe('what to even out: bytes, or the RU/s that hosts report'),
    mostGb: z
      .number()
      .positive()
      .optional()
      .describe('GB from which a key gets a shard of its own, whatever others have'),
    share: z
      .number()
      .min(1)
      .max(100)
      .default(50)
      .describe('percent of its shard from which a key that is above the mean of all shards gets a shard of its own'),
    most: z.int().min(0).max(1_000).default(10).describe('how many moves to advise at most'),
  }),
  run: async ({ map: name, by, mostGb, share, most }, context) => {
    const { signal, screen } = context;
    const { map, connect } = await moveOptions(context, name, { takeOver: false });
    const now = await map.inspect();
    const mappings = mappedBy(map, now.mappings);
    const there = now.shards.filter(({ detached }) => !detached);
    const held = new Map<string, HeldShard>();
    const strays = new Map<string, IsStray>();
    const locations = new Map(now.shards.map(({ id, location }) => [id, location]));
    const homeOf = (code: string): string | null => {
      const home = locations.get(mappingOf(mappings, code)?.shard ?? '');
      return home ? shownLocation(home) : null;
    };
    for (const [done, shard] of there.entries()) {
      screen.progress('shards measured', done, there.length);
      const { id, location } = shard;
      // A move may begin, flip or end meanwhile.
      const before = await straysOf(map, shard);
      held.set(id, ownOf(mappings, id, await measureShard(map, connect(location), { signal })));
      const after = await straysOf(map, shard);
      strays.set(id, (code) => before(code) || after(code));
    }
    const later = mappedBy(map, (await map.inspect()).mappings);
    const past = there.flatMap(({ id, location }) => {
      const isStray = (code: string): boolean => strays.get(id)!(code) || mappingOf(later, code)?.shard === id;
      return pastRouterOf(map, held.get(id)!.foreign, { shard: shownLocation(location), isStray, homeOf });
    });
    const rates = await ratesOf(map, context);
    const weighed = weigh(mappings, held, by === 'bytes' ? ({ bytes }) => bytes : rateOf(rates));
    const limits = { mostBytes: mostGb === undefined ? undefined : mostGb * 1e9, share: share / 100, most };
    return {
      map: map.name,
      keyType: map.keyType,
      by,
      shards: there.map(({ id, location }) => rowOf(shownLocation(location), held.get(id)!, rates)),
      advice: rowsOfAdvice(advise(weighed, limits), {
        name: map.name,
        map,
        by,
        locationOf: (shard) => locations.get(shard),
      }),
      nearlyFull: there.flatMap(({ id, location }) => nearlyFull(map, held.get(id)!.keys, shownLocation(location))),
      pastRouter: {
        keys: past.length,
        most: past.toSorted((a, b) => b.documents - a.documents).slice(0, MOST_PAST),
      },
      notMeasured: [
        ...there.flatMap(({ id, location }) =>
          held.get(id)!.missing.map((one) => `${shownLocation(location)}: it has no container ${one}.`),
        ),
        ...now.shards
          .filter(({ detached }) => detached)
          .map(({ location }) => `${shownLocation(location)}: it is detached.`),
        ...(typeof rates === 'string' ? [`RU/s: ${rates}.`] : unnamed(rates)),
      ],
    };
  },
  format: ({ shards, advice, nearlyFull: full, pastRouter, notMeasured, map, keyType, by }) =>
    [
      table(
        ['shard', 'keys', 'documents', 'size, about', 'RU/s'],
        shards.map((one) => [
          one.shard,
          one.keys,
          one.documents,
          size(one.bytes),
          one.ruPerSecond === null ? 'not measured' : one.ruPerSecond.toFixed(1),
        ]),
      ),
      ...shards.flatMap(({ shard, strays, withoutKey, byMean }) => [
        ...(strays > 0
          ? [
              `${shard} also has ${plural(strays, 'document')} of keys that the map doesn’t give to it. They are not counted.`,
            ]
          : []),
        ...(withoutKey > 0
          ? [
              `${plural(withoutKey, 'document')} of ${shard} ${withoutKey === 1 ? 'has' : 'have'} no key of the map. They are not counted.`,
            ]
          : []),
        ...(byMean > 0
          ? [`${plural(byMean, 'size')} in ${shard} are the mean of the keys that have the most documents.`]
          : []),
      ]),
      ...sayPast(keyType, pastRouter),
      ...notMeasured.map((what) => `Not measured: ${what}`),
      ...full.map(
        ({ key, container, share, shard }) =>
          `${key} has about ${Math.round(100 * share)} % of the 20 GB of a logical partition of ${container} in ${shard}. No move changes that: beyond 20 GB every write of the key fails. Its container needs a key with a second level, in another shard map.`,
      ),
      ...(advice.length === 0
        ? [
            by === 'ru' && shards.every(({ ruPerSecond }) => ruPerSecond === null)
              ? 'No advice: without RU/s it is not known what to even out. Leave `--by ru` out to even out bytes.'
              : `No advice: the shards of ${map} are even, or nothing that may move would make them so.`,
          ]
        : []),
      ...advice.flatMap(({ kind, keys, reason, commands, to }) => [
        '',
        `${kind} ${keys}: ${reason}`,
        ...(commands.length > 1
          ? [`  ${to} is a name to choose. Create the database with the containers of the map first.`]
          : []),
        ...commands.map((one) => `  $ ${one}`),
      ]),
    ].join('\n'),
});

/** What a shard has, without the keys of other shards. */
function ownOf(mappings: readonly Mapped<InspectedMapping>[], shard: string, measured: MeasuredShard): HeldShard {
  const isOwn = ({ code }: MeasuredKey): boolean => mappingOf(mappings, code)?.shard === shard;
  const foreign = measured.keys.filter((key) => !isOwn(key));
  return { ...measured, keys: measured.keys.filter(isOwn), foreign };
}

/** In the text fewer than as JSON. */
const MOST_SAID = 5;

function sayPast(
  keyType: KeyTypeName,
  { keys, most }: { readonly keys: number; readonly most: readonly PastRouter[] },
): string[] {
  const said = most.slice(0, MOST_SAID);
  const others = keys - said.length;
  return [
    ...said.map(
      ({ shard, key, documents, home }) =>
        `${plural(documents, 'document')} of the key ${shownKey(keyType, key)} ${documents === 1 ? 'was' : 'were'} written into ${shard} past the router: ${home === null ? 'no mapping has it' : `the map gives it to ${home}`}. Queries over all shards count them.`,
    ),
    ...(others > 0 ? [`  … and ${plural(others, 'other key')} that were written past the router.`] : []),
  ];
}

const rateOf =
  (rates: Rates | string) =>
  ({ code }: MeasuredKey): number =>
    typeof rates === 'string' ? 0 : (rates.keys.get(code) ?? 0);

function weigh(
  mappings: readonly Mapped<InspectedMapping>[],
  held: Held,
  weightOf: (key: MeasuredKey) => number,
): Weighed {
  const keys = [...held.values()].flatMap((one) => one.keys);
  const byMapping = Map.groupBy(keys, ({ code }) => mappingOf(mappings, code)!.id);
  return {
    shards: [...held.keys()],
    mappings: mappings.map(({ id, span, shard, status, owner, draining }) => ({
      span,
      shard,
      keys: (byMapping.get(id) ?? []).map((key) => ({ code: key.code, bytes: key.bytes, weight: weightOf(key) })),
      fixed: status !== 'online' || owner !== undefined || draining || !held.has(shard),
    })),
  };
}

function rowOf(shard: string, { keys, foreign, withoutKey, byMean }: HeldShard, rates: Rates | string) {
  return {
    shard,
    keys: keys.length,
    documents: sum(keys, ({ documents }) => documents),
    bytes: sum(keys, ({ bytes }) => bytes),
    /** Of the keys that hosts name; null: not measured. */
    ruPerSecond: typeof rates === 'string' ? null : sum(keys, rateOf(rates)),
    strays: sum(foreign, ({ documents }) => documents),
    withoutKey,
    byMean,
  };
}

function nearlyFull({ keyType }: Pick<ShardMap, 'keyType'>, keys: readonly MeasuredKey[], shard: string) {
  return keys.flatMap(({ code, partitions }) =>
    partitions
      .map(({ container, bytes }) => ({
        key: keyJson(keyType, code),
        shard,
        container,
        share: bytes / PARTITION_BYTES,
      }))
      .filter(({ share }) => share >= NEAR_FULL),
  );
}

const unnamed = ({ others }: Rates): string[] =>
  others > 0 ? [`which keys take ${others.toFixed(1)} RU/s that hosts report without naming their tenants.`] : [];

const sum = <T>(all: readonly T[], of: (one: T) => number): number => all.reduce((total, one) => total + of(one), 0);
