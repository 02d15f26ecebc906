// Runs the random tests with the number of histories that a release needs. Vitest runs each line of LIST in pieces with
// different seeds, one piece on each core. Exit code 1 if a piece failed or didn't run.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pMap from 'p-map';
import { z } from 'zod';
import { NO_POSTGRES } from '../test/support/postgres.ts';
import { suiteSeed } from '../test/support/seed.ts';

interface Line {
  readonly kind: string;
  readonly mode: string;
  readonly file: string;
  /** A part of the test's name; without it the file's only test. */
  readonly test?: string;
  /** What MILLRACE_HISTORIES is over all pieces. */
  readonly histories: number;
}

const AGGREGATES = { kind: 'aggregate', file: 'test/projections/aggregates.model.test.ts', histories: 5_000 };
const COPIES = { kind: 'copy', file: 'test/projections/copies.model.test.ts', histories: 5_000 };
const EMBEDS = { kind: 'embed', file: 'test/projections/embeds.model.test.ts', histories: 5_000 };
const REFERENCES = { kind: 'reference', file: 'test/projections/references.model.test.ts', histories: 5_000 };
const PUBLISHES = { kind: 'publish', file: 'test/projections/publishes.model.test.ts', histories: 5_000 };
const TABLES = { kind: 'table', file: 'test/projections/tables.model.test.ts', histories: 5_000 };
const WAITING = 'test/sinks/tables/waiting-rows.model.test.ts';
const SIMULATION = { kind: 'processor', file: 'test/feed/processor.sim.model.test.ts', histories: 2_000 };
const OPERATIONS = 'test/operations/projections';
const EFFECTS = { file: 'test/projections/effects.model.test.ts', histories: 5_000 };

