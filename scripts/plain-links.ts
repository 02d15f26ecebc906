// Makes links of packed pages to pages that the package leaves out plain text: npm packs the files as they lie here, so
// `prepack` rewrites them and `postpack` puts the pages back. Usage: node scripts/plain-links.ts make | back
import { cpSync, existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { unlinked } from './package/links.ts';

const root = join(import.meta.dirname, '..');
const kept = join(root, 'node_modules/.cache/millrace-pages');

// Also before: a pack that failed has left its pages plain.
back();
if (process.argv[2] === 'make') make();

function make(): void {
  for (const page of globSync(['*.md', 'docs/**/*.md', 'examples/**/*.md', 'infra/**/*.md'], {
    cwd: root,
    exclude: ['**/node_modules', 'docs/SPEC-*', 'docs/adr'],
  })) {
    const text = readFileSync(join(root, page), 'utf8');
    const plain = unlinked(text);
    if (plain === text) continue;
    cpSync(join(root, page), join(kept, page));
    writeFileSync(join(root, page), plain);
  }
}

function back(): void {
  if (!existsSync(kept)) return;
  cpSync(kept, root, { recursive: true });
  rmSync(kept, { recursive: true });
}
