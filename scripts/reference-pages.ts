// Writes docs/reference from the code: commands, kinds, measures, settings. Writes docs/llms.txt from the pages.
// Usage: node --conditions=millrace-source scripts/reference-pages.ts [--check]; exit code 1 with --check where a page is stale.
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { commandPages } from './reference/commands.ts';
import { kindsPage } from './reference/kinds.ts';
import { measuresPage } from './reference/measures.ts';
import { settingsPage } from './reference/settings.ts';

const folder = join(import.meta.dirname, '..', 'docs', 'reference');
const pages = new Map([
  ...commandPages(),
  ['kinds.md', kindsPage()],
  ['measures.md', measuresPage()],
  ['settings.md', settingsPage()],
]);
const present = globSync('**/*.md', { cwd: folder }).map((file) => file.split(sep).join('/'));
const stale = [...pages].flatMap(([name, text]) =>
  present.includes(name) && readFileSync(join(folder, name), 'utf8') === text ? [] : [name],
);
const surplus = present.filter((name) => !pages.has(name));

if (process.argv.includes('--check')) {
  for (const name of [...stale, ...surplus])
    console.error(`docs/reference/${name} is stale: npm run reference writes it`);
  if (stale.length + surplus.length > 0) process.exitCode = 1;
} else {
  for (const name of surplus) rmSync(join(folder, name));
  for (const name of stale) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), pages.get(name)!);
  }
  console.log(`docs/reference: ${pages.size} pages, ${stale.length} of them written`);
}
