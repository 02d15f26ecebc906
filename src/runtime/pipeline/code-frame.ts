import { readFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';

export interface CodePlace {
  readonly file: string;
  readonly line: number;
  /** From 1. */
  readonly column?: number;
}

/** Where an error comes from: the first line of its stack that is in a file of the folder. Of a syntax error it is its own. */
export function placeIn(folder: string, error: unknown): CodePlace | undefined {
  const lines = (error instanceof Error ? (error.stack ?? '') : '').split('\n');
  for (const [index, text] of lines.entries()) {
    const at = text.indexOf(folder);
    if (at === -1) continue;
    const place = /^([^?:]*)(?:\?[^:]*)?:(\d{1,9})(?::(\d{1,9}))?/.exec(text.slice(at + folder.length));
    const [, file, line, column] = place ?? [];
    if (file === undefined || file.includes('/node_modules/')) continue;
    // The stack of a syntax error begins with its file and line, the text of a line or two, and a mark below.
    const mark = lines.slice(index + 1, index + 4).find((one) => /^\s*\^+\s*$/.test(one));
    const of = column === undefined ? (mark?.indexOf('^') ?? -1) + 1 : Number(column);
    return { file: `${folder}${file}`, line: Number(line), ...(of > 0 && { column: of }) };
  }
  return undefined;
}

/** The line of a folder's code that an error, or its cause, comes from, after the line before it and with a mark below. */
export function codeFrame(folder: string, error: unknown): string[] {
  for (let of = error; of instanceof Error; of = of.cause) {
    const place = placeIn(folder, of);
    if (place) return frameOf(place);
  }
  return [];
}

const WIDEST = 120;

function frameOf({ file, line, column }: CodePlace): string[] {
  let code: string[];
  try {
    code = stripVTControlCharacters(readFileSync(file, 'utf8')).split('\n');
  } catch {
    return [];
  }
  const number = String(line);
  const shown = (at: number): string[] =>
    code[at - 1] === undefined
      ? []
      : [`  ${String(at).padStart(number.length)} │ ${(code[at - 1] ?? '').slice(0, WIDEST).trimEnd()}`];
  const mark =
    column === undefined || column > WIDEST ? [] : [`  ${' '.repeat(number.length)} │ ${' '.repeat(column - 1)}^`];
  return [...shown(line - 1), ...shown(line), ...mark];
}
