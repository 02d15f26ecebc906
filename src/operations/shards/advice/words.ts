// Advice as people and scripts read it: the reason in figures, and the commands to run.
import { type KeyTypeName, keyJson } from '../../../shards/keys/key-type.ts';
import type { Span } from '../../../shards/keys/spans.ts';
import type { MapFacts, ShardLocation } from '../../../shards/map/documents.ts';
import { shownLocation } from '../../../shards/map/documents.ts';
import { span as shownSpan } from '../../../shards/map/values.ts';
import { plural, size } from '../../table.ts';
import type { Advice, AdvisedMerge } from './advise.ts';
import type { AdvisedMove } from './layout.ts';

export type Measure = 'bytes' | 'ru';

/** One piece of advice. Commands are run in their order. */
export interface AdviceRow {
  readonly kind: 'isolate' | 'move' | 'merge';
  /** The keys, for people. */
  readonly keys: string;
  /** The location of their shard. */
  readonly from: string;
  /** Absent of a merge. */
  readonly to?: string;
  readonly measuredKeys: number;
  readonly bytes: number;
  readonly reason: string;
  readonly commands: readonly string[];
}

export interface Named {
  readonly name: string;
  readonly map: Pick<MapFacts, 'kind' | 'keyType'>;
  readonly by: Measure;
  /** Undefined: the map doesn't have the shard yet. */
  readonly locationOf: (shard: string) => ShardLocation | undefined;
}

export const rowsOfAdvice = (advice: Advice, named: Named): AdviceRow[] => [
  ...advice.isolate.map((one) => moveRow('isolate', one, named)),
  ...advice.move.map((one) => moveRow('move', one, named)),
  ...advice.merge.map((one) => mergeRow(one, named)),
];

function moveRow(kind: 'isolate' | 'move', move: AdvisedMove, { name, map, by, locationOf }: Named): AdviceRow {
  const { span, keys, weight, before, after, isNew } = move;
  const [from, to] = [move.from, move.to].map((shard) => shownOf(locationOf, shard)) as [string, string];
  const amount = (value: number): string => (by === 'bytes' ? size(value) : `${value.toFixed(1)} RU/s`);
  const what = keys.length === 1 ? `the key ${keyText(map.keyType, keys[0]!.code)}` : plural(keys.length, 'key');
  const target = locationOf(move.to) ?? { database: move.to };
  return {
    kind,
    keys: shownSpan(map, span),
    from,
    to,
    measuredKeys: keys.length,
    bytes: bytesOf(keys),
    reason: `${from} has ${amount(before.from)}, ${amount(weight)} of them in ${what}; ${to} has ${amount(before.to)}. Afterwards ${from} has ${amount(after.from)}, and ${to} ${amount(after.to)}.`,
    commands: [
      ...(isNew
        ? [
            command(['shards', 'init', ...flag('shard', target.database)]),
            command(['shards', 'create', name, ...flag('shard', target.database)]),
          ]
        : []),
      command([
        'shards',
        'move',
        name,
        ...keyFlags(map, span, keys[0]!.code),
        ...flag('to', target.database),
        ...(target.endpoint === undefined ? [] : flag('endpoint', target.endpoint)),
      ]),
    ],
  };
}

function mergeRow({ lower, upper }: AdvisedMerge, { name, map, locationOf }: Named): AdviceRow {
  const both = [...lower.keys, ...upper.keys];
  const from = shownOf(locationOf, lower.shard);
  return {
    kind: 'merge',
    keys: `${shownSpan(map, lower.span)} and ${shownSpan(map, upper.span)}`,
    from,
    measuredKeys: both.length,
    bytes: bytesOf(both),
    reason: `Both are on ${from}, with ${size(bytesOf(lower.keys))} and ${size(bytesOf(upper.keys))}. No document moves.`,
    commands: [command(['shards', 'merge', name, ...flag('at', keyText(map.keyType, upper.span.low))])],
  };
}

const shownOf = (locationOf: Named['locationOf'], shard: string): string => {
  const location = locationOf(shard);
  return location ? shownLocation(location) : shard;
};

const bytesOf = (keys: readonly { readonly bytes: number }[]): number =>
  keys.reduce((sum, { bytes }) => sum + bytes, 0);

/** A key as flags take it. */
const keyText = (type: KeyTypeName, code: string): string => String(keyJson(type, code));

function keyFlags({ kind, keyType }: Named['map'], { low, high }: Span, first: string): string[] {
  if (kind === 'list' || (low === '' && high === undefined)) return flag('key', keyText(keyType, first));
  return [
    ...(low === '' ? [] : flag('low', keyText(keyType, low))),
    ...(high === undefined ? [] : flag('high', keyText(keyType, high))),
  ];
}

/** A value that begins with a hyphen would be taken for a flag. */
const flag = (name: string, value: string): string[] =>
  value.startsWith('-') ? [`--${name}=${value}`] : [`--${name}`, value];

const command = (words: readonly string[]): string => ['millrace', ...words].map(quoted).join(' ');

/** A word for a shell. */
const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
