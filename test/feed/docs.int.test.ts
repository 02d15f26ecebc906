// What docs/processor.md shows compiles as it stands, against what the package exports.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { DEFAULT_TIMINGS } from 'millrace/feed';

const root = join(import.meta.dirname, '../..');
const text = readFileSync(join(root, 'docs/processor.md'), 'utf8');

test('the snippets compile', () => {
  const snippets = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code ?? '');
  expect(snippets.length).toBeGreaterThan(4);
  // Inside the package, so that it knows itself by its name.
  mkdirSync(join(root, '.millrace'), { recursive: true });
  const folder = mkdtempSync(join(root, '.millrace/docs-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [n, code] of snippets.entries()) writeFileSync(join(folder, `snippet${n}.ts`), code);
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ extends: '../../tsconfig.json', include: ['*.ts'] }));
  const tsc = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json')));
  const { stdout } = spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' });
  const wrong = stdout.split('\n').filter((line) => line.includes('snippet'));
  expect(wrong).toEqual([]);
});

test('the times it names are the defaults', () => {
  for (const [name, ms] of Object.entries(DEFAULT_TIMINGS))
    expect(text).toContain(`\`${name}\` ${ms.toLocaleString('en')}`);
});
