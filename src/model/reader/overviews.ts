// Tables that state containers by rows: `| Container | Partition Key | TTL |`, under many names of the columns.
import type { Fact } from './labelled-facts.ts';
import type { LabelName } from './text/labels.ts';
import type { Section } from './text/outline.ts';
import { type Table, column, hasColumns, tablesOf } from './text/tables.ts';
import { partitionKey, throughput, ttl, uniqueKeys } from './text/values.ts';

const CONTAINER_COLUMN = [
  'container',
  'container name',
  'containers',
  'collection',
  'collections',
  'contenedor',
  'conteneur',
  '容器',
  'コンテナ',
];
const KEY_COLUMN = [
  'partition key',
  'partitionkey',
  'pk',
  'partition',
  'partitioned by',
  'partitionsschlüssel',
  'clave de partición',
  'clé de partition',
  'chave de partição',
  'chiave di partizione',
  '分区键',
  'パーティションキー',
];
/** Further columns of an overview, by the label that a container's own bullet has. */
const FACT_COLUMNS: readonly (readonly [LabelName, readonly string[]])[] = [
  ['ttl', ['ttl', 'default ttl', 'time to live']],
  ['uniqueKeys', ['unique keys', 'unique key', 'unique key policy']],
  ['throughput', ['throughput', 'ru s', 'autoscale max', 'max ru', 'autoscale max ru']],
];

export interface Overview {
  readonly name: string;
  readonly line: number;
  /** The key, and what further columns state. */
  readonly facts: readonly Fact[];
  /** The types of its documents, if a column names them. */
  readonly types: readonly string[];
}

/** Whatever its first column is called: names in backticks, each with a path as its key. */
const isOfPaths = (table: Table): boolean =>
  hasColumns(table, KEY_COLUMN) &&
  table.rows.length > 0 &&
  table.rows.every(
    (row) =>
      /^`[\w-]+`$/.test(row.cells[table.headers[0] ?? ''] ?? '') && /^`?\/\w/.test(column(row, KEY_COLUMN) ?? ''),
  );

/** The rows of overviews such as `| Container | Partition Key | Purpose |`, each with the name and the key. */
export function overviews(all: readonly Section[], text: string, file: string): Overview[] {
  return all.flatMap(({ blocks }) =>
    tablesOf(blocks, text, file)
      .filter((table) => hasColumns(table, CONTAINER_COLUMN, KEY_COLUMN) || isOfPaths(table))
      .flatMap(({ headers, rows }) => rows.map((row) => ({ row, first: headers[0] ?? '' })))
      .flatMap(({ row, first }): Overview[] => {
        const named = column(row, CONTAINER_COLUMN) ?? row.cells[first] ?? '';
        const name = /^`?([\p{L}_][\p{L}\p{N}_-]*)`?(?:\s*[*_(–—].*)?$/u.exec(named)?.[1];
        const key = column(row, KEY_COLUMN) ?? '';
        if (name === undefined || row.struck || !partitionKey(key, [])) return [];
        const { line } = row.at;
        const factOf = (label: LabelName, value: string): Fact => ({
          name: label,
          label,
          text: value,
          line,
          items: [],
          fences: [],
        });
        const further = FACT_COLUMNS.flatMap(([label, headers]) => {
          const value = column(row, headers) ?? '';
          return understood(label, value) ? [factOf(label, value)] : [];
        });
        return [{ name, line, facts: [factOf('partitionKey', key), ...further], types: typesInRow(row) }];
      }),
  );
}

/** An overview's cell may hold any words; only a value counts. */
const understood = (label: LabelName, value: string): boolean =>
  label === 'ttl'
    ? typeof ttl(value) === 'number'
    : label === 'uniqueKeys'
      ? (uniqueKeys(value, []) ?? []).length > 0
      : typeof throughput(value)?.max === 'number';

const TYPES_COLUMN = ['document types', 'document type', 'item types', 'entity types', 'types'];

/** The names in backticks of a cell that has nothing else. */
function typesInRow(row: Table['rows'][number]): string[] {
  const cell = column(row, TYPES_COLUMN) ?? '';
  return /^`[\w-]+`(?:\s*[,/]\s*`[\w-]+`)*$/.test(cell) ? [...cell.matchAll(/[\w-]+/g)].map(([name]) => name) : [];
}
