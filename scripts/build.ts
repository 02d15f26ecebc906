// Builds dist/: what the package holds and the function app runs. The function app is one bundle, so that a cold start reads
// few files; what the package holds imports its dependencies, so that scanners and updates see them
// (docs/adr/0009-dependencies-are-installed-the-app-is-a-bundle.md).
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, relative, sep } from 'node:path';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { type OutputChunk, type Plugin, rolldown } from 'rolldown';
import { FROM_LIBRARIES } from '../src/dashboard/files.ts';

interface Package {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly engines: { readonly node: string };
  readonly exports: Readonly<Record<string, string | { readonly 'millrace-source'?: string }>>;
}

const root = join(import.meta.dirname, '..');
const dist = join(root, 'dist');
const manifest = readPackage(root);

/** What a process has once: the worker's own module, and the registry of metrics and traces. */
const ONCE = ['@azure/functions', '@opentelemetry/api'];
/** The oldest Node that `engines` names: docs/adr/0016-supported-nodes.md. */
const OLDEST = `node${/\d+\.\d+/.exec(manifest.engines.node)?.[0]}`;
rmSync(dist, { recursive: true, force: true });
const published = Object.values(manifest.exports).flatMap((to) =>
  typeof to === 'object' && to['millrace-source'] !== undefined ? [to['millrace-source']] : [],
);
/** What an installation has as packages. */
const installed = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
const chunks = [
  ...(await bundle({
    entries: [
      ...published,
      'src/cli/main.ts',
      'src/cli/mcp/call.ts',
      'src/emulator/thread.ts',
      'src/host/local-host/worker.ts',
    ],
    external: installed,
    chunks: 'chunks/library',
  })),
  ...(await bundle({
    entries: globSync('examples/*/{pipeline,workload,input}.ts', { cwd: root }),
    external: installed,
    chunks: 'chunks/examples',
  })),
  ...(await bundle({
    entries: ['functions/index.ts'],
    external: [...ONCE, ...Object.keys(manifest.peerDependencies ?? {})],
    chunks: 'chunks/app',
    small: true,
  })),
];
const bundled = bundledPackages(chunks);
writeFileSync(join(dist, 'THIRD-PARTY-NOTICES.txt'), notices(bundled));
writeFileSync(join(dist, 'bom.cdx.json'), `${JSON.stringify(billOfMaterials(bundled), undefined, 2)}\n`);
// The app runs without them.
if (!process.argv.includes('--no-types')) declarations();
cpSync(join(root, 'node_modules/libpg-query/wasm/libpg-query.wasm'), join(dist, 'libpg-query.wasm'));
// The dashboard's page is served as it is, and what it has of a library is beside it.
for (const [name, from] of Object.entries(FROM_LIBRARIES))
  cpSync(createRequire(import.meta.url).resolve(from), join(dist, 'src/dashboard/page', name));
// The documents belong beside their pipelines, and what `init` copies beside its code.
for (const file of globSync(
  [
    'examples/*/*.md',
    'examples/*/model.examples.json',
    'examples/*/data/*.gz',
    'src/host/init/template/**/*',
    'src/dashboard/page/**/*',
  ],
  {
    cwd: root,
    withFileTypes: true,
  },
)) {
  if (!file.isFile()) continue;
  const from = join(file.parentPath, file.name);
  cpSync(from, join(dist, relative(root, from)));
}

interface Bundle {
  readonly entries: readonly string[];
  readonly external: readonly string[];
  /** Where what entries share goes, below dist/. */
  readonly chunks: string;
  /** Without spaces and line ends, for a cold start. Elsewhere an error shows its line. */
  readonly small?: boolean;
}

async function bundle({ entries, external, chunks: folder, small = false }: Bundle): Promise<OutputChunk[]> {
  const files = entries.map((file) => posix.normalize(file.split(sep).join('/')));
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(files.map((file) => [file.replace(/\.ts$/, ''), file])),
    platform: 'node',
    external: [
      ...external.map((name) => new RegExp(`^${name}(/|$)`)),
      '@azure/functions-core',
      /^(pg-native|bufferutil|utf-8-validate)$/,
    ],
    // Neither `import` nor `require`: the bundler adds the one that each reference is written as.
    resolve: { mainFields: ['module', 'main'], conditionNames: ['millrace-source', 'node', 'default'] },
    // What the oldest supported Node can't parse is lowered, `using` for one; the code parsed by it is what is tested.
    transform: { target: OLDEST },
    plugins: [modulesKnowTheirPlace(), parserFindsItsCode()],
    onLog: (level, log, report) => {
      // Chunks are for what is loaded late; a module that both kinds of entry need may be in either.
      if (log.code !== 'INEFFECTIVE_DYNAMIC_IMPORT') report(level, log);
    },
  });
  const { output } = await build.write({
    dir: dist,
    format: 'esm',
    chunkFileNames: `${folder}/[name]-[hash].js`,
    minify: small && { compress: false, mangle: false },
  });
  await build.close();
  return output.filter((of) => of.type === 'chunk');
}

