// What docs/ shows compiles as it stands, against what the package exports.
import { spawnSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

test('every snippet compiles', () => {
  // Inside the package, so that it knows itself by its name.
  mkdirSync(join(root, '.millrace'), { recursive: true });
  const folder = mkdtempSync(join(root, '.millrace/docs-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  let snippets = 0;
  for (const page of globSync('docs/*.md', { cwd: root })) {
    const text = readFileSync(join(root, page), 'utf8');
    for (const [n, [, code]] of [...text.matchAll(/```ts\n([\s\S]*?)```/g)].entries()) {
      writeFileSync(join(folder, `${basename(page, '.md')}-${n + 1}.ts`), code ?? '');
      snippets += 1;
    }
  }
  expect(snippets).toBeGreaterThan(6);
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ extends: '../../tsconfig.json', include: ['*.ts'] }));
  const tsc = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json')));
  const { stdout } = spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' });
  expect(stdout.split('\n').filter((line) => line.includes('.millrace/docs-'))).toEqual([]);
});
