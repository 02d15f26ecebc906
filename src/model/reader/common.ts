// The parts that both documents have: prose, checks, waivers, SQL, a shard map.
import type { UsageError } from '../../base/errors.ts';
import type { ModelFinding, Place } from '../model.ts';
import type { ShardMapping, Text } from '../documents.ts';
import { tooDeepAt } from './depth.ts';
import { type Section, lineOf, outline, sourceOf, within } from './outline.ts';
import { piecesOf } from './prose.ts';
import { hasColumns, column, plainText, tablesOf } from './tables.ts';
import { waiversOf } from './waivers.ts';
import { modelError } from '../errors.ts';

/** @throws UsageError `document-too-intricate`; `document-too-deep` for Markdown or JSON that is nested too deeply to parse */
export function outlineOf(text: string, file: string): Section {
  const line = tooDeepAt(text);
  if (line !== undefined) throw tooDeep(`${file}, line ${line}, can't be read: it is nested too deep`);
  try {
    return outline(text, file);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw tooDeep(`${file} can't be read: its lists or quotes are nested too deep`, cause);
  }
}

const tooDeep = (message: string, cause?: unknown): UsageError => modelError('document-too-deep', message, { cause });

export const titleOf = (root: Section): string => root.sections.find((section) => section.depth === 1)?.title ?? '';

export function commonOf(root: Section, text: string, file: string) {
  const lines = text.split(/\r\n|\r|\n/);
  const { waivers, findings } = waiversOf(root, lines.length, file);
  const { prose, headings, checks, sql, meanings } = piecesOf(root, text, file);
  return {
    file,
    title: titleOf(root),
    prose,
    headings,
    checks,
    sql,
    meanings,
    waivers,
    lines,
    ...shardsOf(root, text, file),
    findings,
  };
}

/** Tables `Key | Shard location`, and the steps of a planned change. */
function shardsOf(root: Section, text: string, file: string): { shards: ShardMapping[]; shardPlan: Text[] } {
  const shards: ShardMapping[] = [];
  const shardPlan: Text[] = [];
  for (const section of within(root)) {
    for (const table of tablesOf(section.blocks, text, file)) {
      if (!hasColumns(table, ['key', 'key range', '键'], ['shard location', 'shard', '分片', '分片位置'])) continue;
      for (const row of table.rows) {
        if (row.struck) continue;
        const key = column(row, ['key', 'key range', '键']) ?? '';
        const shard = column(row, ['shard location', 'shard', '分片位置', '分片']) ?? '';
        shards.push({ key: key.replaceAll('`', ''), shard: shard.replaceAll('`', ''), cells: row.cells, at: row.at });
      }
    }
    if (!/shard.*(plan|change)|(plan|change).*shard|分片.*变更/i.test(section.title)) continue;
    for (const block of section.blocks) {
      if (block.type !== 'list' || block.ordered !== true) continue;
      for (const item of block.children) {
        const at: Place = { file, line: lineOf(item) };
        shardPlan.push({ text: plainText(sourceOf(item.children[0], text)), at });
      }
    }
  }
  return { shards, shardPlan };
}

/** Sections of the second level that the reader doesn't read. */
export const skippedSections = (root: Section, known: (title: string) => boolean, file: string): ModelFinding[] =>
  root.sections
    .flatMap((section) => (section.depth === 1 ? section.sections : [section]))
    .filter((section) => !section.struck && !known(section.title))
    .map(({ title, line }) => ({
      code: 'section-skipped',
      severity: 'information',
      message: `Millrace doesn't read the section "${title}"`,
      at: { file, line },
    }));
