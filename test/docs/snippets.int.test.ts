// What docs/ shows compiles as it stands, against what the package exports, and commands are those of the command line.
import { spawnSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { everyOperation } from '../../src/cli/registry.ts';
import { buildProgram, everyCommand, wordsOf } from '../../src/cli/program.ts';
import { generatedPages } from '../../scripts/reference/pages.ts';

const root = join(import.meta.dirname, '../..');
/** Pages that are in no commit, as the package and the site get them. */
const GENERATED = new Map([...(await generatedPages())].map(([name, text]) => [join('docs', name), text]));
// Decisions are about what was.
const PAGES = [
  ...globSync(['README.md', 'docs/**/*.md'], { cwd: root, exclude: ['docs/adr/**'] }).filter(
    (page) => !GENERATED.has(page),
  ),
  ...[...GENERATED.keys()].filter((page) => page.endsWith('.md')),
];
const textOf = (page: string): string => GENERATED.get(page) ?? readFileSync(join(root, page), 'utf8');

/** A fenced block with its language, and what stands after that: `ts extract of FILE`. */
interface Block {
  readonly page: string;
  readonly language: string;
  readonly note: string;
  readonly code: string;
}
const BLOCKS: Block[] = PAGES.flatMap((page) =>
  [...textOf(page).matchAll(/^( *)```(\w*) ?(.*)\n([\s\S]*?)^\1```$/gm)].map(
    ([, , language = '', note = '', code = '']) => ({ page, language, note, code }),
  ),
);

/** Blocks that are neither compiled nor compared with the command line, and why. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  text: 'what a program prints, or a part of a document',
  json: 'a document',
  sql: 'statements; test/sql-check and test/model read those of the examples',
  yaml: 'a workflow, whose actions run elsewhere',
  csharp: 'shown: a machine may lack its toolchain',
  java: 'shown: a machine may lack its toolchain',
  js: 'only scripts of the tutorial and for the SDK of OpenTelemetry, which a reader runs as they stand',
};

test('a block has a language that a test knows', () => {
  const known = new Set(['', 'ts', 'sh', 'console', ...Object.keys(LEFT_OUT)]);
  expect(
    BLOCKS.filter(({ language }) => !known.has(language)).map(({ page, language }) => `${page}: ${language}`),
  ).toEqual([]);
  const scripts = BLOCKS.filter(({ language }) => language === 'js').map(({ page }) => page);
  expect([...new Set(scripts)].toSorted()).toEqual(
    ['observability.md', 'tutorial.md'].map((page) => join('docs', page)),
  );
});

test('every snippet compiles', () => {
  // Inside the package, so that it knows itself by its name.
  mkdirSync(join(root, '.millrace'), { recursive: true });
  const folder = mkdtempSync(join(root, '.millrace/docs-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const whole = BLOCKS.filter(({ language, note }) => language === 'ts' && note === '');
  for (const [n, { page, code }] of whole.entries())
    writeFileSync(join(folder, `${page.replaceAll(/\W/g, '-')}-${n + 1}.ts`), code);
  expect(whole.length).toBeGreaterThan(40);
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ extends: '../../tsconfig.json', include: ['*.ts'] }));
  const tsc = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json')));
  const { stdout } = spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' });
  expect(stdout.split('\n').filter((line) => line.includes('.millrace/docs-'))).toEqual([]);
});

/** A line of a longer list has a comma that the last one of an extract lacks. */
const bare = (line: string): string => line.trim().replace(/,$/, '');

test('a snippet that doesn’t compile by itself names the file that it is from', () => {
  // `tutorial.int` puts those of the tutorial into its project.
  const partial = BLOCKS.filter(
    ({ page, language, note }) => language === 'ts' && note !== '' && page !== join('docs', 'tutorial.md'),
  );
  for (const { page, note, code } of partial) {
    const [, file = ''] = /^of (\S+)$/.exec(note) ?? [];
    expect(file, `${page}: ts ${note}`).not.toBe('');
    const lines = textOf(file).split('\n').map(bare);
    let at = 0;
    for (const line of code.split('\n').map(bare)) {
      const found = line === '' ? at : lines.indexOf(line, at);
      expect(found, `${page}: ${file} lacks, in this order: ${line}`).toBeGreaterThanOrEqual(at);
      at = found;
    }
  }
});

const program = buildProgram(everyOperation, '0.0.0', async () => {});
const flagsOf = new Map(
  everyCommand(program)
    .filter(({ commands }) => commands.length === 0)
    .map((verb) => [wordsOf(verb), verb.options.map(({ long }) => long)]),
);

test('every command line that a block shows exists, with its flags', () => {
  const lines = BLOCKS.filter(({ language }) => ['', 'sh', 'console'].includes(language)).flatMap(({ page, code }) =>
    code
      .replaceAll('\\\n', ' ')
      .split('\n')
      .map((line) => line.replace(/^\$ /, '').replace(/\s+#.*$/, ''))
      .map((line) =>
        line.replace(/^(?:npx|npm run) (?:--silent )?(?:-- )?/, '').replace(/^(?:millrace|(dev)) -- /, 'millrace $1 '),
      )
      .filter((line) => /^millrace [a-z]/.test(line))
      .map((line) => ({ page, line, words: line.split(/\s+/) })),
  );
  expect(lines.length).toBeGreaterThan(400);
  const wrong = lines.filter(({ words }) => {
    const flags = [4, 3, 2].map((count) => flagsOf.get(words.slice(0, count).join(' '))).find((of) => of);
    return (
      !flags || words.some((word) => word.startsWith('--') && word !== '--help' && !flags.includes(word.split('=')[0]))
    );
  });
  expect(wrong.map(({ page, line }) => `${page}: ${line}`)).toEqual([]);
});
