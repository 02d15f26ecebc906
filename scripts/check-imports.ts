// Imports point one way between rooms, and inside the big ones between floors (CONTRIBUTING.md); files don't import in
// circles, not even by types.
// Usage: node scripts/check-imports.ts [ROOT]; exit code 1 with file:line for each import that breaks the rule.
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';

/** From the top to the ground: a room may import those after it. */
const ORDER = [
  'functions',
  'cli',
  'testing',
  'host',
  'dashboard',
  'verbs',
  'procedures',
  'runtime',
  'archive',
  'ingest',
  'engine',
  'kinds',
  'access',
  'feed',
  'shards',
  'client',
  'patterns',
  'cosmos',
  'jobs',
  'postgres',
  'base',
];
/** Pure rooms: what each of them may import; every room but base may import them. */
const PURE: Readonly<Record<string, readonly string[]>> = {
  model: ['sql-check', 'base'],
  pipeline: ['model', 'sql-check', 'base'],
  contract: ['pipeline', 'model', 'sql-check', 'base'],
  'sql-check': ['base'],
};
/** Inside big rooms, from the ground up: a floor may import those before it, and files beside the floors may import any. */
const FLOORS: Readonly<Record<string, readonly string[]>> = {
  'src/feed': ['reading', 'leases', 'tenure', 'sharing', 'processor'],
  'src/shards': ['keys', 'gate', 'map', 'places', 'query', 'routing'],
  'src/engine': ['views', 'erasures', 'dead-letters', 'deferred'],
  'src/emulator/cosmos': ['wire', 'time-and-charge', 'storage', 'feed', 'query', 'items', 'resources', 'server'],
};
const EMULATOR_MAY = ['src/cosmos/effective-partition-key.ts', 'src/cosmos/murmur.ts', 'src/cosmos/ranges.ts'];
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
  const { module, program, errors } = parseSync(from, text);
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
  new Visitor({ TSImportType: ({ source, start }) => add(source.value, start, 'type') }).visit(program);
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
  if (below === above && below !== undefined) return betweenFloors(at, from, to);
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
    return pure.includes(below ?? '') ? [] : [`${at}: ${above} is pure and may import ${pure.join(' and ')} alone.`];
  if (!ORDER.includes(above))
    return [`${at}: the room ${above} isn't in the order. Give it its place in scripts/check-imports.ts.`];
  if (below !== undefined && below in PURE && above !== 'base') return [];
  if (below !== undefined && ORDER.indexOf(below) > ORDER.indexOf(above)) return [];
  return [
    `${at}: ${above} lies below ${below ?? 'src/index.ts'}. Move what both need down, or hand it in as a parameter.`,
  ];
}

function betweenFloors(at: string, from: string, to: string): string[] {
  const room = Object.keys(FLOORS).find((each) => from.startsWith(`${each}/`) && to.startsWith(`${each}/`));
  if (room === undefined) return [];
  const floors = FLOORS[room]!;
  // A room's catalogue of errors imports nothing of it, and all of its floors throw what it names.
  if (to === `${room}/errors.ts`) return [];
  const [above, below] = [floorOf(from, room), floorOf(to, room)];
  if (above === undefined || above === below) return [];
  const unknown = [above, below].find((floor) => floor !== undefined && !floors.includes(floor));
  if (unknown !== undefined)
    return [
      `${at}: the floor ${unknown} of ${room} isn't in the order. Give it its place in scripts/check-imports.ts.`,
    ];
  if (below !== undefined && floors.indexOf(below) < floors.indexOf(above)) return [];
  return [
    `${at}: in ${room}, ${above} lies below ${below ?? to}. Move what both need down, or hand it in as a parameter.`,
  ];
}

/** `src/feed/leases/lease.ts` → leases; a file beside the floors has none. */
function floorOf(file: string, room: string): string | undefined {
  const [floor, inside] = file.slice(room.length + 1).split('/');
  return inside === undefined ? undefined : floor;
}

/** The shortest circle of each group of files that all reach one another, by imports of any kind. */
function circles(): string[] {
  const edges = Map.groupBy(imports, ({ from }) => from);
  const ways = new Map(files.map((file) => [file, waysFrom(file, edges)]));
  const reported = new Set<string>();
  const found = files.flatMap((file) => (ways.get(file)!.has(file) ? [circleOf(file, ways.get(file)!)] : []));
  return found
    .toSorted((a, b) => a.length - b.length)
    .flatMap((circle) => {
      const file = circle[0]!.from;
      if (reported.has(file)) return [];
      const group = [...ways.get(file)!.keys()].filter((each) => ways.get(each)?.has(file));
      for (const each of group) reported.add(each);
      const way = [...circle.map(({ from, line }) => `${from}:${line}`), file].join(' → ');
      const among = group.length > circle.length ? ` (the shortest among ${group.length} files)` : '';
      return [`${way}: imports in a circle${among}. Take out what both need into a file of its own.`];
    });
}

/** By which import each file is first reached that a file reaches, itself included where it lies on a circle. */
function waysFrom(file: string, edges: ReadonlyMap<string, readonly Import[]>): ReadonlyMap<string, Import> {
  const ways = new Map<string, Import>();
  const reached = [file];
  for (const from of reached) {
    for (const way of edges.get(from) ?? []) {
      if (ways.has(way.to)) continue;
      ways.set(way.to, way);
      if (way.to !== file) reached.push(way.to);
    }
  }
  return ways;
}

function circleOf(file: string, ways: ReadonlyMap<string, Import>): Import[] {
  const circle: Import[] = [];
  do circle.unshift(ways.get(circle[0]?.from ?? file)!);
  while (circle[0]!.from !== file);
  return circle;
}