const LIST: readonly Line[] = [
  { ...AGGREGATES, mode: 'contribution with locator', test: 'aggregate by-state' },
  { ...AGGREGATES, mode: 'several rows a document', test: 'aggregate by-product' },
  { ...AGGREGATES, mode: 'contribution, no locator', test: 'aggregate by-customer' },
  { ...AGGREGATES, mode: 'hours and days in a time zone', test: 'aggregate by-hour' },
  { ...AGGREGATES, mode: 'roll-up, best by a sum', test: 'after any history an aggregate of an aggregate' },
  { ...AGGREGATES, mode: 'all versions and deletes', test: 'read by all versions, hard deletes' },
  { ...AGGREGATES, mode: 'roll-up, all versions and deletes', test: 'read by all versions an aggregate' },
  { ...AGGREGATES, mode: 'built beside all versions', test: 'built beside all versions' },
  {
    kind: 'aggregate',
    mode: 'of all shards, while keys move',
    file: 'test/projections/shards.model.test.ts',
    test: 'counts each document once',
    histories: 5_000,
  },
  { ...COPIES, mode: 'moving, with locator', test: 'copy by-place' },
  { ...COPIES, mode: 'joined, refreshed', test: 'copy joined' },
  { ...COPIES, mode: 'joined and moving', test: 'copy both' },
  { ...COPIES, mode: 'all versions and deletes', test: 'read by all versions' },
  { ...COPIES, mode: 'built beside all versions', test: 'built beside all versions' },
  { ...EMBEDS, mode: 'fields', test: 'an embed of a field' },
  { ...EMBEDS, mode: 'elements of a list', test: 'an embed of the elements of a list' },
  { ...EMBEDS, mode: 'several parents', test: 'an embed of several parents in one' },
  { ...EMBEDS, mode: 'all versions and deletes', test: 'read by all versions' },
  { ...EMBEDS, mode: 'built beside all versions', test: 'filled beside all versions' },
  { ...REFERENCES, mode: 'every tenant', test: 'after any history' },
  { ...REFERENCES, mode: 'all versions and deletes', test: 'read by all versions' },
  { ...REFERENCES, mode: 'built beside all versions', test: 'built beside all versions' },
  { ...EFFECTS, kind: 'react', mode: 'by document', test: 'a reaction has run' },
  { ...EFFECTS, kind: 'react', mode: 'by key, in order', test: 'a reaction by key' },
  { ...EFFECTS, kind: 'react', mode: 'all versions and deletes', test: 'every version has had its reaction' },
  { ...EFFECTS, kind: 'send', mode: "a sink of one's own", test: "a sink of one's own" },
  { ...EFFECTS, kind: 'send', mode: 'all versions and deletes', test: 'a sink has the rows' },
  { ...PUBLISHES, mode: 'by key, in order', test: 'each key in its order' },
  { ...PUBLISHES, mode: 'all versions and deletes', test: 'read by all versions' },
  {
    kind: 'publish',
    mode: '22,000 changes, broken links',
    file: 'test/projections/publish-feed.int.test.ts',
    test: 'while links break at random',
    histories: 5,
  },
  { ...EFFECTS, kind: 'custom', mode: "a runner of one's own", test: "after any history a runner of one's own" },
  { ...EFFECTS, kind: 'custom', mode: 'all versions and deletes', test: "read by all versions a runner of one's own" },
  // They need a real server: where none is installed, importing `postgres.ts` has said so.
  ...(NO_POSTGRES === undefined
    ? ['tenanted', 'moving', 'plain']
        .flatMap((mode) => [
          { ...TABLES, mode, test: `after any history ${mode} tables` },
          { ...TABLES, mode: `${mode}, all versions`, test: `expiry among them, ${mode} tables` },
        ])
        .concat(
          { ...TABLES, mode: 'rows that wait', file: WAITING, histories: 500, test: 'after any history rows' },
          {
            ...TABLES,
            mode: 'of all shards, while keys move',
            file: 'test/projections/shards-tables.model.test.ts',
            test: 'at every moment while keys move',
          },
        )
    : []),
  {
    kind: 'backlog',
    mode: 'set aside and drained',
    file: 'test/engine/backlog/protocol.model.test.ts',
    test: 'what is set aside is applied',
    histories: 5_000,
  },
  { kind: 'SQL', mode: 'random queries, judged', file: 'test/sql-check/check.model.test.ts', histories: 5_000 },
  {
    kind: 'window',
    mode: 'tenants in turns',
    file: 'test/feed/tenure/window-turns.model.test.ts',
    histories: 5_000,
  },
  {
    kind: 'pipeline',
    mode: 'tenants in turns, hosts cut off',
    file: 'test/runtime/turns.model.test.ts',
    histories: 100,
  },
  { kind: 'start', mode: 'now, a time', file: 'test/engine/views/starts.model.test.ts', histories: 2_000 },
  { ...SIMULATION, mode: 'in virtual time', test: 'PROC-L1 to PROC-L12 hold' },
  {
    ...SIMULATION,
    mode: 'with changes set aside',
    test: 'they hold where changes of tenants are set aside',
    histories: 5_000,
  },
  {
    kind: 'processor',
    mode: 'on the embedded server',
    file: 'test/feed/processor.model.test.ts',
    histories: 2_000,
  },
  {
    kind: 'archive',
    mode: 'sweeps and restores',
    file: 'test/archive/archive.model.test.ts',
    test: 'hot and cold together',
    histories: 1_000,
  },
  {
    kind: 'archive',
    mode: 'all versions and expiry',
    file: 'test/archive/archive.model.test.ts',
    test: 'read by all versions',
    histories: 5_000,
  },
  {
    kind: 'archive',
    mode: 'the version log, cut off anywhere',
    file: 'test/archive/version-log.model.test.ts',
    histories: 300,
  },
  {
    kind: 'archive',
    mode: 'erasure of a tenant, killed anywhere',
    file: 'test/archive/erase.model.test.ts',
    histories: 100,
  },
  {
    kind: 'tenant',
    mode: 'erased beside hosts, sweeps and restores, in virtual time',
    file: 'test/engine/erasures/stop.model.test.ts',
    test: 'after the certificate',
    histories: 2_000,
  },
  {
    kind: 'rule',
    mode: 'mutants of the documents',
    file: 'test/model/rules/mutation.model.test.ts',
    test: 'mutants',
    histories: 2_000,
  },
  {
    kind: 'shard query',
    mode: 'random queries while keys move',
    file: 'test/shards/multi-shard-query.model.test.ts',
    test: 'random queries find each document once',
    histories: 5_000,
  },
  {
    kind: 'router',
    mode: 'beside two administrators',
    file: 'test/shards/router.model.test.ts',
    test: 'uses only what the map and a local map had',
    histories: 5_000,
  },
  {
    kind: 'shard query',
    mode: 'the state of all shards at one moment',
    file: 'test/shards/snapshot.model.test.ts',
    test: 'gives each key to one shard',
    histories: 5_000,
  },
  {
    kind: 'shard gate',
    mode: 'keys that move, in virtual time',
    file: 'test/shards/shard-gate.model.test.ts',
    test: 'let no key be written on two shards',
    histories: 5_000,
  },
  {
    kind: 'fence',
    mode: 'keys that move, and writers that sleep',
    file: 'test/shards/fence.model.test.ts',
    test: 'land only on the shard that has their key',
    histories: 5_000,
  },
  {
    kind: 'shard move',
    mode: 'a protocol of its own',
    file: 'test/operations/shards/move-protocol.model.test.ts',
    test: 'counted once',
    histories: 5_000,
  },
  {
    kind: 'shard move',
    mode: 'real moves under writes',
    file: 'test/operations/shards/move.int.test.ts',
    test: 'there and back',
    histories: 40,
  },
  { kind: 'shard move', mode: 'SIGKILL', file: 'test/operations/shards/move-kill.e2e.test.ts', histories: 10 },
  {
    kind: 'shard move',
    mode: 'SIGKILL, beside a host of all shards',
    file: 'test/operations/shards/move-world.e2e.test.ts',
    histories: 3,
  },
  { kind: 'write gate', mode: 'in virtual time', file: 'test/shards/write-gate.model.test.ts', histories: 200 },
  ...['range', 'list'].map((kind) => ({
    kind: 'shard map',
    mode: `administrators of a ${kind} map`,
    file: 'test/shards/shard-map.model.test.ts',
    test: `of kind ${kind} do what`,
    histories: 5_000,
  })),
  { kind: 'budget', mode: 'shares in virtual time', file: 'test/cosmos/shares.model.test.ts', histories: 1_000 },
  {
    kind: 'tenant',
    mode: 'queries',
    file: 'test/client/tenant-reader.model.test.ts',
    test: 'random queries',
    histories: 3_000,
  },
  { kind: 'server', mode: 'splits and merges', file: 'test/emulator/repartition.model.test.ts', histories: 30 },
  { kind: 'operation', mode: 'cut off at requests', file: `${OPERATIONS}/crash.model.test.ts`, histories: 100 },
  { kind: 'operation', mode: 'over shards, cut off', file: `${OPERATIONS}/over-shards.model.test.ts`, histories: 40 },
  { kind: 'operation', mode: 'SIGKILL', file: 'test/operations/kill/kill.e2e.test.ts', histories: 50 },
  {
    kind: 'operation',
    mode: 'backfills',
    file: 'test/operations/tenants/tenants-backfill.model.test.ts',
    histories: 100,
  },
  { kind: 'ingest', mode: 'SIGKILL', file: 'test/ingest/kill.e2e.test.ts', histories: 25 },
  { kind: 'host', mode: 'SIGKILL, SIGSTOP', file: 'test/host/kill.e2e.test.ts', histories: 8 },
  { kind: 'dev', mode: 'SIGKILL', file: 'test/host/dev.e2e.test.ts', test: 'storefront', histories: 4 },
  { kind: 'archive', mode: 'SIGKILL', file: 'test/archive/kill.e2e.test.ts', histories: 20 },
];

