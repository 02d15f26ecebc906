// npm run bench -- processors: the change feed processor alone, ours and Java's: speed, taking over, lease requests.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { CannotTry } from '../../scripts/clients/toolchains.ts';
import { median } from '../support/measure.ts';
import { type Stage, fill, openStage } from '../support/stage.ts';
import { things } from '../support/things.ts';
import { type Place, compileJava, started, startJava } from './participants.ts';

const MAIN = fileURLToPath(new URL('../run.ts', import.meta.url));
const RANGES = 4;
const ROUNDS = 3;
/** Requests on items that go to the lease container alone, and what each costs by the embedded server's measure. */
const PRICES: Readonly<Record<string, number>> = {
  read: 1,
  create: 5.5,
  upsert: 11,
  replace: 11,
  patch: 11,
  query: 3.1,
};

type Start = (place: Place, instance: string, wanted: number) => ChildProcess;

const SIDES: Readonly<Record<string, Start>> = {
  java: (place, instance, wanted) => startJava(place, 'Alone', [instance, String(wanted)]),
  millrace: (place, instance, wanted) => {
    const { endpoint, key } = place.stage;
    const main = fileURLToPath(new URL('alone-process.ts', import.meta.url));
    const args = ['--conditions=millrace-source', main, endpoint, key, instance, String(wanted)];
    return started(place, process.execPath, args);
  },
};

export async function processors(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      documents: { type: 'string', default: '100000' },
      seconds: { type: 'string', default: '60' },
      side: { type: 'string' },
    },
  });
  const start = SIDES[values.side ?? ''];
  if (process.send && start && values.side) {
    process.send(await row(values.side, start, Number(values.documents), Number(values.seconds)));
    process.disconnect();
    return;
  }
  console.log('| | changes/s | take over after SIGKILL | lease requests a minute at rest | lease RU a minute |');
  console.log('|---|---|---|---|---|');
  for (const side of Object.keys(SIDES)) {
    const child = fork(MAIN, ['processors', ...args, '--side', side], { execArgv: process.execArgv });
    const [line] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [string | number];
    if (typeof line !== 'string') throw new Error(`The run of ${side} ended with ${line}`);
    console.log(line);
  }
}

async function row(side: string, start: Start, documents: number, seconds: number): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-alone-'));
  try {
    await using stage = await openStage({ tls: true });
    writeFileSync(join(folder, 'ca.pem'), stage.certificate ?? '');
    const source = await stage.container('Orders', '/key', 6_000 * RANGES);
    await stage.container('leases', '/id');
    await fill(source, things(0, documents), ({ key }) => String(key));
    const place: Place = { stage, folder };
    if (side === 'java') await compileJava(folder, 'Alone');
    const one = start(place, 'one', documents);
    const took = await firstLine(one);
    const before = (await stage.usage()).stats.requests;
    await delay(seconds * 1_000);
    const after = (await stage.usage()).stats.requests;
    const counts = Object.keys(PRICES).map(
      (kind) => [kind, (((after[kind] ?? 0) - (before[kind] ?? 0)) * 60) / seconds] as const,
    );
    const charge = counts.reduce((sum, [kind, count]) => sum + count * (PRICES[kind] ?? 0), 0);
    const by = counts.filter(([, count]) => count > 0).map(([kind, count]) => `${kind} ${Math.round(count)}`);
    const takeOver = await takeOvers(stage, (instance) => start(place, instance, documents), one);
    const rate = Math.round((documents * 1_000) / took).toLocaleString('en-US');
    return `| ${side} | ${rate} | ${(takeOver / 1_000).toFixed(1)} s | ${by.join(', ')} | ${Math.round(charge)} |`;
  } catch (error) {
    if (error instanceof CannotTry) return `| ${side} | skipped: ${error.message} |`;
    throw error;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function firstLine({ stdout }: ChildProcess): Promise<number> {
  if (!stdout) throw new Error('It has no output');
  for await (const line of createInterface({ input: stdout })) return Number(line);
  throw new Error('It ended before it had read everything');
}

/** Two share the leases, one is killed: until each lease is the other's. */
async function takeOvers(stage: Stage, start: (instance: string) => ChildProcess, one: ChildProcess): Promise<number> {
  const { items } = stage.database.container('leases');
  const owners = async (): Promise<(string | null)[]> =>
    (await items.query<string | null>('SELECT VALUE c.Owner FROM c WHERE IS_DEFINED(c.Owner)').fetchAll()).resources;
  const until = async (right: (of: (string | null)[]) => boolean): Promise<void> => {
    while (!right(await owners())) await delay(20);
  };
  const times: number[] = [];
  let [staying, name] = [one, 'one'];
  for (let round = 0; round < ROUNDS; round++) {
    const other = `other-${round}`;
    const next = start(other);
    await until((of) => of.filter((owner) => owner === other).length === RANGES / 2);
    staying.kill('SIGKILL');
    const at = performance.now();
    await until((of) => of.filter((owner) => owner === other).length === RANGES && !of.includes(name));
    times.push(performance.now() - at);
    [staying, name] = [next, other];
  }
  staying.kill('SIGKILL');
  return median(times);
}
