// A document that is parsed in parts has the tree that it has as a whole.
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfm } from 'micromark-extension-gfm';
import { expect, test } from 'vitest';
import { parseMarkdown, partsOf } from '../../src/model/reader/markdown.ts';
import { suiteSeed } from '../support/seed.ts';

const whole = (text: string) =>
  fromMarkdown(text, {
    extensions: [gfm(), { disable: { null: ['wwwAutolink', 'protocolAutolink', 'emailAutolink'] } }],
    mdastExtensions: gfmFromMarkdown().filter(({ transforms }) => transforms === undefined),
  }).children;

const FILES = ['flights', 'storefront', 'telemetry'].map((name) => `examples/${name}/cosmosdb_data_model.md`);

test.each(FILES)('%s', (file) => {
  const text = readFileSync(file, 'utf8').repeat(3);
  expect(partsOf(text).length).toBeGreaterThan(2);
  expect(parseMarkdown(text, file).children).toEqual(whole(text));
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
test('any order of pieces', () => {
  const piece = fc.record({ text: fc.constantFrom(...PIECES), gap: fc.constantFrom('\n', '\n\n', '\r\n\r\n') });
  fc.assert(
    fc.property(fc.array(piece, { minLength: 3, maxLength: 14 }), (list) => {
      const text = list.map((one) => `${one.text}${one.gap}`).join('');
      expect(parseMarkdown(text, 'm.md', 20).children).toEqual(whole(text));
    }),
    { seed: suiteSeed(), numRuns: Number(process.env['MILLRACE_HISTORIES'] ?? 300) },
  );
});