/** The most histories of one vitest process, so that progress is seen and memory stays small. */
const PIECE = 2_500;

/** A run without --all takes one line in so many, or verify would take an hour on two cores. */
const PARTS = 10;

const HELP = `npm run check:histories -- [options]

Runs random tests of scripts/histories.ts, each with its number of histories: one line in ${PARTS} of them, which ones
by the commit, so that ${PARTS} commits or so run them all. Seeds come of the commit too.

  --all         every line, as for a release
  --times N     N times as many histories of each (10: the 50,000 of a release)
  --histories N so many of each instead
  --only TEXT   every line whose kind, mode or file has TEXT
  --seed N      the first seed
  --workers N   processes at the same time; default: ${availableParallelism()}
  --list        prints the lines and runs nothing

  npm run check:histories -- --only embed --histories 500
  npm run check:histories -- --all --times 10`;

interface Piece {
  readonly line: Line;
  readonly seed: number;
  readonly histories: number;
}

interface Outcome extends Piece {
  readonly seconds: number;
  readonly output: string | undefined;
}

const report = z.object({ numPassedTests: z.number(), numFailedTests: z.number(), success: z.boolean() });

type Options = NonNullable<ReturnType<typeof optionsOf>>;

function whole(name: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  return wrong(`--${name} takes a whole number above 0, not '${text}'.`);
}

function wrong(what: string): never {
  console.error(what);
  process.exit(2);
}

