// Checks upgrades of Millrace and the way back: hosts of two packed versions work on one account, and some are killed, while
// an application writes. Afterwards separate code and both versions recompute and compare every document.
// Usage: npm run check:upgrade -- --help. Exit code 1 if a document is missing, duplicated or wrong.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Dice } from '../src/testing/dice.ts';
import { type Installed, install } from './upgrade/packages.ts';
import { raised } from './upgrade/raised.ts';
import { type Outcome, rolling } from './upgrade/rolling.ts';
import { openStage } from './upgrade/stage.ts';

const HELP = `npm run check:upgrade -- [--minutes 1] [--from REF] [--raise KIND] [--seed N] [--json]

Packs two versions of Millrace, installs both, and runs hosts of both on one account: the previous version (--from, a commit;
default: the newest tag, else HEAD) and the next one (the working tree). The check upgrades the hosts one by one, lets both
versions work together, rolls back, and kills hosts all the time. Each version handles dead letters, archived documents, jobs
and leases of the other.

With --raise the previous version is the working tree, and the next one writes a kind of document (src/base/format.ts) one
format higher. After a rollback, hosts of the previous version must wait and report it. After their upgrade nothing may be lost.

  npm run check:upgrade -- --minutes 10
  npm run check:upgrade -- --raise locator

Exit code 1: a document is missing, duplicated or wrong. 2: wrong usage.`;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    from: { type: 'string' },
    raise: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 1e6) },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
if (values.help) console.log(HELP);
else if (minutes > 0 && Number.isSafeInteger(seed)) await check();
else {
  console.error('--minutes takes a number above 0, and --seed a whole number.');
  process.exitCode = 2;
}

async function check(): Promise<void> {
  const place = mkdtempSync(join(tmpdir(), 'millrace-upgrade-'));
  try {
    const [previous, next] = versions(place);
    say(`${previous.version} and ${next.version}, ${minutes} min, seed ${seed}`);
    await using stage = await openStage(place, previous, seed);
    const dice = new Dice(seed);
    const ms = minutes * 60_000;
    const outcome =
      values.raise === undefined
        ? await rolling({ stage, previous, next, ms, dice, say })
        : await raised({ stage, previous, next, ms, dice, say }, values.raise);
    report(outcome);
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

function versions(place: string): [Installed, Installed] {
  const { raise } = values;
  if (raise !== undefined) return [install({ name: 'previous' }, place), install({ name: 'next', raise }, place)];
  const ref = values.from ?? newestTag();
  return [install({ name: 'previous', ref }, place), install({ name: 'next' }, place)];
}

function report({ counts, wrong }: Outcome): void {
  if (values.json) console.log(JSON.stringify({ minutes, seed, counts, wrong }));
  else {
    for (const [what, count] of Object.entries(counts))
      console.log(`${count.toLocaleString('en-US').padStart(9)}  ${what}`);
    for (const line of wrong.slice(0, 30)) console.log(line);
    console.log(wrong.length === 0 ? 'Nothing is lost, and nothing counts twice.' : `${wrong.length} findings.`);
  }
  process.exitCode = wrong.length === 0 ? 0 : 1;
}

function newestTag(): string {
  const { stdout, status } = spawnSync('git', ['describe', '--tags', '--abbrev=0'], { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : 'HEAD';
}

/** Prints progress on standard error, because standard output has only the result. */
function say(line: string): void {
  console.error(`${Math.round(performance.now() / 1_000)} s: ${line}`);
}
