// The queries with their expected verdicts: see queries/README.md.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Expected {
  readonly file: string;
  readonly line: number;
  readonly sql: string;
  /** What is true of its rows. */
  readonly rows: 'safe' | 'leaks';
  /** The check is expected to say that it doesn't know. */
  readonly unknown: boolean;
  readonly runs: string;
}

const HEAD = /^-- rows: (safe|leaks)(, unknown)?; runs: ([^;]+); from: \S/;

export const schema = readFileSync(join(import.meta.dirname, 'schema.sql'), 'utf8');

export function expectedQueries(): Expected[] {
  return globSync('queries/*.sql', { cwd: import.meta.dirname })
    .toSorted()
    .flatMap((file) => {
      const lines = readFileSync(join(import.meta.dirname, file), 'utf8').split('\n');
      return lines.flatMap((line, at): Expected[] => {
        if (!line.startsWith('-- rows')) return [];
        const [, rows, unknown, runs] = HEAD.exec(line) ?? [];
        if ((rows !== 'safe' && rows !== 'leaks') || runs === undefined)
          throw new Error(`${file}:${at + 1} has no verdicts`);
        return [{ file, line: at + 2, sql: lines[at + 1] ?? '', rows, unknown: unknown !== undefined, runs }];
      });
    });
}
