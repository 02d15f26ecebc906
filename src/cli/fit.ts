import { stripVTControlCharacters } from 'node:util';

const WIDE =
  /^[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\p{Emoji_Presentation}\u{1F300}-\u{1F64F}\u{1F900}-\u{1F9FF}\u{20000}-\u{3FFFD}]/u;
const NO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}\p{Cc}]+$/u;

const segments = new Intl.Segmenter('en');

/** How many columns of a terminal a character takes. */
const columnsOf = (character: string): number => (NO_WIDTH.test(character) ? 0 : WIDE.test(character) ? 2 : 1);

/** How many columns of a terminal a line takes, without its colours. */
export function widthOf(line: string): number {
  let width = 0;
  for (const { segment } of segments.segment(stripVTControlCharacters(line))) width += columnsOf(segment);
  return width;
}

/** The line, cut at a width; one that is cut loses its colours. */
export function fit(line: string, columns: number): string {
  if (widthOf(line) <= columns) return line;
  let [cut, width] = ['', 0];
  for (const { segment } of segments.segment(stripVTControlCharacters(line))) {
    width += columnsOf(segment);
    if (width > columns - 1) return `${cut}…`;
    cut += segment;
  }
  return cut;
}
