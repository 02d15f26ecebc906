// Reads tables by their headers, never by position; unknown columns are kept.
import type { RootContent, TableCell, TableRow } from 'mdast';
import type { SourceLine } from '../../model.ts';
import { normalised } from './labels.ts';
import { lineOf } from './outline.ts';

export interface MarkdownRow {
  /** Cells by header as printed. */
  readonly cells: Readonly<Record<string, string>>;
  readonly struck: boolean;
  readonly at: SourceLine;
}

export interface Table {
  readonly headers: readonly string[];
  readonly rows: readonly MarkdownRow[];
  readonly line: number;
}

export const plainText = (text: string): string =>
  text
    .replaceAll(/<br\s*\/?>/gi, ' ; ')
    .replaceAll(/<!--[^]*?-->/g, '')
    .replaceAll('**', '')
    .replaceAll(String.raw`\|`, '|')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** Several readers ask for the tables of a section. */
const read = new WeakMap<readonly RootContent[], readonly Table[]>();

export function tablesOf(blocks: readonly RootContent[], source: string, file: string): readonly Table[] {
  const known = read.get(blocks);
  if (known) return known;
  const tables = blocks.flatMap((node) => {
    if (node.type !== 'table') return [];
    const [head, ...rows] = node.children;
    if (!head) return [];
    const headers = head.children.map((cell) => plainText(cut(cell, source)));
    return [{ headers, line: lineOf(node), rows: rows.map((row) => readRow(row, headers, source, file)) }];
  });
  read.set(blocks, tables);
  return tables;
}

function readRow(row: TableRow, headers: readonly string[], source: string, file: string): MarkdownRow {
  const cells: Record<string, string> = {};
  const texts = row.children.map((cell) => plainText(cut(cell, source)));
  for (const [index, header] of headers.entries()) cells[header] = texts[index] ?? '';
  const filled = row.children.filter((cell) => cell.children.length > 0);
  const struck = filled.length > 0 && filled.every((cell) => cell.children.every((child) => child.type === 'delete'));
  return { cells, struck, at: { file, line: lineOf(row) } };
}

/** A cell's source without its bars, because the parser's text has no backticks. */
export function cut(cell: TableCell, source: string): string {
  const [first] = cell.children;
  const last = cell.children.at(-1);
  return source.slice(first?.position?.start.offset ?? 0, last?.position?.end.offset ?? 0);
}

/** The cell whose header equals one of the names, or contains one; `names` are in the order of preference. */
export function column({ cells }: MarkdownRow, names: readonly string[]): string | undefined {
  const entries = Object.entries(cells).map(([header, text]) => [normalised(header), text] as const);
  for (const matches of [(header: string, name: string) => header === name, contains]) {
    for (const name of names) {
      const found = entries.find(([header]) => matches(header, name));
      if (found) return found[1];
    }
  }
  return undefined;
}

const contains = (header: string, name: string): boolean =>
  /[a-z]/.test(name) ? ` ${header} `.includes(` ${name} `) : header.includes(name);

export const hasColumns = ({ headers }: Table, ...groups: readonly (readonly string[])[]): boolean =>
  groups.every((names) => headers.some((header) => names.some((name) => contains(normalised(header), name))));
