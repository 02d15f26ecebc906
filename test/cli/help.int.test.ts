import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { everyOperation } from '../../src/cli/registry.ts';
import { operationName } from '../../src/verbs/operation.ts';
import { cli } from './cli.ts';

const nouns = [...new Set(everyOperation.all().flatMap(({ noun }) => noun ?? []))].map((noun) => noun.split(' '));
const verbs = everyOperation.all().map(operationName);

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-help-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** The examples in a help text. */
const examplesIn = (text: string): string[] =>
  (/\nExamples:\n((?: {2}.+\n)+)/.exec(text)?.[1] ?? '').split('\n').flatMap((line) => line.trim() || []);

it.each([[[]], ...nouns.map((words) => [words])])(
  'millrace %j has examples, each of a verb that there is',
  async (words) => {
    const { code, stdout } = await cli([...words, '--help']);
    expect(code).toBe(0);
    const examples = examplesIn(stdout);
    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) {
      const given = example.split(/ +/).slice(1);
      expect(given.slice(0, words.length)).toEqual(words);
      expect([1, 2, 3].some((count) => verbs.includes(given.slice(0, count).join(' ')))).toBe(true);
    }
    expect(stdout).toContain('Exit codes');
  },
);

/** The names that the groups of the first help list. */
const listed = (text: string): string[] =>
  [...text.matchAll(/^ {2}([a-z-]+) {2,}[A-Z]/gm)].map(([, name = '']) => name);

it('millrace --help lists every noun and every verb without one once, in at most 25 lines of groups', async () => {
  const { stdout } = await cli(['--help'], { directory: temporaryFolder() });
  const all = new Set([...verbs.map((name) => name.split(' ')[0]), 'completion']);
  expect(new Set(listed(stdout))).toEqual(all);
  expect(listed(stdout).length).toBe(all.size);
  expect(listed(stdout).length).toBeLessThanOrEqual(25);
  expect(stdout.match(/^[A-Z][a-z]+(?=\n {2}[a-z])/gm)).toEqual([
    'Start',
    'Model',
    'Run',
    'Repair',
    'Archive',
    'Scale',
    'Lab',
  ]);
});

it('millrace --help names apart the nouns of parts that the pipeline does not have', async () => {
  const directory = temporaryFolder();
  const file = (name: string, text: string): void => writeFileSync(join(directory, 'pipeline', name), text);
  mkdirSync(join(directory, 'pipeline'));
  file('pipeline.ts', `import { definePipeline } from 'millrace';\nimport { all } from './all.ts';`);
  file('all.ts', `export const all = [archive('cold', {})];`);
  const { stdout } = await cli(['--help'], { directory });
  expect(listed(stdout)).toContain('archive');
  for (const noun of ['sql', 'shards', 'tenants']) expect(listed(stdout)).not.toContain(noun);
  expect(stdout).toContain('sql, tenants, shards: parts that this pipeline does not have');
  // What it has from elsewhere isn't looked into.
  file('all.ts', `export * from '../more.ts';`);
  expect(listed((await cli(['--help'], { directory })).stdout)).toContain('shards');
});

it('millrace --help loads no verb', () => {
  const names = 'import{registerHooks}from"node:module";registerHooks({load(u,c,n){console.error(u);return n(u,c)}})';
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', `data:text/javascript,${names}`, join(import.meta.dirname, '../../bin/millrace.mjs'), '--help'],
    { encoding: 'utf8' },
  );
  expect(listed(stdout)).toContain('dead-letters');
  expect(stderr).toContain('src/cli/help.ts');
  expect(stderr).not.toMatch(/@azure|\/zod\/|commander\/lib|src\/(?:verbs|procedures|runtime\/services)/);
});

// Who changes a text on purpose updates these: `npx vitest run test/cli/help -u`.
it.each([['init'], ['dev'], ['status'], ['dead-letters', 'redrive'], ['dead-letters']])(
  'the help of %s %s is what it was',
  async (...words) => {
    const { stdout } = await cli([...words.filter((word) => word !== undefined), '--help']);
    await expect(stdout).toMatchFileSnapshot(`snapshots/${words.filter(Boolean).join('-')}.txt`);
  },
);