/** Gives each module the `import.meta.url` that it would have without bundling, in any chunk. */
function modulesKnowTheirPlace(): Plugin {
  const marker = /"@millrace-module:([^"]+)"/g;
  return {
    name: 'modules-know-their-place',
    transform: {
      filter: { code: 'import.meta.url' },
      handler: (code, id) => {
        const file = relative(root, id).split(sep).join('/');
        if (file.startsWith('node_modules/')) return null;
        const url = `new URL("@millrace-module:${file.replace(/\.ts$/, '.js')}", import.meta.url).href`;
        return { code: code.replaceAll('import.meta.url', url), map: null };
      },
    },
    renderChunk: (code, chunk) =>
      code.replaceAll(marker, (_, file: string) => JSON.stringify(posix.relative(dirname(chunk.fileName), file))),
  };
}

/** PostgreSQL's parser reads its WebAssembly from the folder of its module, which is `dist` when it is bundled. */
function parserFindsItsCode(): Plugin {
  const marker = '__MILLRACE_PARSER__';
  return {
    name: 'parser-finds-its-code',
    transform: {
      filter: { id: /libpg-query[\\/]wasm[\\/]libpg-query\.js$/ },
      handler: (code) => ({ code: code.replaceAll('__dirname', marker), map: null }),
    },
    renderChunk: (code, chunk) =>
      code.includes(marker)
        ? code.replaceAll(
            marker,
            `(import.meta.dirname + ${JSON.stringify(`/${posix.relative(dirname(chunk.fileName), '.')}`)})`,
          )
        : null,
  };
}

/** What the doors declare; the other declarations are of no use to who imports them. */
function declarations(): void {
  const tsc = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json')));
  const { status } = spawnSync(process.execPath, [tsc, '-p', join(root, 'tsconfig.build.json')], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
  const wanted = new Set(published.map((file) => join(dist, file.replace(/\.ts$/, '.d.ts'))));
  for (const file of wanted)
    for (const [, to = ''] of readFileSync(file, 'utf8').matchAll(/(?:from |import\()['"](\.[^'"]+)\.[jt]s['"]/g))
      wanted.add(join(dirname(file), `${to}.d.ts`));
  for (const file of globSync(join(dist, '**/*.d.ts'))) if (!wanted.has(file)) rmSync(file);
}

/** The folders of the packages whose code is in dist/. */
function bundledPackages(of: readonly OutputChunk[]): readonly string[] {
  const folders = new Set<string>();
  for (const id of of.flatMap(({ moduleIds }) => moduleIds)) {
    const [folder] = /^.*[\\/]node_modules[\\/](@[^\\/]+[\\/])?[^\\/]+/.exec(id) ?? [];
    if (folder !== undefined) folders.add(folder.replace(/^\0+/, ''));
  }
  // The page's files are copied and not bundled.
  for (const from of Object.values(FROM_LIBRARIES))
    folders.add(dirname(createRequire(import.meta.url).resolve(`${from.split('/')[0]}/package.json`)));
  return [...folders].toSorted();
}

/** For scanners, which see installed packages and not bundled ones. The format is CycloneDX 1.6. */
function billOfMaterials(folders: readonly string[]): object {
  const components = folders.map((folder) => {
    const { name, version, license } = readPackage(folder);
    return {
      type: 'library',
      name,
      version,
      purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
      ...(license !== undefined && { licenses: [{ expression: license }] }),
    };
  });
  const { name, version } = manifest;
  const metadata = { component: { type: 'library', name, version, purl: `pkg:npm/${name}@${version}` } };
  return { bomFormat: 'CycloneDX', specVersion: '1.6', version: 1, metadata, components };
}

/** The licences of what is bundled: each asks to go along with its code. */
function notices(folders: readonly string[]): string {
  const texts = folders.map((folder) => {
    const { name, version, license = 'see below' } = readPackage(folder);
    const file = readdirSync(folder).find((each) => /^(licen[cs]e|copying)/i.test(each));
    const text = file === undefined ? '' : `\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
    return `${name} ${version} (${license})\n${text}`;
  });
  return `Millrace's dist/ contains code of these packages.\n\n${texts.toSorted().join(`\n${'-'.repeat(80)}\n\n`)}`;
}

function readPackage(folder: string): Package {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Package;
}
