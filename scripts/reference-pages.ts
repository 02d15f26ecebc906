// Writes docs/reference from the code: commands, kinds, measures, settings. Writes docs/llms.txt from the pages.
// Usage: node --conditions=millrace-source scripts/reference-pages.ts [--check]; exit code 1 with --check where a page is stale.
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { commandPages } from './reference/commands.ts';
import { kindsPage } from './reference/kinds.ts';
import { measuresPage } from './reference/measures.ts';
import { llmsText } from './reference/llms.ts';
import { settingsPage } from './reference/settings.ts';

const docs = join(import.meta.dirname, '..', 'docs');
const reference = new Map(
  [...commandPages(), ['kinds.md', kindsPage()], ['measures.md', measuresPage()], ['settings.md', settingsPage()]].map(
    ([name, text]) => [`reference/${name}`, String(text)] as const,
  ),
);
const files = new Map([...reference, ['llms.txt', llmsText(reference)]]);
const present = globSync(['reference/**/*.md', 'llms.txt'], { cwd: docs }).map((file) => file.split(sep).join('/'));
const stale = [...files].filter(
  ([name, text]) => !present.includes(name) || readFileSync(join(docs, name), 'utf8') !== text,
);
const surplus = present.filter((name) => !files.has(name));

if (process.argv.includes('--check')) {
  for (const name of [...stale.map(([path]) => path), ...surplus])
    console.error(`docs/${name} is stale: npm run reference writes it`);
  if (stale.length + surplus.length > 0) process.exitCode = 1;
} else {
  for (const name of surplus) rmSync(join(docs, name));
  for (const [name, text] of stale) {
    mkdirSync(dirname(join(docs, name)), { recursive: true });
    writeFileSync(join(docs, name), text);
  }
  console.log(`docs/reference, docs/llms.txt: ${files.size} files, ${stale.length} of them written`);
}