function optionsOf() {
  const { values } = parseArgs({
    options: {
      times: { type: 'string', default: '1' },
      histories: { type: 'string' },
      all: { type: 'boolean', default: false },
      only: { type: 'string', default: '' },
      seed: { type: 'string', default: String(suiteSeed()) },
      workers: { type: 'string', default: String(availableParallelism()) },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return undefined;
  }
  const { all, only, list } = values;
  const seed = whole('seed', values.seed);
  const named = LIST.filter(({ kind, mode, file }) => `${kind} ${mode} ${file}`.includes(only));
  const lines = all || list || only !== '' ? named : named.filter((_, at) => at % PARTS === seed % PARTS);
  if (lines.length === 0) return wrong(`No line has '${only}'; --list shows them.`);
  const each = values.histories === undefined ? undefined : whole('histories', values.histories);
  const times = whole('times', values.times);
  return {
    lines: lines.map((line) => ({ ...line, histories: (each ?? line.histories) * times })),
    seed,
    workers: whole('workers', values.workers),
    list,
  };
}

async function main({ lines, seed, workers, list }: Options): Promise<number> {
  if (list) {
    print([
      ['kind', 'mode', 'histories', 'file'],
      ...lines.map((of) => [of.kind, of.mode, number(of.histories), of.file]),
    ]);
    return 0;
  }
  const began = performance.now();
  const pieces = lines.flatMap((line) => piecesOf(line, seed, workers));
  let ended = 0;
  const outcomes = await pMap(
    pieces,
    async (piece) => {
      const outcome = await run(piece);
      ended += 1;
      const { line, histories, seconds, output } = outcome;
      const suffix = output === undefined ? '' : '  FAILED';
      console.log(
        `${ended}/${pieces.length}  ${line.kind}, ${line.mode}: ${number(histories)} from seed ${piece.seed}, ${seconds.toFixed(0)} s${suffix}`,
      );
      if (output !== undefined) console.error(output);
      return outcome;
    },
    { concurrency: workers },
  );
  const rows = lines.map((line) => {
    const own = outcomes.filter((outcome) => outcome.line === line);
    const seconds = own.reduce((sum, outcome) => sum + outcome.seconds, 0);
    const failed = own.some(({ output }) => output !== undefined);
    return [
      line.kind,
      line.mode,
      number(line.histories),
      String(seed),
      seconds.toFixed(0),
      failed ? 'FAILED' : 'exact',
    ];
  });
  console.log('');
  print([['kind', 'mode', 'histories', 'seed', 'seconds', ''], ...rows]);
  const failed = rows.filter((row) => row.at(-1) === 'FAILED').length;
  const all = number(lines.reduce((sum, { histories }) => sum + histories, 0));
  console.log(
    `\n${all} histories in ${((performance.now() - began) / 1000).toFixed(0)} s, ${failed === 0 ? 'none failed' : `${failed} lines failed`}`,
  );
  return failed === 0 ? 0 : 1;
}

function piecesOf(line: Line, first: number, workers: number): Piece[] {
  const pieces = Math.max(Math.ceil(line.histories / PIECE), Math.min(workers, Math.ceil(line.histories / 50)));
  const size = Math.ceil(line.histories / pieces);
  return Array.from({ length: pieces }, (_, index) => ({
    line,
    seed: first + index * size,
    histories: Math.min(size, line.histories - index * size),
  })).filter(({ histories }) => histories > 0);
}

/** One vitest process; its output where it failed, or where no test of that name ran. */
async function run(piece: Piece): Promise<Outcome> {
  const { line, seed, histories } = piece;
  const began = performance.now();
  const folder = mkdtempSync(join(tmpdir(), 'millrace-histories-'));
  const file = join(folder, 'report.json');
  const child = spawn(
    process.execPath,
    [
      'node_modules/vitest/vitest.mjs',
      'run',
      line.file,
      ...(line.test === undefined ? [] : ['-t', line.test]),
      // A hang is ended, long after the slowest machine would be done.
      `--testTimeout=${(600 + histories) * 1000}`,
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${file}`,
      '--no-color',
    ],
    {
      cwd: join(import.meta.dirname, '..'),
      // The report of the tests themselves, where one is asked for, isn't to be written over.
      env: {
        ...process.env,
        MILLRACE_TEST_REPORT: undefined,
        MILLRACE_SEED: String(seed),
        MILLRACE_HISTORIES: String(histories),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (some: Buffer) => (output += some.toString()));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  const seconds = (performance.now() - began) / 1000;
  const passed = code === 0 && ran(file);
  rmSync(folder, { recursive: true });
  return { ...piece, seconds, output: passed ? undefined : output };
}

/** vitest calls it a success when no test has the name. */
function ran(file: string): boolean {
  const { numPassedTests, success } = report.parse(JSON.parse(readFileSync(file, 'utf8')));
  return success && numPassedTests > 0;
}

const number = (value: number): string => value.toLocaleString('en-US');

function print(rows: readonly (readonly string[])[]): void {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => (row[at] ?? '').length)));
  for (const row of rows)
    console.log(
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    );
}

const options = optionsOf();
if (options) process.exitCode = await main(options);
