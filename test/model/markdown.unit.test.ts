// Blocks that are read without the Markdown parser are what the parser makes of them.
import { readFileSync, readdirSync } from 'node:fs';
import * as fc from 'fast-check';
import type { Nodes } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { toString as textOf } from 'mdast-util-to-string';
import { gfm } from 'micromark-extension-gfm';
import { expect, test } from 'vitest';
import { parseMarkdown } from '../../src/model/reader/text/markdown.ts';
import { plainBlock } from '../../src/model/reader/text/plain-blocks.ts';
import { plainLinesOf } from '../../src/model/reader/text/plain-lines.ts';
import { suiteSeed } from '../support/seed.ts';

const byParser = (text: string): Nodes[] =>
  fromMarkdown(text, {
    extensions: [gfm(), { disable: { null: ['wwwAutolink', 'protocolAutolink', 'emailAutolink'] } }],
    mdastExtensions: gfmFromMarkdown().filter(({ transforms }) => transforms === undefined),
  }).children;

/** What readers use of a tree: all but the inside of texts, which they cut from the source. */
function seen(node: Nodes): unknown {
  const { type, position } = node;
  if (type === 'paragraph') return { type, position, comments: comments(node) };
  if (type === 'heading') {
    const { depth, children } = node;
    const words = children.filter((child) => textOf(child).trim() !== '');
    const code = children.find((child) => child.type === 'inlineCode')?.value;
    const struck = words.every((child) => child.type === 'delete');
    return { type, position, depth, title: textOf(node), code, struck, comments: comments(node) };
  }
  if (type === 'tableCell') {
    const { children } = node;
    const [from, to] = [children[0]?.position?.start, children.at(-1)?.position?.end];
    return { type, from, to, struck: children.every((child) => child.type === 'delete'), comments: comments(node) };
  }
  const children = 'children' in node ? node.children.map(seen) : [];
  const of = (name: string): unknown => Object.entries(node).find(([key]) => key === name)?.[1] ?? null;
  return {
    type,
    position,
    children,
    ...Object.fromEntries(['value', 'lang', 'meta', 'ordered', 'checked'].map((name) => [name, of(name)])),
  };
}

/** Waivers are comments. */
function comments(node: Nodes): { value: string; line: number | undefined }[] {
  if (node.type === 'html' && node.value.startsWith('<!--'))
    return [{ value: node.value, line: node.position?.start.line }];
  return 'children' in node ? node.children.flatMap(comments) : [];
}

const ours = (text: string): unknown[] => parseMarkdown(text, 'm.md').children.map(seen);
const theirs = (text: string): unknown[] => byParser(text).map(seen);

const documents = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`);
const FILES = ['flights', 'storefront', 'telemetry'].flatMap((name) => documents(`examples/${name}`));

test.each([...FILES, ...documents('test/model/corpus'), 'README.md', 'docs/model.md', 'docs/tenants.md'])(
  '%s',
  (file) => {
    const text = readFileSync(file, 'utf8');
    const crlf = text.replaceAll('\n', '\r\n');
    expect(ours(text)).toEqual(theirs(text));
    expect(ours(crlf)).toEqual(theirs(crlf));
  },
);

test.each(FILES)('most of %s needs no parser', (file) => {
  const lines = plainLinesOf(readFileSync(file, 'utf8'));
  let [at, plain] = [0, 0];
  while (at < lines.length) {
    const next = plainBlock(lines, at)?.next;
    plain += next === undefined ? 0 : next - at;
    at = next ?? at + 1;
  }
  const filled = lines.filter(({ text }) => text.trim() !== '').length;
  expect(plain / filled).toBeGreaterThan(0.9);
});

/** Pieces that begin something which a heading may or may not end. */
const PIECES = [
  '# Heading',
  '## `Orders` Container',
  '    # indented code',
  'A paragraph that\ngoes on',
  '- item\n  - nested\n\n    more of it',
  '- ```js\n  # comment\n  ```',
  '```sql\n# no heading\n\n## nor this\n```',
  '~~~\n```\n~~~',
  '```',
  '````\n```json\n````',
  '> quote\n> ```\n> # in it',
  '1. one\n\n   ```\n   # deep\n   ```',
  '| a | b |\n|---|---|\n| 1 | 2 |',
  '<div>\n# inside',
  '<!-- one line -->',
  '<!-- several\n\n# lines -->',
  '<pre>\n\n# raw\n\n</pre>',
  '[ref]: https://example.org',
  'See [ref] and www.example.org',
  '- [x] done\n- [ ] open',
  'Title\n=====',
  '***',
];
/** Beginnings and ends of lines, which a line of its own or the line above may give another meaning. */
const BEGINS = [
  '',
  '',
  '',
  'word ',
  '**Label**: ',
  '*a* ',
  '_b_ ',
  '- ',
  '- ',
  '* ',
  '+ ',
  '-  ',
  '-     ',
  '1. ',
  '2. ',
  '1) ',
  '10. ',
  '- [x] ',
  '- [ ] ',
  '- [ ]',
  '# ',
  '## ',
  '#',
  '```',
  '```json ',
  '```js meta a\\b',
  '~~~',
  '~~x~~ ',
  '> ',
  '| a | b |',
  '|---|---|',
  '|---|',
  '| :-: | - |',
  '|~~a~~|~~b~~|',
  '| `a\\|b` | c\\',
  'a | b',
  '--- | ---',
  '---',
  '***',
  '===',
  '=',
  '--',
  '<!-- c -->',
  '<!-- c',
  '-->',
  '<div>',
  '<pre>',
  '</pre>',
  '<a>',
  '[a]: b',
  '[^1]: n',
  '[a]',
  'é',
  '7 ',
  '7. ',
  '-5',
  '\\# ',
  '&amp; ',
  '`c` ',
  '``c`` ',
  '$',
  '\t',
  '- a\n  ```json\n  {',
  '  }\n  ```',
];
const ENDS = [
  '',
  '',
  'text',
  'two words',
  '**bold**',
  '`code`',
  '`co',
  ' ',
  '  ',
  '|',
  '| x |',
  ' #',
  ' <!-- w -->',
  '\\',
  '~~',
  '[a]',
  'a_b',
  '!',
  '```',
  'a\tb',
  '# x',
  '**b** c: d',
];
const gap = fc.constantFrom('\n', '\n', '\n', '\n\n', '\r\n\r\n', '\n \n');
const line = fc
  .tuple(fc.constantFrom(0, 0, 0, 1, 2, 2, 3, 4, 4, 6), fc.constantFrom(...BEGINS), fc.constantFrom(...ENDS), gap)
  .map(([indent, begin, end, after]) => `${' '.repeat(indent)}${begin}${end}${after}`);
const piece = fc.tuple(fc.constantFrom(...PIECES), gap).map(([text, after]) => `${text}${after}`);

const numRuns = Number(process.env['MILLRACE_HISTORIES'] ?? 100);
test.each([
  ['pieces', piece, numRuns],
  ['lines', line, 4 * numRuns],
  ['lines and pieces', fc.oneof(line, line, piece), 2 * numRuns],
] as const)(
  'any order of %s',
  (_, part, runs) => {
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 9 }), (parts) => {
        const text = parts.join('');
        expect(ours(text)).toEqual(theirs(text));
      }),
      { seed: suiteSeed(), numRuns: runs },
    );
  },
  120_000,
);
