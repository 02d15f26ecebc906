// Shard maps: a table `Key | Shard location` for each map.
import type { DocumentedMap, Prose, ShardMapping, Text } from '../documents.ts';
import type { ShardedContainers } from '../model.ts';
import { normalised } from './text/labels.ts';
import { type Section, within } from './text/outline.ts';
import { column, hasColumns, tablesOf } from './text/tables.ts';

const KEYS = ['key', 'key range', '键'];
const SHARDS = ['shard location', 'shard', '分片', '分片位置'];

/** Each section with such a table is one map. */
export function shardMapsOf(root: Section, prose: readonly Prose[], text: string, file: string): DocumentedMap[] {
  return [...within(root)].flatMap((section, at, all) => {
    const mappings = tablesOf(section.blocks, text, file)
      .filter((table) => hasColumns(table, KEYS, SHARDS))
      .flatMap(({ rows }) => rows)
      .filter(({ struck }) => !struck)
      .map((row): ShardMapping => ({
        key: (column(row, KEYS) ?? '').replaceAll('`', ''),
        shard: (column(row, ['shard location', 'shard', '分片位置', '分片']) ?? '').replaceAll('`', ''),
        cells: row.cells,
        at: row.at,
      }));
    if (mappings.length === 0) return [];
    const end = all[at + 1]?.line ?? Infinity;
    const own = prose.filter((piece) => piece.at.line >= section.line && piece.at.line < end);
    const labelled = (...names: string[]): Text | undefined =>
      own.find(({ label }) => label !== undefined && names.includes(normalised(label)));
    const name = nameOf(section);
    const keyType = labelled('key type', 'type of keys', '键类型');
    const sharded = labelled('sharded containers', 'sharded', '分片容器');
    const reference = labelled('reference containers', 'reference', '引用容器');
    return [
      {
        ...(name !== undefined && { name }),
        ...(keyType && { keyType }),
        ...(sharded && { sharded }),
        ...(reference && { reference }),
        mappings,
        at: { file, line: section.line },
      },
    ];
  });
}

/** `### tenants`, `### Shard map: tenants` and ``## Shard map `tenants` `` name a map; `## Shard map` doesn't. */
function nameOf({ code, title }: Section): string | undefined {
  const name = code ?? title.replace(/^\s*(the\s+)?(shard maps?|分片映射)\s*[::]?\s*/iu, '').trim();
  return name === '' ? undefined : name;
}

/** Names of containers with the paths of their keys, if a label has them: `Orders` by `/tenantId`, `Invoices` by `/tenantId`. */
export const namedContainers = (label: Pick<Text, 'text'>): (readonly [name: string, path: string | undefined])[] =>
  label.text
    .replaceAll('`', '')
    .split(/[,;]/)
    .map((part) => /^\s*([^\s/]+)[^/]*(\/\S+)?/.exec(part))
    .flatMap((match) => (match?.[1] === undefined ? [] : [[match[1], match[2]] as const]));

/** Which containers the shards of each documented map have. */
export const shardedContainersOf = (maps: readonly DocumentedMap[]): ShardedContainers[] =>
  maps.map(({ name, sharded, reference, at }) => ({
    ...(name !== undefined && { name }),
    sharded: Object.fromEntries(sharded ? namedContainers(sharded).map(([one, path]) => [one, path ?? null]) : []),
    reference: reference ? namedContainers(reference).map(([one]) => one) : [],
    at,
  }));
