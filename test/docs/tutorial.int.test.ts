// docs/tutorial.md, steps 1 to 4: a project that `init` writes, with the page's own blocks put where the page says.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cli } from '../cli/cli.ts';

const root = join(import.meta.dirname, '../..');
const PAGE = readFileSync(join(root, 'docs/tutorial.md'), 'utf8');

let place: string;
let app: string;
beforeAll(async () => {
  place = mkdtempSync(join(tmpdir(), 'millrace-tutorial-'));
  app = join(place, 'my-shop');
  expect(await cli(['init', 'my-shop'], { directory: place })).toMatchObject({ code: 0, stderr: '' });
  // As npm would install it, which needs a registry.
  mkdirSync(join(app, 'node_modules'));
  symlinkSync(root, join(app, 'node_modules/millrace'), 'junction');
});
afterAll(() => rmSync(place, { recursive: true, force: true }));

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

const run = async (...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await cli(args, { directory: app });
  expect(code, stdout + stderr).toBe(0);
  return stdout;
};

test('the page’s project has no findings, and what it derives is right', async () => {
  put('cosmosdb_requirements.md', block('below pattern 8:'), { behind: '| 8 | Rename' });
  put('cosmosdb_data_model.md', block('before *Access Pattern Mapping*'), { before: '## Access Pattern Mapping' });
  put('cosmosdb_data_model.md', block('below pattern 8 of the mapping'), { behind: '| 8 | Rename' });
  put('cosmosdb_data_model.md', block('below `days` of *Change Feed Projections*'), { behind: '| days | aggregate' });
  put('pipeline.ts', block('add this behind `days`'), { before: '  ],\n});' });
  const pipeline = join(app, 'pipeline/pipeline.ts');
  const text = readFileSync(pipeline, 'utf8');
  writeFileSync(pipeline, text.replace(', source }', ', source, timeWindow }'));
  await run('model', 'types');
  expect(await run('model', 'check')).toContain('no findings');
  const summary = JSON.parse(await run('dev', '--once', '--json')) as {
    projections: { projection: string; changes: number; parked: number }[];
    verification: { different: number };
  };
  expect(summary.verification.different).toBe(0);
  expect(summary.projections).toContainEqual(expect.objectContaining({ projection: 'months@1', parked: 0 }));
});
