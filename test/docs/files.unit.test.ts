// Every file that a page names or links to is there. ADRs and the change log tell of what was, and are left out.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const PAGES = ['README.md', 'CONTRIBUTING.md', ...globSync('docs/**/*.md', { cwd: root, exclude: ['docs/adr/**'] })];
const NOT_OURS = new Set(['node_modules', '.git', '.millrace', 'dist']);
/** Folders too, with a slash before each, so that a path's end is found as whole names. */
const PATHS = globSync(['**/*', '.github/**/*'], { cwd: root, exclude: (path) => NOT_OURS.has(path) }).map(
  (path) => `/${path}`,
);

/** Code by its path's end, tests by their tier, folders from the top; `a/{b,c}.ts` is two. JSON is mostly the user's. */
function named(text: string): string[] {
  return [
    ...text.matchAll(
      /`([\w./{},-]+\.(?:ts|mjs|bicep|yml|svg|md|unit|int|model|e2e)|(?:src|test|docs|infra)\/[\w./-]+)`/g,
    ),
  ].flatMap(([, path = '']) => {
    const [, before = '', choice, after = ''] = /^(.*)\{(.*)\}(.*)$/.exec(path) ?? [];
    return choice === undefined ? [path] : choice.split(',').map((one) => before + one + after);
  });
}

const linked = (text: string): string[] => [...text.matchAll(/\]\((?!\w+:)([^)\s#]+)/g)].map(([, path = '']) => path);

const isThere = (path: string): boolean =>
  PATHS.some((one) => one.endsWith(`/${path.replace(/\/$/, '')}`) || one.endsWith(`/${path}.test.ts`));

test.each(PAGES)('%s names files that there are', (page) => {
  const text = readFileSync(join(root, page), 'utf8');
  expect(named(text).filter((path) => !isThere(path))).toEqual([]);
  expect(linked(text).filter((path) => !existsSync(join(root, dirname(page), path)))).toEqual([]);
});

test('a name is read in each form that pages use', () => {
  expect(named('`feed/a.ts`, `b.model`, `c/{d,e}.ts`, `src/f`, `npx node f.ts`, `g.json`')).toEqual([
    'feed/a.ts',
    'b.model',
    'c/d.ts',
    'c/e.ts',
    'src/f',
  ]);
  expect(linked('[a](../b.ts#c) [d](https://e.org/f.md) [g](#h)')).toEqual(['../b.ts']);
});
