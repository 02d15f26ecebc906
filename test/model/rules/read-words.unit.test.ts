// Rules on words, where somebody has read the document and annotated it.
import { expect, test } from 'vitest';
import { annotationsOf } from '../../../src/model/annotations/annotations.ts';
import { annotationsSchema } from '../../../src/model/annotations/schema.ts';
import { parseDesign } from '../../../src/model/reader/design.ts';
import { checkDocuments } from '../../../src/model/rules/index.ts';
import { EXPIRES } from '../../../src/model/rules/f-expiry.ts';
import { SERVICE } from '../../../src/model/rules/service.ts';

function rulesOf(lines: readonly string[], annotations: readonly object[]): string[] {
  const text = ['# Model', '', '### users Container', '- **Partition Key**: `/id`', ...lines];
  const raw = annotationsSchema.parse({ version: 1, document: 'm.md', annotations });
  const read = annotationsOf(raw, text, 'm.md', 'm.annotations.json');
  const design = parseDesign(text.join('\n'), 'm.md');
  const rules = [...EXPIRES, ...SERVICE].filter(({ id }) => id === 'A16' || id === 'F13');
  return checkDocuments({ requirements: undefined, design, annotations: read }, rules).findings.map(({ rule }) => rule);
}
const users = { kind: 'container', line: 4, words: '/id', container: 'users', key: ['/id'] };

test('A16: another capacity mode beside serverless is for another size', () => {
  const lines = [
    'We use a serverless account.',
    'Global distribution over several regions.',
    'Autoscale above 10K users.',
  ];
  const mode = (line: number, words: string, name: string) => ({
    kind: 'throughput',
    line,
    words,
    of: 'account',
    mode: name,
  });
  const serverless = mode(5, 'serverless account', 'serverless');
  expect(rulesOf(lines, [users, serverless])).toContain('A16');
  expect(rulesOf(lines, [users, serverless, mode(7, 'Autoscale', 'autoscale')])).not.toContain('A16');
});

test('F13: a period that ends is no TTL where the text has none', () => {
  const lines = ['Old users are archived on expiry.'];
  const ttl = { ...users, ttl: 3600 };
  expect(rulesOf(lines, [users])).not.toContain('F13');
  expect(rulesOf(lines, [ttl])).toContain('F13');
  expect(rulesOf(['Active --> Archived: retention expires'], [ttl])).not.toContain('F13');
});
