// The rows of "Access Pattern Mapping".
import type { PatternMapping, PatternOperation } from '../documents.ts';
import { hasName } from './names.ts';
import { patternIds } from './pattern-ids.ts';
import { quantities } from './text/quantity.ts';
import { queriesIn, saysCrossing } from './asked.ts';
import { type MarkdownRow, type Table, column, hasColumns } from './text/tables.ts';

/** Sections whose tables say how much is done, whatever their columns are called. */
const ABOUT_LOAD = new Set(['hotPartitions', 'tradeOffs', 'distribution', 'validation']);

/** A table of hot partitions or costs may name patterns and containers too; only a mapping says what is done. */
export const statedIsMapping = (table: Table, section: string | undefined): boolean =>
  (section === undefined || !ABOUT_LOAD.has(section)) &&
  hasColumns(
    table,
    ['pattern', 'id', '模式'],
    ['containers indexes', 'container', 'containers', '容器', '容器 索引'],
  ) &&
  (section === 'mapping' ||
    hasColumns(table, ['cosmos db operations', 'operations', 'operation', 'implementation notes', 'notes', '操作']));

/** Undefined for a row without a pattern. `names` are the designed containers, `known` all pattern ids. */
export function mappingRow(
  row: MarkdownRow,
  names: readonly string[],
  known: readonly string[],
): PatternMapping | undefined {
  const printed = column(row, ['pattern', 'pattern id', 'id', '模式']) ?? '';
  const ids = patternIds(printed, known);
  if (ids.length === 0) return undefined;
  const containerText =
    column(row, ['containers indexes', 'container', 'containers', 'container index', '容器 索引', '容器']) ?? '';
  const operationText = column(row, ['cosmos db operations', 'operations', 'operation', '操作']) ?? '';
  const notes = column(row, ['implementation notes', 'notes', 'implementation', '实现说明', '备注']) ?? '';
  const everything = Object.values(row.cells).join(' ');
  const queries = [operationText, notes].flatMap(queriesIn);
  const ru = statedRu(row, notes, operationText);
  const times = /(\d+)\s+point reads/i.exec(operationText)?.[1];
  return {
    ids,
    printed,
    ...containersOf(containerText, names),
    operations: operationsOf(operationText, `${notes} ${everything}`, queries.length),
    operationText,
    queries,
    notes,
    ...(ru !== undefined && { ru }),
    times: times === undefined ? 1 : Number(times),
    at: row.at,
  };
}

/** RU of one execution: a cost column, or the last figure of the notes that is neither a rate nor part of a sum. */
function statedRu(row: MarkdownRow, notes: string, operations: string): number | undefined {
  const cost = column(row, ['ru', 'ru cost', 'rus', 'estimated ru', 'request units', 'cost']);
  for (const text of [cost, notes, operations]) {
    if (text === undefined) continue;
    const bare = text === cost && /^\W*[\d.,]+\W*$/.test(text);
    const found = quantities(text).filter(
      ({ unit, index }) => (unit === 'ru' || bare) && !/[×=+*]\s*~?$/.test(text.slice(0, index).trimEnd()),
    );
    const last = found.at(-1);
    if (last) return last.high;
  }
  return undefined;
}

const OPERATIONS: readonly (readonly [PatternOperation, RegExp])[] = [
  ['point-read', /point[- ]reads?|\breaditem|read item|readmany|read many|点读/i],
  ['query', /\bquer(y|ies)|\bselect\b|getitemqueryiterator|查询/i],
  ['create', /\bcreates?\b|createitem|\binserts?\b|创建|插入/i],
  ['replace', /\breplaces?\b|replaceitem|\bupdates?\b|替换|更新/i],
  ['patch', /\bpatch/i],
  ['upsert', /\bupserts?\b|upsertitem/i],
  ['delete', /\bdeletes?\b|deleteitem|删除/i],
  ['batch', /\bbatch|transactional/i],
];

/** `queries`: the number of queries that the row writes. */
function operationsOf(text: string, all: string, queries: number): PatternOperation[] {
  // The text of a query names fields, which may be called `deleted` or `updates`.
  const words = text
    .replaceAll(/`[^`]*`/g, (code) => (/^`\s*select/i.test(code) ? ' SELECT ' : code))
    .replaceAll(/\bwith deletedAt\b/gi, '');
  const found = OPERATIONS.filter(([, pattern]) => pattern.test(words)).map(([name]) => name);
  if (!saysCrossing(all)) return found;
  // "Query, cross-partition" is one read, and "query of a store, then a cross-partition query" are two.
  const others = words.replaceAll(CROSSING_QUERY, '');
  const both = queries > 1 || (others !== words && /\bquer(y|ies)\b/i.test(others));
  return [...(both ? found : found.filter((operation) => operation !== 'query')), 'cross-partition'];
}

const CROSSING_QUERY = /\bcross[- ]partition\s+quer(y|ies)\b/gi;

/** Words that can begin a part of the cell, but aren't containers. */
const NO_CONTAINER =
  /^(composite|index|indexes|indices|default|via|after|blob|blobs|point|primary|secondary|all|none|any|both|the|cache|archive|change|n|with|using|partition|key|by|then|or|and|no|in|on|from|range|included|selective|automatic|索引|复合)$/i;

function containersOf(text: string, names: readonly string[]): { containers: string[]; unknown: string[] } {
  const containers: string[] = [];
  const unknown: string[] = [];
  const parts = text.replaceAll(/\([^)]*\)/g, ' ').split(/\s*(?:,|;|\+|→|&|\/|、| and | ; )\s*/);
  for (const [index, part] of parts.entries()) {
    const word = /^[\s*"]*`?\s*([\p{L}_][\p{L}\p{N}_-]*)/u.exec(part)?.[1];
    if (word === undefined) continue;
    const known =
      names.find((name) => name.toLowerCase() === word.toLowerCase()) ??
      names.find((name) => hasName(part, name) && !/^blob/i.test(part));
    if (known !== undefined) containers.push(known);
    // A part after the first may be a remark: it names a container only if it is in backticks or capitalised.
    else if (
      !NO_CONTAINER.test(word) &&
      (index === 0 || part.trimStart().startsWith('`') || /^[A-Z]/.test(word)) &&
      !/^blob/i.test(part)
    )
      unknown.push(word);
  }
  return { containers: [...new Set(containers)], unknown: [...new Set(unknown)] };
}
