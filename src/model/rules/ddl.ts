// Reads from SQL fences the parts of PostgreSQL's DDL that the tenancy rules need.
import type { Text } from '../documents.ts';
import type { Place } from '../model.ts';

export interface SqlTable {
  readonly name: string;
  readonly columns: readonly string[];
  /** PRIMARY KEY, UNIQUE and FOREIGN KEY, each with its columns. */
  readonly keys: readonly { readonly kind: string; readonly columns: readonly string[] }[];
  readonly distribution?: string;
  readonly reference: boolean;
  readonly at: Place;
}

export interface SqlJoin {
  readonly text: string;
  /** Columns that the join compares on both sides. */
  readonly equal: readonly string[];
  readonly at: Place;
}

const names = (text: string): string[] => text.split(',').map((name) => name.trim().replaceAll('"', ''));

export function tablesIn(fences: readonly Text[]): SqlTable[] {
  const all = fences.map(({ text }) => text).join('\n');
  return fences.flatMap(({ text, at }) =>
    [...text.matchAll(/create\s+table\s+(?:if\s+not\s+exists\s+)?"?([\w.]+)"?\s*\(([^;]*)\)/gi)].map((match) => {
      const [name = '', body = ''] = [match[1], match[2]];
      const parts = body.split(/,(?![^(]*\))/).map((part) => part.trim());
      const inline = parts.filter(
        (part) => /\bprimary key\b|\bunique\b/i.test(part) && !/^(primary|unique|constraint|foreign)\b/i.test(part),
      );
      const distribution = new RegExp(String.raw`create_distributed_table\(\s*'${name}'\s*,\s*'(\w+)'`, 'i').exec(
        all,
      )?.[1];
      return {
        name,
        columns: parts
          .filter((part) => !/^(primary|unique|constraint|foreign|check)\b/i.test(part))
          .map((part) => /^"?(\w+)/.exec(part)?.[1] ?? ''),
        keys: [
          ...inline.map((part) => ({
            kind: /primary/i.test(part) ? 'PRIMARY KEY' : 'UNIQUE',
            columns: [/^"?(\w+)/.exec(part)?.[1] ?? ''],
          })),
          ...[...body.matchAll(/(primary key|unique|foreign key)\s*\(([^)]*)\)/gi)].map((key) => ({
            kind: (key[1] ?? '').toUpperCase(),
            columns: names(key[2] ?? ''),
          })),
        ],
        ...(distribution !== undefined && { distribution }),
        reference: new RegExp(String.raw`create_reference_table\(\s*'${name}'`, 'i').test(all),
        at: { file: at.file, line: at.line + text.slice(0, match.index).split('\n').length - 1 },
      };
    }),
  );
}

export function joinsIn(fences: readonly Text[]): SqlJoin[] {
  return fences.flatMap(({ text, at }) =>
    [...text.matchAll(/\bjoin\b[^;]*?\b(on|using)\b([^;]*?)(?=\bjoin\b|\bwhere\b|\bgroup\b|\border\b|;|$)/gi)].map(
      (match) => ({
        text: match[0].replaceAll(/\s+/g, ' ').trim(),
        equal: /using/i.test(match[1] ?? '')
          ? names((match[2] ?? '').replaceAll(/[()]/g, ''))
          : [...(match[2] ?? '').matchAll(/\w+\.(\w+)\s*=\s*\w+\.(\w+)/g)].flatMap((pair) =>
              pair[1] === pair[2] ? [pair[1] ?? ''] : [],
            ),
        at: { file: at.file, line: at.line + text.slice(0, match.index).split('\n').length - 1 },
      }),
    ),
  );
}

export const addedColumns = (fences: readonly Text[]): { table: string; column: string; at: Place }[] =>
  fences.flatMap(({ text, at }) =>
    [...text.matchAll(/alter\s+table\s+"?([\w.]+)"?\s+add\s+(?:column\s+)?(?:if\s+not\s+exists\s+)?"?(\w+)/gi)].map(
      (match) => ({
        table: match[1] ?? '',
        column: match[2] ?? '',
        at: { file: at.file, line: at.line + text.slice(0, match.index).split('\n').length - 1 },
      }),
    ),
  );
