// The long run of moves between shards: stores move there and back in use, while their movers and the hosts of all shards
// are killed (test/procedures/move/world). Usage: npm run soak:moves -- [--moves 200] [--kills 30]. Exit code 1 where
// something is wrong.
import { parseArgs } from 'node:util';
import { PAUSE_PARTS } from '../src/procedures/move/switch/pause.ts';
import { STEPS, type Step } from '../test/procedures/move/protocol/mover.ts';
import { type WorldReport, faultsOf, runWorld } from '../test/procedures/move/run.ts';

const HELP = `npm run soak:moves -- [options]

Stores move between two shards, there and back, while an application writes their orders, and hosts of all shards derive
totals of all stores and a copy of all orders, and run a reaction. Movers and hosts are killed by SIGKILL at random.
Judged by the acknowledged writes of the application alone.

  --moves N      moves in all; default: 200
  --kills N      kills of movers, and so many of hosts; default: 30
  --rate N       writes a second; default: 500
  --stores N     stores that move at the same time; default: 4
  --documents N  documents of a store; default: 120
  --batch N      orders that a request writes; default: 5
  --minutes N    no move begins after so many; default: 10
  --seed N       default: of the clock

  npm run soak:moves -- --moves 10 --kills 3

Exit code 1: something is wrong. 2: wrong usage.`;

const MOST_SHOWN = 5;
const MOST_PAUSE_MS = 1_000;

const number = { type: 'string' } as const;
const { values } = parseArgs({
  options: {
    moves: { ...number, default: '200' },
    kills: { ...number, default: '30' },
    rate: { ...number, default: '500' },
    stores: { ...number, default: '4' },
    documents: { ...number, default: '120' },
    batch: { ...number, default: '5' },
    minutes: { ...number, default: '10' },
    seed: { ...number, default: String(Date.now() % 1e6) },
    help: { type: 'boolean', default: false },
  },
});
const { help, ...texts } = values;
const given = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, Number(text)])) as {
  readonly [name in keyof typeof texts]: number;
};
if (help) console.log(HELP);
else if (Object.entries(given).every(([name, n]) => Number.isSafeInteger(n) && (n > 0 || name === 'kills')))
  await run();
else {
  console.error('Each option takes a whole number above 0; --kills may be 0.');
  process.exitCode = 2;
}

async function run(): Promise<void> {
  const progress = (line: string): void => {
    if (process.stderr.isTTY) process.stderr.write(`\r\u001B[2K${line}`);
    else console.error(line);
  };
  const report = await runWorld({ ...given, progress });
  if (process.stderr.isTTY) process.stderr.write('\n');
  print(report);
  const faults = faultsOf(report);
  for (const fault of faults.slice(0, 50)) console.error(fault.slice(0, 500));
  process.exitCode = faults.length === 0 ? 0 : 1;
  // A host that stands still keeps no report waiting.
  process.exit();
}

function print(of: WorldReport): void {
  const ms = of.pauses.map((pause) => pause.ms).toSorted((a, b) => a - b);
  const at = (share: number): number => ms[Math.min(ms.length - 1, Math.floor(ms.length * share))] ?? 0;
  const killed = Object.values(of.killedIn).reduce((sum, count) => sum + count, 0);
  const longest = of.pauses.toSorted((a, b) => b.ms - a.ms).slice(0, MOST_SHOWN);
  const parts = (share: (part: (typeof PAUSE_PARTS)[number]) => number): string =>
    PAUSE_PARTS.map((part) => `${part} ${share(part)}`).join(', ');
  const medianOf = (part: (typeof PAUSE_PARTS)[number]): number =>
    of.pauses.map((pause) => pause.parts[part]).toSorted((a, b) => a - b)[of.pauses.length >> 1] ?? 0;
  const medianStep = (step: Step): number =>
    Math.round(of.took.map((one) => one[step] ?? 0).toSorted((a, b) => a - b)[of.took.length >> 1] ?? 0);
  const lines = [
    ['seed', `${given.seed}, ${of.seconds} s`],
    ['moves', `${of.moves} of ${given.moves}; ${given.stores} stores at a time, ${given.documents} documents each`],
    [
      'movers killed',
      `${killed} of ${given.kills} (${Object.entries(of.killedIn)
        .map(([step, n]) => `${n} in ${step}`)
        .join(', ')}); ${of.leftOffline} left keys offline`,
    ],
    ['hosts killed', `${of.hostsKilled}`],
    ['writes', `${of.writes}, ${of.perSecond} a second of ${given.rate}, ${given.batch} a request`],
    ['refused', JSON.stringify(of.refused)],
    [
      'pauses',
      `min ${at(0)}, median ${at(0.5)}, 95% ${at(0.95)}, max ${at(1)} ms; ${ms.filter((one) => one >= MOST_PAUSE_MS).length} of ${ms.length} of ${MOST_PAUSE_MS} ms or more`,
    ],
    ['parts', `median ms: ${parts(medianOf)}`],
    ...longest.map((pause) => ['', `${pause.ms} ms in ${pause.tries} tries: ${parts((part) => pause.parts[part])}`]),
    ['steps', `median ms: ${STEPS.map((step) => `${step} ${medianStep(step)}`).join(', ')}`],
    ['waits', `a write to a store that moves ${of.waitedMs} ms at most, to the one that stays ${of.stayedMs} ms`],
    ['errors', of.errors.length === 0 ? 'none' : of.errors.slice(0, MOST_SHOWN).join('; ')],
    ['lost', `${of.lost.length}`],
    ['on both sides', `${of.onBothSides.length}`],
    ['late writes', `${of.named} named`],
    ['effects', `${of.effectsTwice.length} twice, ${of.effectsMissing.length} missing`],
    ['derived', of.derivedWrong.length === 0 ? 'right in the end' : 'WRONG in the end'],
    ['looks', `${of.looks} at totals and copies, ${of.looksWrong.length} wrong`],
    ['reads', `${of.reads} of own writes, ${of.readsWrong.length} wrong`],
  ];
  for (const [name = '', text = ''] of lines) console.log(`${name.padEnd(14)} ${text}`);
}
