// Writes docs/rules, a page for each rule of `millrace model check`, from the code.
// Usage: node --conditions=millrace-source scripts/rule-pages.ts [--check]; exit code 1 with --check where they are stale.
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { everyRule } from '../src/operations/model/pair.ts';
import { rulePages } from '../src/operations/model/rule-page.ts';

const folder = join(import.meta.dirname, '..', 'docs', 'rules');
mkdirSync(folder, { recursive: true });
const pages = rulePages(everyRule());
const present = readdirSync(folder);
const stale = [
  ...[...pages]
    .filter(([name, text]) => !present.includes(name) || readFileSync(join(folder, name), 'utf8') !== text)
    .map(([name]) => name),
  ...present.filter((name) => !pages.has(name)),
];
if (process.argv.includes('--check')) {
  for (const name of stale)
    console.error(`docs/rules/${name} is stale: node --conditions=millrace-source scripts/rule-pages.ts writes it`);
  if (stale.length > 0) process.exitCode = 1;
} else {
  for (const name of stale) {
    const text = pages.get(name);
    if (text === undefined) rmSync(join(folder, name));
    else writeFileSync(join(folder, name), text);
  }
  console.log(`docs/rules: ${pages.size} pages, ${stale.length} of them written`);
}
