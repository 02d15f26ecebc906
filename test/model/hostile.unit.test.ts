// Texts that somebody made to keep `model check` busy: 200 KB each. Processor time is measured, because a wall clock would
// measure the machine.
import { describe, expect, it } from 'vitest';
import { UsageError } from '../../src/base/errors.ts';
import { parseDesign } from '../../src/model/reader/design.ts';
import { parseRequirements } from '../../src/model/reader/requirements.ts';
import { checkDocuments } from '../../src/model/rules/index.ts';
import { everyRule } from '../../src/verbs/model/pair.ts';

const LENGTH = 200_000;
const MOST_MS = 3_000;

const of = (part: string): string => part.repeat(Math.floor(LENGTH / part.length));
const each = (part: (n: number) => string): string => {
  const parts: string[] = [];
  for (let length = 0; length < LENGTH; length += parts.at(-1)?.length ?? 0) parts.push(part(parts.length));
  return parts.join('');
};
const REFERENCE = '[x]: y\n\n';

const HOSTILE: Readonly<Record<string, string>> = {
  'a row of bars': `| a | b |\n|---|---|\n${of('|')}`,
  'a table as wide as it is long': `${'|a'.repeat(LENGTH / 4)}\n${'|-'.repeat(LENGTH / 4)}\n`,
  'numbers in one cell': `| Pattern | RPS |\n|---|---|\n| 1 | ${of('5 ')} |\n`,
  'rates in one cell': `| Pattern | RPS |\n|---|---|\n| 1 | ${of('5 per ')} |\n`,
  quotes: of('> a\n\n'),
  'lines of a quote': of('> a\n'),
  'deep quotes': of(`${'>'.repeat(40)} a\n\n`),
  'quotes in quotes': `${'>'.repeat(10_000)} a`,
  'items in items': `${'- '.repeat(10_000)}a`,
  'underlined headings': of('a\n===\n'),
  headings: each((n) => `# a${n}\n`),
  containers: each((n) => `### C${n} Container\n- **Partition Key**: \`/id\`\n`),
  'a tree of containers': `\`\`\`\n${each((n) => `├── orders${n}  # PK: storeId\n`)}\`\`\``,
  lists: REFERENCE + of('- a\n\nb\n\n'),
  'lists of two marks': REFERENCE + of('* a\n- a\n'),
  definitions: each((n) => `[a${n}]: b\n`),
  footnotes: each((n) => `[^a${n}]: b\n`),
  brackets: of('['),
  'closing brackets': of(']'),
  links: of('[a](b "'),
  stars: of('*a **a '),
  backticks: each((n) => `${'`'.repeat(n)} `),
  'open comments': of('<!--'),
  'open waivers': of('<!-- millrace-ignore '),
  'open fences': each(() => '```json\n{"id":\n\n'),
  'an open object': `\`\`\`json\n${of('{"a":')}`,
  'an open string': `\`\`\`json\n{"a":"${of('\\"')}`,
  'open calls': `\`\`\`js\n${of('createIfNotExists({')}`,
  'open parentheses in SQL': `\`\`\`sql\nSELECT ${of('(')}\n\`\`\``,
  'one line': of('lorem ipsum '),
  blanks: `a${of(' ')}b`,
  patterns: `- **Access Patterns Served**: ${of('#1-6 ')}`,
  sums: `## Change Feed Projections\n| Name | Kind | Source | Sink | Key | Fields |\n|---|---|---|---|---|---|\n| p | aggregate | A | B | [id] | ${of('sum(')} |\n`,
  sentences: each((n) => `The container Orders${n} has the key /id and holds 5 million documents of 2 KB. `),
};

const processor = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

describe('hostile documents', () => {
  const rules = everyRule();
  it.each(Object.keys(HOSTILE))('A document of %s is read and checked, or refused, within three seconds', (name) => {
    const text = HOSTILE[name] ?? '';
    for (const [head, parse] of [
      ['# X\n## Container Designs\n', (one: string) => ({ design: parseDesign(one, 'x.md'), requirements: undefined })],
      [
        '# X\n## Access Patterns Analysis\n',
        (one: string) => ({ design: undefined, requirements: parseRequirements(one, 'x.md') }),
      ],
    ] as const) {
      const began = processor();
      let refused: unknown;
      try {
        checkDocuments(parse(head + text), rules);
      } catch (error) {
        refused = error;
      }
      expect(processor() - began).toBeLessThan(MOST_MS);
      expect(refused === undefined || refused instanceof UsageError).toBe(true);
      expect(String(refused)).not.toContain('took more than');
    }
  });
});
