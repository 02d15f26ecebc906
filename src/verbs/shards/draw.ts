// A shard map on a terminal: a table of its mappings in the order of their keys, which names the gaps.
import type { Inspection, ShardMap } from '../../shards/index.ts';
import { shownRange } from '../../shards/map/values.ts';
import { plural, textTable } from '../../procedures/table.ts';
import type { MappingRow } from './rows.ts';

/** A mapping, or keys of a range map that no mapping has. */
export type DrawnLine = MappingRow | { readonly keys: string; readonly gap: true };

/** The mappings in the order of their keys, with the gaps between them. Keys have one form, so equal bounds are equal. */
export function withGaps(map: Pick<ShardMap, 'keyType'>, mappings: readonly MappingRow[]): DrawnLine[] {
  const lines: DrawnLine[] = [];
  let end: MappingRow['high'];
  for (const mapping of mappings) {
    if (mapping.low !== end) lines.push({ keys: shownRange(map, { low: end, high: mapping.low }), gap: true });
    lines.push(mapping);
    end = mapping.high;
  }
  if (end !== undefined) lines.push({ keys: shownRange(map, { low: end, high: undefined }), gap: true });
  return lines;
}

export function tableOf(lines: readonly DrawnLine[], most: number): string[] {
  const shown = lines.slice(0, most);
  return [
    textTable(
      ['keys', 'shard', 'status', 'lock'],
      shown.map((line) =>
        'gap' in line
          ? [line.keys, '(no shard)', '', '']
          : [line.keys, line.shard, line.draining ? `${line.status}, draining` : line.status, line.owner ?? ''],
      ),
    ),
    ...(lines.length > most ? [`${plural(lines.length - most, 'more line')}: \`--most N\` shows more.`] : []),
  ];
}

export interface ShardPending {
  readonly operation: string;
  readonly verb: string;
  readonly state: 'pending' | 'undoing';
  readonly reason?: string;
}

export const pendingOf = ({ operations }: Inspection): ShardPending[] =>
  operations.flatMap(({ id, verb, state, reason }) =>
    state === 'pending' || state === 'undoing'
      ? [{ operation: id, verb, state, ...(reason !== undefined && { reason }) }]
      : [],
  );

export const sayPending = ({ verb, state, reason }: ShardPending): string =>
  state === 'pending'
    ? `pending: ${verb}. The next change of the map finishes it, or \`millrace shards recover\` does.`
    : `not undone in every shard yet: ${verb}. ${reason ?? ''}`;
