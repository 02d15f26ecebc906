// npm run bench -- against COMMIT [B1 B2 …]: the benchmarks of another commit and of this one, in alternating pairs. The
// other commit is checked out and installed in a folder of its own, which a second call finds again.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Figure, median } from './support/measure.ts';

const HERE = join(import.meta.dirname, '..');
const PAIRS = Number(process.env['MILLRACE_PAIRS'] ?? 7);

/** Prints each figure's median of both sides and new ÷ old. The side that begins changes with each pair. */
export function against(commit: string, ids: readonly string[]): void {
  const hash = git('rev-parse', '--verify', `${commit}^{commit}`);
  const other = join(tmpdir(), `millrace-bench-${hash.slice(0, 12)}`);
  if (!existsSync(join(other, 'node_modules', '.package-lock.json'))) {
    console.log(`Checking out ${hash.slice(0, 8)} and installing it.`);
    git('worktree', 'prune');
    if (!existsSync(other)) git('worktree', 'add', '--detach', other, hash);
    execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: other, stdio: ['ignore', 'ignore', 'inherit'] });
  }
  for (const id of ids) {
    const sides = { old: [] as Figure[][], new: [] as Figure[][] };
    for (let pair = 0; pair < PAIRS; pair++) {
      for (const side of pair % 2 === 0 ? (['old', 'new'] as const) : (['new', 'old'] as const))
        sides[side].push(measured(side === 'old' ? other : HERE, id));
      process.stderr.write(`${id}: pair ${pair + 1} of ${PAIRS}\n`);
    }
    console.log(`\n${id}  medians of ${PAIRS} pairs: ${hash.slice(0, 8)}, this tree, this ÷ ${hash.slice(0, 8)}`);
    for (const { name, unit } of sides.new[0] ?? []) {
      const [before, now] = [sides.old, sides.new].map((runs) =>
        median(runs.flatMap((run) => run.filter((figure) => figure.name === name).map(({ value }) => value))),
      ) as [number, number];
      const ratio = Number.isNaN(before) ? 'new' : (now / before).toFixed(2);
      console.log(`  ${name.padEnd(60)} ${shown(before)} ${shown(now)} ${unit.padEnd(12)} ${ratio}`);
    }
  }
}

/** A run ends with 1 where a figure misses its target, and has written its figures all the same. */
function measured(root: string, id: string): Figure[] {
  execFileSync(process.execPath, ['--conditions=millrace-source', 'bench/run.ts', id], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const { figures } = JSON.parse(readFileSync(join(root, 'bench', 'results', `${id}.json`), 'utf8')) as {
    figures: Figure[];
  };
  return figures;
}

const git = (...parts: string[]): string => execFileSync('git', parts, { cwd: HERE, encoding: 'utf8' }).trim();

const shown = (value: number): string =>
  (Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en-US') : value.toFixed(2)).padStart(12);
