// Every file that a page names or links to is there. ADRs tell of files that were: their links alone have to lead somewhere.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { generatedPages } from '../../scripts/reference/pages.ts';

const root = join(import.meta.dirname, '../..');
/** Pages that are in no commit, as the package and the site get them. */
const GENERATED = new Map([...(await generatedPages())].map(([name, text]) => [join('docs', name), text]));
const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  ...globSync('docs/**/*.md', { cwd: root, exclude: ['docs/adr/**'] }).filter((page) => !GENERATED.has(page)),
  ...[...GENERATED.keys()].filter((page) => page.endsWith('.md')),
];
const textOf = (page: string): string => GENERATED.get(page) ?? readFileSync(join(root, page), 'utf8');
const isFile = (path: string): boolean => GENERATED.has(path) || existsSync(join(root, path));
const NOT_OURS = new Set(['node_modules', '.git', '.millrace', 'dist']);
/** Folders too, with a slash before each, so that a path's end is found as whole names. */
const PATHS = [
  ...globSync(['**/*', '.github/**/*'], { cwd: root, exclude: (path) => NOT_OURS.has(path) }),
  ...GENERATED.keys(),
].map((path) => `/${path}`);

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
  const text = textOf(page);
  expect(named(text).filter((path) => !isThere(path))).toEqual([]);
  expect(linked(text).filter((path) => !isFile(join(dirname(page), path)))).toEqual([]);
});

test.each(globSync('docs/adr/*.md', { cwd: root }))('%s links to files that there are', (page) => {
  expect(linked(textOf(page)).filter((path) => !isFile(join(dirname(page), path)))).toEqual([]);
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

test('an installed package has every file that its pages link to', () => {
  const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { files: string[] };
  // npm packs these always.
  const packed = [...files, 'README.md', 'LICENSE', 'package.json'];
  const isPacked = (path: string): boolean =>
    packed.some((one) => path === one || path.startsWith(`${one}/`)) && !/^docs\/(SPEC-|adr\/)/.test(path);
  const lost = PAGES.filter((page) => isPacked(page)).flatMap((page) =>
    linked(textOf(page))
      .map((path) => join(dirname(page), path).replaceAll('\\', '/').replace(/\/$/, ''))
      // Specifications and decisions are read in the repository.
      .filter((path) => !isPacked(path) && !/^docs\/(SPEC-|adr\/)/.test(path))
      .map((path) => `${page}: ${path}`),
  );
  expect(lost).toEqual([]);
});

/** Headings as GitHub and the site name them, and names that a page gives by itself. */
const anchorsOf = (page: string): Set<string> => {
  const text = textOf(page);
  return new Set([
    ...[...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) => slug(title)),
    ...[...text.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id),
  ]);
};

const slug = (title: string): string =>
  title
    .toLowerCase()
    .replaceAll(/\[(.*?)\]\(.*?\)/g, '$1')
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

test.each(PAGES)('%s links to headings that there are', (page) => {
  const text = textOf(page);
  const links = [...text.matchAll(/\]\((?!\w+:)([^)\s#]*)#([^)\s]+)\)/g)];
  const lost = links.filter(([, path = '', anchor = '']) => {
    const target = path === '' ? page : relative(root, join(root, dirname(page), path));
    return target.endsWith('.md') && !anchorsOf(target).has(anchor);
  });
  expect(lost.map(([link]) => link)).toEqual([]);
});

test('every page is listed in docs/README.md, in the README of its folder, or for developers', () => {
  const listed = PAGES.filter((page) => /^docs[/\\](.*README|development)\.md$/.test(page)).flatMap((list) =>
    linked(textOf(list)).map((path) => join(dirname(list), path)),
  );
  const own = PAGES.filter((page) => /^docs[/\\]/.test(page) && !page.endsWith('README.md'));
  expect(own.filter((page) => !listed.includes(page))).toEqual([]);
});
