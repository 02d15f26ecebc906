// Runs the random tests with the number of histories that a release needs. Vitest runs each line of LIST in pieces with
// different seeds, one piece on each core. Exit code 1 if a piece failed or didn't run.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pMap from 'p-map';
import { z } from 'zod';
import { type Line, LIST } from './histories/lines.ts';
import { suiteSeed } from '../test/support/seed.ts';

/** The most histories of one vitest process, so that progress is seen and memory stays small. */
const PIECE = 2_500;

/** A run without --all takes one line in so many: a tenth took 18 of the 40 minutes that a whole CI may take on two cores. */
const PARTS = 15;

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
      env: { ...process.env, MILLRACE_SEED: String(seed), MILLRACE_HISTORIES: String(histories) },
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
