// Writes what docs/ has from the code: pages (docs/reference, docs/errors.md, docs/rules.md, docs/llms.txt) and docs/schemas.
// Usage: node --conditions=millrace-source scripts/reference.ts
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { generatedPages } from './reference/pages.ts';
import { outputSchemas } from './reference/schemas.ts';

const docs = join(import.meta.dirname, '../docs');
const schemas = [...outputSchemas()].map(([name, text]) => [`schemas/${name}`, text] as const);
const files = [...(await generatedPages()), ...schemas];
// A verb or a page that there was before has to go.
for (const folder of ['reference', 'schemas']) rmSync(join(docs, folder), { recursive: true, force: true });
for (const [name, text] of files) {
  mkdirSync(dirname(join(docs, name)), { recursive: true });
  writeFileSync(join(docs, name), text);
}
console.log(`docs: ${files.length} files written, ${schemas.length} of them schemas`);
