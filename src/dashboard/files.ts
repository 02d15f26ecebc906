import { existsSync, globSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface PageFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly type: string;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The page's files, beside this module: in the package they have the same place. */
const FOLDER = fileURLToPath(new URL('./page/', import.meta.url));

/** What the page has from a library. `scripts/build.ts` copies these files to the others. */
export const FROM_LIBRARIES: Readonly<Record<string, string>> = {
  'lib/uplot.js': 'uplot/dist/uPlot.esm.js',
  'lib/uplot.css': 'uplot/dist/uPlot.min.css',
};

/** Every file that the dashboard serves, by its path. They are read once: no request names a file of the machine. */
export function pageFiles(): ReadonlyMap<string, PageFile> {
  const own = globSync('**/*', { cwd: FOLDER, exclude: (name) => name.endsWith('.ts') })
    .map((name) => name.split(sep).join('/'))
    .filter((name) => TYPES[extname(name)] !== undefined);
  const files = new Map(own.map((name) => [`/${name}`, readPage(join(FOLDER, name))]));
  for (const [name, from] of Object.entries(FROM_LIBRARIES))
    if (!existsSync(join(FOLDER, name))) files.set(`/${name}`, readPage(createRequire(import.meta.url).resolve(from)));
  const index = files.get('/index.html');
  if (index) files.set('/', index);
  return files;
}

const readPage = (file: string): PageFile => ({
  bytes: new Uint8Array(readFileSync(file)),
  type: TYPES[extname(file)] ?? 'application/octet-stream',
});
