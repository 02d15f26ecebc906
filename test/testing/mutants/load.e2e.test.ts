import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

// Hooks of modules count in a plain process only: the test runner loads modules by itself.
test('a changed text is loaded in the place of its file, and its imports are found', async () => {
  const [here, root] = [import.meta.dirname, join(import.meta.dirname, '../../..')];
  const script = `
import { readFileSync } from 'node:fs';
import { withoutTypes } from '${root}/src/testing/prove/without-types.ts';
import { loadText } from '${root}/src/testing/mutants/load.ts';
const file = '${join(root, 'examples/storefront/pipeline.ts')}';
const text = withoutTypes(readFileSync(file, 'utf8'));
const names = [];
for (const name of ['first', 'second'])
  names.push((await loadText(file, text.replace("name: 'storefront'", "name: '" + name + "'"))).name);
await loadText(file, 'throw new Error("third")').catch((error) => names.push(error.message));
names.push((await import(file)).default.name);
console.log(JSON.stringify(names));`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--conditions=millrace-source', '--input-type=module', '--eval', script],
    { cwd: here },
  );
  expect(JSON.parse(stdout)).toEqual(['first', 'second', 'third', 'storefront']);
});
