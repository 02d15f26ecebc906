// Imports point one way between rooms (CONTRIBUTING.md), and files don't import in circles.
// Usage: node scripts/check-imports.ts [ROOT]; exit code 1 with file:line for each import that breaks the rule.
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { parseSync } from 'oxc-parser';

/** From the top to the ground: a room may import those after it. */
const ORDER = [
  'functions',
  'cli',
  'testing',
  'host',
  'operations',
  'runtime',
  'archive',
  'ingest',
  'engine',
  'projections',
  'sinks',
  'feed',
  'shards',
  'patterns',
  'cosmos',
  'jobs',
  'base',
];
/** Pure rooms: what each of them may import; every room but base may import them. */
const PURE: Readonly<Record<string, readonly string[]>> = {
  model: ['base'],
  definition: ['model', 'base'],
  contract: ['definition', 'model', 'base'],
};
const EMULATOR_MAY = ['src/cosmos/epk.ts', 'src/cosmos/murmur.ts', 'src/cosmos/ranges.ts'];
const STARTS_EMULATOR = /^src\/(host\/dev|cli\/|testing\/)/;

interface Import {
  readonly from: string;
  readonly line: number;
  readonly to: string;
  readonly kind: 'static' | 'dynamic' | 'type';
}

const root = process.argv[2] ?? join(import.meta.dirname, '..');
const files = globSync('{src,functions}/**/*.ts', { cwd: root }).map((file) => file.split(sep).join('/'));
const imports = files.flatMap(importsOf);
const problems = [...imports.flatMap(objection), ...circles()];

for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
else console.log(`imports: ${files.length} files, ${imports.length} imports between them, all one way`);

function importsOf(from: string): Import[] {
  const text = readFileSync(join(root, from), 'utf8');
  const { module, errors } = parseSync(from, text);
  if (errors[0]) throw new Error(`${from}: ${errors[0].message}`);
  const found: Import[] = [];
  const add = (specifier: string, at: number, kind: Import['kind']): void => {
    if (!specifier.startsWith('.')) return;
    const to = relative(root, join(root, dirname(from), specifier))
      .split(sep)
      .join('/');
    found.push({ from, to, kind, line: text.slice(0, at).split('\n').length });
  };
  for (const { moduleRequest, start, entries } of module.staticImports) {
    add(moduleRequest.value, start, entries.length > 0 && entries.every((entry) => entry.isType) ? 'type' : 'static');
  }
  for (const { start, entries } of module.staticExports) {
    const [first] = entries;
    if (first?.moduleRequest)
      add(first.moduleRequest.value, start, entries.every((entry) => entry.isType) ? 'type' : 'static');
  }
  for (const { moduleRequest, start } of module.dynamicImports) {
    add(text.slice(moduleRequest.start + 1, moduleRequest.end - 1), start, 'dynamic');
  }
  return found;
}

/** `src/feed/leases/lease.ts` → feed; `src/index.ts`, the public door, has no room and may import any. */
function roomOf(file: string): string | undefined {
  const [top, second, third] = file.split('/');
  if (top === 'functions') return 'functions';
  return third === undefined ? undefined : second;
}

function objection({ from, to, line, kind }: Import): string[] {
  const [above, below] = [roomOf(from), roomOf(to)];
  const at = `${from}:${line}: imports ${to}`;
  if (below === above && below !== undefined) return [];
  if (below === 'emulator') {
    if (!STARTS_EMULATOR.test(from))
      return [`${at}: only host/dev*, cli and testing may start the emulator. Take what you need from a lower room.`];
    return kind === 'static'
      ? [`${at}: the emulator reaches no deployment. Import it dynamically, or its types alone.`]
      : [];
  }
  if (above === undefined) return [];
  if (above === 'emulator') {
    if (below === 'base' || EMULATOR_MAY.includes(to)) return [];
    return [
      `${at}: the emulator must not share code with what it is a test of; it may import base, ${EMULATOR_MAY.join(', ')}.`,
    ];
  }
  const pure = PURE[above];
  if (pure)
    return pure.includes(below ?? '') ? [] : [`${at}: ${above} is pure and may import ${pure.join(', ')} alone.`];
  if (!ORDER.includes(above))
    return [`${at}: the room ${above} isn't in the order. Give it its place in scripts/check-imports.ts.`];
  if (below !== undefined && below in PURE && above !== 'base') return [];
  if (below !== undefined && ORDER.indexOf(below) > ORDER.indexOf(above)) return [];
  return [
    `${at}: ${above} lies below ${below ?? 'src/index.ts'}. Move what both need down, or hand it in as a parameter.`,
  ];
}

/** Type imports vanish when the program runs, so they may run in circles. */
function circles(): string[] {
  const edges = Map.groupBy(
    imports.filter(({ kind }) => kind === 'static'),
    ({ from }) => from,
  );
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) {
      const circle = [...path.slice(path.indexOf(file)), file];
      const closing = edges.get(circle.at(-2) ?? '')?.find(({ to }) => to === file);
      found.push(
        `${closing?.from}:${closing?.line}: imports in a circle: ${circle.join(' → ')}. Take out what both need into a file of its own.`,
      );
      return;
    }
    if (done.has(file)) return;
    for (const { to } of edges.get(file) ?? []) visit(to, [...path, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
  return found;
}
