// No image is built here, so this holds what can be known of it: each file that a Dockerfile copies or starts is there.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const TEMPLATE = join(ROOT, 'src/host/init/template');
const read = (...path: string[]): string => readFileSync(join(...path), 'utf8');

/** What each stage of a Dockerfile copies, and what the image starts. */
function imageOf(folder: string) {
  const text = read(folder, 'Dockerfile');
  const [build = '', image = ''] = text.split(/^FROM .*$/m).slice(1);
  const list = (name: string): string[] => {
    const [, found = '[]'] = new RegExp(String.raw`^${name} (\[.*\])$`, 'm').exec(image) ?? [];
    return JSON.parse(found) as string[];
  };
  const copies = (of: string): string[] =>
    [...of.matchAll(/^COPY (.+) \S+$/gm)].flatMap(([, found = '']) => found.split(' '));
  return {
    build: copies(build),
    image: copies(image)
      .filter((of) => of !== '--from=build')
      .map((of) => of.replace('/app/', '')),
    entry: list('ENTRYPOINT'),
    arguments: list('CMD'),
    pipeline: /^ENV .*MILLRACE_PIPELINE=(\S+)$/m.exec(image)?.[1] ?? '',
  };
}

it('the image of this repository copies files that are there, and starts one that it has', () => {
  const { build, image, entry, arguments: args, pipeline } = imageOf(ROOT);
  const ignored = new Set(read(ROOT, '.dockerignore').split('\n'));
  expect(build).toContain('.');
  for (const file of build)
    expect([file, existsSync(join(ROOT, file)), ignored.has(file)]).toEqual([file, true, false]);
  const { files, bin } = JSON.parse(read(ROOT, 'package.json')) as { files: string[]; bin: { millrace: string } };
  expect(image).toEqual(['package.json', 'node_modules', 'bin', 'dist']);
  expect(files).toEqual(expect.arrayContaining(['bin', 'dist']));
  expect(entry).toEqual(['node', bin.millrace]);
  expect(args).toEqual(['run', '--probes', '8081']);
  expect(existsSync(join(ROOT, pipeline.replace(/^dist\//, ''), 'pipeline.ts'))).toBe(true);
});

it('the image of a project copies what the project has or builds, also a package in its folder', () => {
  const { build, image, entry, arguments: args, pipeline } = imageOf(TEMPLATE);
  expect(build).toEqual(['package.json', 'package-lock.json', '*.tgz', '.']);
  expect(globSync('*.tgz', { cwd: TEMPLATE })).toEqual([]);
  expect(read(TEMPLATE, '_dockerignore')).not.toMatch(/tgz|package|scripts|pipeline|tsconfig/);
  expect(image).toEqual(['package.json', 'node_modules', 'dist']);
  const { bin } = JSON.parse(read(ROOT, 'package.json')) as { bin: { millrace: string } };
  expect(entry).toEqual(['node', `node_modules/millrace/${bin.millrace}`]);
  expect([args, pipeline]).toEqual([['run', '--probes', '8081'], 'dist/pipeline']);
  const { compilerOptions, include } = JSON.parse(read(TEMPLATE, 'tsconfig.json')) as {
    compilerOptions: { rootDir: string; outDir: string };
    include: string[];
  };
  expect([compilerOptions.rootDir, compilerOptions.outDir, include]).toEqual(['.', 'dist', ['functions', 'pipeline']]);
  expect(read(TEMPLATE, 'scripts/build.mjs')).toContain("globSync('pipeline/*.json')");
});
