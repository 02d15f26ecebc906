// docs/tutorial.md, steps 1 to 4: a project that `init` writes, with the page's own blocks put where the page says.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { cli } from '../cli/cli.ts';

const root = join(import.meta.dirname, '../..');
const PAGE = readFileSync(join(root, 'docs/tutorial.md'), 'utf8');

let app: string;

/** A project of `init`, in a folder of its own. */
async function begin(): Promise<void> {
  const place = mkdtempSync(join(tmpdir(), 'millrace-tutorial-'));
  onTestFinished(() => rmSync(place, { recursive: true, force: true }));
  await run(place, 'init', 'my-shop');
  app = join(place, 'my-shop');
  // As npm would install it, which needs a registry.
  mkdirSync(join(app, 'node_modules'));
  symlinkSync(root, join(app, 'node_modules/millrace'), 'junction');
}

/** The block behind these words of the page. */
function block(words: string): string {
  const at = PAGE.indexOf(words);
  if (at < 0) throw new Error(`The page doesn't say "${words}"`);
  const [, , text = ''] = /^(`{3,4})[^\n]*\n([\s\S]*?)^\1$/m.exec(PAGE.slice(at)) ?? [];
  return text;
}

/** Puts text before the first place where `mark` stands, or behind the line that `mark` begins. */
function put(file: string, text: string, { before, behind }: { before?: string; behind?: string }): void {
  const path = join(app, 'pipeline', file);
  const old = readFileSync(path, 'utf8');
  const found = old.indexOf(before ?? behind ?? '');
  expect(found, `${file}: ${before ?? behind}`).toBeGreaterThan(0);
  const at = before === undefined ? old.indexOf('\n', found) + 1 : found;
  writeFileSync(path, old.slice(0, at) + text + old.slice(at));
}

async function run(directory: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await cli(args, { directory });
  expect(code === 0 ? '' : stdout + stderr).toBe('');
  return stdout;
}

test('the page names files that its project has', async () => {
  await begin();
  const named = [...PAGE.matchAll(/`([\w.]+\/[\w./]*)`/g)].map(([, path = '']) => path);
  expect(named).toContain('pipeline/pipeline.ts');
  expect(named.filter((path) => !existsSync(join(app, path)))).toEqual([]);
});

test('the page’s project has no findings, and what it derives is right', async () => {
  await begin();
  put('cosmosdb_requirements.md', block('below pattern 8:'), { behind: '| 8 | Rename' });
  put('cosmosdb_data_model.md', block('before *Access Pattern Mapping*'), { before: '## Access Pattern Mapping' });
  put('cosmosdb_data_model.md', block('below pattern 8 of the mapping'), { behind: '| 8 | Rename' });
  put('cosmosdb_data_model.md', block('below `days` of *Change Feed Projections*'), { behind: '| days | aggregate' });
  put('pipeline.ts', block('add this behind `days`'), { before: '  ],\n});' });
  const pipeline = join(app, 'pipeline/pipeline.ts');
  const text = readFileSync(pipeline, 'utf8');
  writeFileSync(pipeline, text.replace(', source }', ', source, timeWindow }'));
  await run(app, 'model', 'types');
  expect(await run(app, 'model', 'check')).toContain('no findings');
  const summary = JSON.parse(await run(app, 'dev', '--once', '--json')) as {
    projections: { projection: string; changes: number; parked: number }[];
    verification: { different: number };
  };
  expect(summary.verification.different).toBe(0);
  expect(summary.projections).toContainEqual(expect.objectContaining({ projection: 'months@1', parked: 0 }));
});
