import { expect, test } from 'vitest';
import { parseDesign } from '../../src/model/reader/design.ts';
import { tooDeepAt } from '../../src/model/reader/text/depth.ts';

const json = (depth: number): string => `\`\`\`json\n${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}\n\`\`\``;
const indented = (levels: number): string =>
  Array.from({ length: levels }, (_, level) => `${'    '.repeat(level)}- a`).join('\n');

test.each([
  ['quotes', `\n${'>'.repeat(50_000)} a`, 2],
  ['bullets on one line', `${'- '.repeat(5_000)}a`, 1],
  ['numbers on one line', `a\n\n${'1. '.repeat(4_000)}a`, 3],
  ['bullets by indent', indented(500), 51],
  ['objects', json(20_000), 2],
  ['lists over many lines', `\`\`\`\n${'[\n'.repeat(300)}\`\`\``, 202],
])('%s: the line is named at once', (_, text, line) => {
  expect(tooDeepAt(text)).toBe(line);
  expect(() => parseDesign(`# X\n## Container Designs\n${text}`, 'deep.md')).toThrow(
    `deep.md, line ${line + 2}, can't be read: it is nested too deep`,
  );
});

test.each([
  ['three levels', indented(3)],
  ['forty quotes', `${'> '.repeat(40)}a`],
  ['a rule and a table', `${'-'.repeat(300)}\n| a | b |\n|${'-'.repeat(200)}|---|\n`],
  ['a deep example', json(100)],
  ['open brackets outside of examples', '[1,50) '.repeat(1_000)],
])('%s isn’t too deep', (_, text) => {
  expect(tooDeepAt(text)).toBeUndefined();
});
