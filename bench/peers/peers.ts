// npm run bench -- peers: the same orders and faults for code as people write it, Java's processor and Millrace.
import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { CannotTry } from '../../scripts/clients/toolchains.ts';
import { openStage } from '../support/stage.ts';
import { type Adverse, type Calm, adverse, calm } from './measure.ts';
import { PARTICIPANTS, type Participant, type Place } from './participants.ts';

const MAIN = fileURLToPath(new URL('../run.ts', import.meta.url));
const RESULTS = new URL('../results/', import.meta.url);
/** Four physical partitions of the orders. */
const ORDERS_RU = 24_000;

interface Report {
  readonly name: string;
  readonly skipped?: string;
  readonly calm?: Calm;
  readonly adverse?: Adverse;
}

export async function peers(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      orders: { type: 'string', default: '10000' },
      kills: { type: 'string', default: '30' },
      rate: { type: 'string', default: '200' },
      only: { type: 'string' },
    },
  });
  const [orders, kills, rate] = [Number(values.orders), Number(values.kills), Number(values.rate)];
  const chosen = PARTICIPANTS.filter(({ name }) => values.only === undefined || values.only.split(',').includes(name));
  const [alone] = chosen;
  if (process.send && alone) {
    process.send(await tried(alone, { orders, kills, rate }));
    process.disconnect();
    return;
  }
  const reports: Report[] = [];
  for (const { name } of chosen) {
    // In a process of its own: a process can trust the certificate of one server alone.
    const child = fork(MAIN, ['peers', ...args, '--only', name], {
      execArgv: process.execArgv,
      serialization: 'advanced',
    });
    const [report] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [Report | number];
    if (typeof report !== 'object') throw new Error(`The run of ${name} ended with ${report}`);
    reports.push(report);
    console.error(row(report));
  }
  const commit = execFileSync('git', ['rev-parse', '--short=8', 'HEAD'], { encoding: 'utf8' }).trim();
  const where = `${cpus().length} cores, Node ${process.version}, commit ${commit}; ${orders} orders, ${kills} kills`;
  console.log([where, '', ...HEAD, ...reports.map(row)].join('\n'));
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(new URL('peers.json', RESULTS), `${JSON.stringify({ where, reports }, null, 2)}\n`);
}

/** A server of its own for each, so that one can't slow the next, and its request units are the participant's. */
async function tried(participant: Participant, size: Parameters<typeof adverse>[2]): Promise<Report> {
  const { name } = participant;
  const folder = mkdtempSync(join(tmpdir(), 'millrace-peers-'));
  try {
    await using stage = await openStage({ tls: true });
    writeFileSync(join(folder, 'ca.pem'), stage.certificate ?? '');
    await stage.container('Orders', '/storeId', ORDERS_RU);
    await stage.container('Summaries', '/customerId');
    await stage.container('Totals', '/storeId');
    await stage.container('leases', '/id');
    const place: Place = { stage, folder };
    await participant.prepare?.(place);
    const undisturbed = await calm(participant, place, size.orders);
    return { name, calm: undisturbed, adverse: await adverse(participant, place, size) };
  } catch (error) {
    if (error instanceof CannotTry) return { name, skipped: error.message };
    throw error;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const HEAD = [
  '| | changes/s | requests, RU a change | p99 write → view | wrong rows undisturbed: copies, totals | wrong rows afterwards: copies, totals | stuck | lines |',
  '|---|---|---|---|---|---|---|---|',
];

function row({ name, skipped, calm: one, adverse: other }: Report): string {
  const { title = name, lines = () => 0 } = PARTICIPANTS.find((participant) => participant.name === name) ?? {};
  if (!one || !other) return `| ${title} | skipped: ${skipped} |`;
  const p99 = Number.isFinite(other.p99Ms) ? `${(other.p99Ms / 1_000).toFixed(1)} s` : `${other.never} never came`;
  const cells = [
    title,
    Math.round(one.changesPerSecond).toLocaleString('en-US'),
    `${one.requestsPerChange.toFixed(2)}, ${one.chargePerChange.toFixed(1)}`,
    p99,
    `${one.wrong.summaries}, ${one.wrong.totals} of ${one.wrong.owed}`,
    `${other.wrong.summaries}, ${other.wrong.totals} of ${other.wrong.owed}`,
    other.stuck > 0 ? `yes: ${other.stuck} of the 20 written last` : 'no',
    String(lines()),
  ];
  return `| ${cells.join(' | ')} |`;
}
