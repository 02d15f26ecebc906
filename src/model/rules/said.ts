// What lines of the data model say, with their numbers. Many rules ask for the lines with the same words.
import type { ContainerDetail, Design } from '../documents.ts';
import type { SourceLine } from '../model.ts';
import { isIn, linesOf } from './declared.ts';
import { more, quoted } from './rule.ts';

type Line = readonly [number: number, text: string];

const read = new WeakMap<readonly string[], Map<RegExp, readonly Line[]>>();

/** The lines with these words, each with its number. */
export function linesSaying({ lines }: Pick<Design, 'lines'>, words: RegExp): readonly Line[] {
  const known = read.get(lines) ?? new Map<RegExp, readonly Line[]>();
  read.set(lines, known);
  const found =
    known.get(words) ??
    [...lines.entries()].flatMap(([index, text]): Line[] => (words.test(text) ? [[index + 1, text]] : []));
  known.set(words, found);
  return found;
}

/** Whether a line of the container's section, or one with its name, says it. */
export function isSaid(design: Design, detail: ContainerDetail, words: RegExp): boolean {
  const span = linesOf(design, detail);
  return linesSaying(design, words).some(([line, text]) => isIn(span, line) || text.includes(detail.container.name));
}

/** The text from `before` lines before a line to `after` lines after it. */
export const textAround = ({ lines }: Design, line: number, before: number, after = before): string =>
  lines.slice(Math.max(0, line - 1 - before), line + after).join('\n');

/** The first of the lines in quotes, and how many more there are: what a finding speaks of. */
export function ruleWordsOf({ lines }: Design, all: readonly { readonly at: SourceLine }[]): string {
  const [first, ...others] = all;
  const text = (lines[(first?.at.line ?? 0) - 1] ?? '')
    .replace(/^\s*(?:(?:[-*+>]|\d+[.)]|#+|\/\/|--)\s+|\|\s*)+/, '')
    .replace(/\s*\|\s*$/, '')
    .replaceAll(/\s*\\?\|\s*/g, ', ')
    .replaceAll('**', '')
    .trim();
  return `"${quoted(text, LONGEST)}"${more(others.length)}`;
}
const LONGEST = 80;
