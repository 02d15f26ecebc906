// PostgreSQL's own parser, as WebAssembly. It is loaded once, when the first text is parsed.
import type { Node, RawStmt } from 'libpg-query';
import { once } from '../base/once.ts';
import { sharedError } from '../base/shared-errors.ts';
import { withoutData } from './ddl/dump.ts';
import { type Tree, isTree } from './nodes.ts';

export interface ParsedStatement {
  readonly node: Node;
  /** Where the statement begins and ends in the text, in UTF-16 units, without the spaces and comments before it. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** An offset in bytes, as the nodes have it, as one in UTF-16 units of the whole text. */
  readonly at: (bytes: number) => number;
}

export interface Parser {
  /**
   * @param file names the text in errors
   * @throws UsageError `query-unsupported`
   */
  parse(text: string, file: string): ParsedStatement[];
}

/** A byte order mark, spaces and comments, which PostgreSQL counts to the statement that follows. */
const BLANK = /^(?:\s|\uFEFF|--[^\n]*(?:\n|$)|\/\*(?:[^*]|\*(?!\/))*\*\/)+/;

const SIGNS = /[-+*/<>=~!@#%^&|`?]{300,}/g;
/** A line in a comment. */
const LINE = /^\/?([-=*#~])\1*\/?$/;

export const loadParser = once(async (): Promise<Parser> => {
  const library = await import('libpg-query');
  await library.loadModule();
  return {
    parse: (given, file) => {
      const text = withoutData(given);
      if (text.replace(BLANK, '') === '') return [];
      refuseSigns(text, file);
      const tree = read(text, file, (source) => library.parseSync(source) as { readonly stmts?: readonly RawStmt[] });
      const at = unitsOf(text);
      return (tree.stmts ?? []).flatMap(
        ({ stmt, stmt_location: from = 0, stmt_len: length = 0 }): ParsedStatement[] => {
          if (!stmt) return [];
          const end = length === 0 ? text.length : at(from + length);
          const whole = text.slice(at(from), end);
          const start = at(from) + (BLANK.exec(whole)?.[0].length ?? 0);
          if (isDeep(stmt)) throw tooDeep(place(text, file, start));
          return [{ node: stmt, start, end, text: text.slice(start, end).trimEnd(), at }];
        },
      );
    },
  };
});

/** PostgreSQL's lexer reads a run of signs, such as openings of comments, again from each of them. */
function refuseSigns(text: string, file: string): void {
  for (const { 0: run, index } of text.matchAll(SIGNS))
    if (!LINE.test(run))
      throw sharedError('query-unsupported', `${place(text, file, index)}: ${run.length} signs stand side by side`, {
        hint: 'Put spaces between them.',
      });
}

function read<T>(text: string, file: string, parse: (text: string) => T): T {
  try {
    return parse(text);
  } catch (cause) {
    if (!(cause instanceof Error)) throw cause;
    // The parser's own stack is full. It can be used again.
    if (cause instanceof RangeError || cause.message.startsWith('memory exhausted')) throw tooDeep(file, { cause });
    const details = 'sqlDetails' in cause ? (cause.sqlDetails as { readonly cursorPosition?: number }) : {};
    // This position counts characters, and not bytes as the others do.
    const given = Array.from(text)
      .slice(0, details.cursorPosition ?? 0)
      .join('').length;
    // An end that came too early is behind the last word, and not in an empty line below it.
    const offset = Math.min(given, text.trimEnd().length);
    throw sharedError('query-unsupported', `${place(text, file, offset)}: ${cause.message}\n${caret(text, offset)}`, {
      hint: 'Correct the text. The parser is that of PostgreSQL 18; of the commands of `psql` it knows those of a dump.',
      cause,
    });
  }
}

/** Levels of a tree. What reads trees is recursive, in whatever depth of the caller's own calls. */
const MOST_LEVELS = 800;

function isDeep(statement: Node): boolean {
  let level: Tree[] = [statement];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MOST_LEVELS) return true;
    level = level.flatMap((each) => Object.values(each).filter(isTree));
  }
  return false;
}

const tooDeep = (where: string, options?: { readonly cause: Error }): Error =>
  sharedError('query-unsupported', `${where}: a statement is nested deeper than the check reads`, {
    hint: 'Divide the statement. Write a chain of values as a list, such as one of VALUES.',
    ...options,
  });

/** The parser counts bytes of UTF-8. Statements come in their order, so that each piece of the text is counted once. */
function unitsOf(text: string): (bytes: number) => number {
  const bytes = Buffer.from(text);
  if (bytes.length === text.length) return (at) => at;
  let [from, units] = [0, 0];
  return (at) => {
    if (at < from) return bytes.subarray(0, at).toString().length;
    units += bytes.subarray(from, at).toString().length;
    from = at;
    return units;
  };
}

/** The text that was asked about last, and the ends of its lines: each statement of a file asks. */
let indexed = { text: '', ends: [] as number[] };

export function sqlLineOf(text: string, offset: number): number {
  if (indexed.text !== text) indexed = { text, ends: Array.from(text.matchAll(/\n/g), ({ index }) => index) };
  let [low, high] = [0, indexed.ends.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (indexed.ends[middle]! < offset) low = middle + 1;
    else high = middle;
  }
  return low + 1;
}

const place = (text: string, file: string, offset: number): string => `${file}:${sqlLineOf(text, offset)}`;

/** The line of a place, and a caret below it. */
function caret(text: string, offset: number): string {
  const from = text.lastIndexOf('\n', offset - 1) + 1;
  const to = text.indexOf('\n', offset);
  const line = text.slice(from, to === -1 ? undefined : to);
  return `  ${line}\n  ${line.slice(0, offset - from).replace(/[^\t]/g, ' ')}^`;
}
