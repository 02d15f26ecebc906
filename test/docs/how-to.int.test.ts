// The commands of docs/how-to run in their order against the embedded server, and print what the page shows.
// MILLRACE_PACKED names the folder of an installed package: then its command line runs, in processes of its own.
// `MILLRACE_WRITE_DOCS=1 npx vitest run test/docs/how-to.int.test.ts` writes what they print into the pages.
import { execFile } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { type CliResult, cli } from '../cli/cli.ts';
import { SteppingClock } from '../verbs/leases/lease-world.ts';
import { type HowToWorld, WORLDS } from './how-to-worlds.ts';

const FOLDER = join(import.meta.dirname, '../../docs/how-to');
const PAGES = globSync('*.md', { cwd: FOLDER, exclude: ['README.md'] }).toSorted();
const PACKED = process.env['MILLRACE_PACKED'];
const WRITE = process.env['MILLRACE_WRITE_DOCS'] === '1';

/** A block of commands with their output, or a remark `<!-- then: … -->` about what happens before the next. */
const STEP = /<!-- then: (.*) -->|^```console\n([\s\S]*?)^```$/gm;

afterEach(() => {
  vi.unstubAllEnvs();
});

/** Pages with a block that isn't run, and why. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'move-a-tenant.md': 'the way back is the same command with the other shard, and takes another ten seconds',
  'query-the-archive.md': 'query-the-archive.int runs its SQL',
};

test('every page has a world, and its blocks are run, or listed with the reason', () => {
  expect(PAGES).toEqual(Object.keys(WORLDS).toSorted());
  // Fences in pairs: only the first of each has a language.
  const fences = (page: string) => [...readFileSync(join(FOLDER, page), 'utf8').matchAll(/^```(\w*)$/gm)];
  const others = PAGES.filter((page) =>
    fences(page).some(([, language = ''], n) => n % 2 === 0 && language !== 'console'),
  );
  expect(others).toEqual(Object.keys(NOT_RUN));
});

test.each(PAGES)('%s prints what it shows', async (page) => {
  const path = join(FOLDER, page);
  const text = readFileSync(path, 'utf8');
  const directory = mkdtempSync(join(tmpdir(), 'millrace-how-to-'));
  await using world = await WORLDS[page]!();
  const shown: string[] = [];
  const printed: string[] = [];
  let written = '';
  let at = 0;
  try {
    for (const step of text.matchAll(STEP)) {
      const [whole, then, block] = step;
      if (then !== undefined) await happen(world, then);
      const now = block === undefined ? whole : `\`\`\`console\n${await play(block, world, directory)}\`\`\``;
      shown.push(...plain(whole));
      printed.push(...plain(now));
      written += text.slice(at, step.index) + now;
      at = step.index + whole.length;
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
  if (WRITE) writeFileSync(path, written + text.slice(at));
  expect(WRITE ? printed : shown).toEqual(printed);
});

async function happen(world: HowToWorld, then: string): Promise<void> {
  const known = world.events[then];
  if (!known) throw new Error(`The world has no "${then}"`);
  await known();
}

/** Runs the commands of a block; what they print, each below its command. */
async function play(block: string, world: HowToWorld, directory: string): Promise<string> {
  let shown = '';
  for (const [, line = ''] of block.matchAll(/^\$ millrace (.*)$/gm)) {
    const more = Object.entries(world.more ?? {}).flatMap(([begin, words]) =>
      line.startsWith(begin) && !line.includes('--dry-run') ? words : [],
    );
    const clock = world.clock ?? new SteppingClock();
    const args = [...wordsOf(line, world), ...more];
    const { stdout, stderr } = await (PACKED === undefined ? cli(args, { directory, clock }) : packed(args, directory));
    shown += `$ millrace ${line}\n${named(stdout + stderr, world, directory)}`;
  }
  return shown;
}

/** What the installed command line prints, with any exit code. */
const packed = (args: readonly string[], cwd: string): Promise<Pick<CliResult, 'stdout' | 'stderr'>> =>
  new Promise((resolve) => {
    execFile(process.execPath, [join(PACKED ?? '', 'bin/millrace.mjs'), ...args], { cwd }, (_, stdout, stderr) =>
      resolve({ stdout, stderr }),
    );
  });

/** A shell's words: quotes hold one together, and a name with `$` is a value of the world. */
const wordsOf = (line: string, { values }: HowToWorld): string[] =>
  [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, double, single, bare]) =>
    (double ?? single ?? bare ?? '').replaceAll(/\$(\w+)/g, (_, name: string) => values[name] ?? ''),
  );

/** Output as a reader may have it: without what is so on this machine alone. */
function named(output: string, { values }: HowToWorld, directory: string): string {
  let text = output.replaceAll(`${directory}/`, '');
  for (const [name, value] of Object.entries(values)) text = text.replaceAll(value, `$${name}`);
  return text
    .replaceAll(/\([^\s()]*\/fixtures\/\w+\/(?=pipeline)/g, '(pipeline/')
    .replaceAll(/127\.0\.0\.1(:\d+)?/g, 'shop.documents.azure.com')
    .replaceAll(PROGRESS, '')
    .replaceAll(/[ \t]+$/gm, '');
}

/** How far a command is: as many lines as its time allows. */
const PROGRESS = /^(.*: [\d,]+( of [\d,]+ \(\d+ %\))?|[a-z]+( [a-z]+)*|waits \d.*| {2}It took \d+ tries.*)\n/gm;

/** Without figures, times, ids and the width of columns, which differ from run to run. */
const plain = (text: string): string[] =>
  text
    .replaceAll(/\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\b[0-9a-f]{32,}\b|\b[0-9a-f]{8}\b/g, 'ID')
    .replaceAll(/[A-Za-z0-9+/-]{6,}={1,2}/g, 'RID')
    .replaceAll(/-?\d[\d,.:TZ/-]*/g, '0')
    .replaceAll(/[ \t]+/g, ' ')
    .split('\n');
