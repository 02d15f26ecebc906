// npm run bench -- B1 B2: runs the benchmarks named (all without a name), each in a process of its own, prints their
// figures and writes them to bench/results/. `against COMMIT` before the names runs them beside another commit's; `--short`
// says only whether they end and are right. `peers` runs others beside Millrace.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import pMap from 'p-map';
import { against } from './against.ts';
import { b1 } from './b1-feed.ts';
import { b2 } from './b2-copy.ts';
import { b3 } from './b3-aggregates.ts';
import { b4 } from './b4-projections.ts';
import { b5 } from './b5-ranges.ts';
import { b6 } from './b6-keys.ts';
import { b7 } from './b7-kill.ts';
import { b8 } from './b8-memory.ts';
import { b9 } from './b9-latency.ts';
import { b10 } from './b10-budget.ts';
import { b11 } from './b11-poison.ts';
import { b12 } from './b12-rebuild.ts';
import { b15 } from './b15-emulator.ts';
import { b16 } from './b16-leases.ts';
import { b17 } from './b17-event-hubs.ts';
import { b18 } from './b18-lanes.ts';
import { b19 } from './b19-backfill.ts';
import { b20 } from './b20-fair-turns.ts';
import { b21 } from './b21-router.ts';
import { b22 } from './b22-shards.ts';
import { b24 } from './b24-tables.ts';
import { b25 } from './b25-signals.ts';
import { b26 } from './b26-moves.ts';
import { b27 } from './b27-dashboard.ts';
import { b32 } from './b32-archive-at-scale.ts';
import { b33 } from './b33-codecs.ts';
import { b28 } from './b28-sweep.ts';
import { b35 } from './b35-big-tenant.ts';
import { b37 } from './b37-propose.ts';
import { b41 } from './b41-large-model.ts';
import { b13 } from './b13-archive.ts';
import { b14 } from './b14-model.ts';
import { balancer } from './balancer/balancer.ts';
import { growth } from './growth/growth.ts';
import { processors } from './peers/alone.ts';
import { peers } from './peers/peers.ts';
import type { Benchmark, Figure } from './support/measure.ts';

const BENCHMARKS: readonly Benchmark[] = [
  b1,
  b2,
  b3,
  b4,
  b5,
  b6,
  b7,
  b8,
  b9,
  b10,
  b11,
  b12,
  b13,
  b14,
  b15,
  b16,
  b17,
  b18,
  b19,
  b20,
  b21,
  b22,
  b24,
  b25,
  b26,
  b27,
  b28,
  b32,
  b33,
  b35,
  b37,
  b41,
];
/** Those that print a table of their own; each says by --help what it takes. */
const TABLES: Readonly<Record<string, { readonly title: string; run(args: readonly string[]): Promise<void> }>> = {
  peers: { title: 'others beside Millrace: orders, kills, lost answers, a poison', run: peers },
  processors: { title: 'the change feed processor alone, ours and Java’s', run: processors },
  growth: { title: 'cost of a unit of work as one thing grows; draws docs/growth.svg', run: growth },
  balancer: { title: 'thousands of leases and a hundred hosts in virtual time', run: balancer },
};
const RESULTS = new URL('results/', import.meta.url);

const given = process.argv.slice(2);
const isShort = given.includes('--short');
const [first, commit, ...behind] = given.filter((one) => one !== '--short');
const beside = first === 'against' ? commit : undefined;
const table = TABLES[first ?? ''];
const others = beside === undefined ? [first, commit, ...behind].flatMap((one) => one ?? []) : behind;
const ids = new Set(table ? [] : others.map((id) => id.toUpperCase()));
const chosen = BENCHMARKS.filter(({ id }) => ids.size === 0 || ids.has(id));
if (chosen.length < ids.size) {
  const unknown = [...ids].filter((id) => !chosen.some((benchmark) => benchmark.id === id));
  console.error(`There is no benchmark ${unknown.join(', ')}. There are:`);
  for (const { id, title } of BENCHMARKS) console.error(`  ${id}  ${title}`);
  for (const [name, { title }] of Object.entries(TABLES)) console.error(`  ${name}  ${title}`);
  process.exit(2);
}
if (table) await table.run(process.argv.slice(3));
else if (beside !== undefined)
  against(
    beside,
    chosen.map(({ id }) => id),
  );
else if (process.send) {
  // It ends all that it has started: the storage account of tests would stay as long as its process, and that one with it.
  process.send(await chosen[0]?.run(), undefined, undefined, () => process.exit());
} else if (isShort) await pMap(chosen, inShort, { concurrency: 2 });
else for (const benchmark of chosen) await inFull(benchmark);

async function inFull({ id, title, lacks }: Benchmark): Promise<void> {
  console.log(`\n${id}  ${title}`);
  if (lacks !== undefined) throw new Error(`${id} needs ${lacks}`);
  const figures = await figuresOf(id);
  if (!figures) process.exit(1);
  for (const figure of figures) console.log(`  ${line(figure)}`);
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(
    new URL(`${id}.json`, RESULTS),
    `${JSON.stringify({ id, title, node: process.version, figures }, null, 2)}\n`,
  );
}

/** Little work, to see that the benchmark ends and that Millrace was right. How fast it was says nothing, so nothing is kept. */
async function inShort({ id, title, lacks }: Benchmark): Promise<void> {
  const since = performance.now();
  const figures = lacks === undefined ? await figuresOf(id) : [];
  const wrong = figures?.filter(({ right }) => right === false);
  if (!wrong || wrong.length > 0) process.exitCode = 1;
  const said = wrong ? wrong.map(line).join('; ') : 'it did not end';
  const how = lacks === undefined ? said || `${((performance.now() - since) / 1_000).toFixed(1)} s` : `needs ${lacks}`;
  console.log(`${id}  ${title}: ${how}`);
}

/** In a process of its own. Undefined: it failed, and has said why. */
async function figuresOf(id: string): Promise<readonly Figure[] | undefined> {
  const env = { ...process.env, ...(isShort && { MILLRACE_BENCH_SHORT: '1' }) };
  const child = fork(new URL(import.meta.url), [id], { execArgv: process.execArgv, env });
  const [figures] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [Figure[] | number];
  return Array.isArray(figures) ? figures : undefined;
}

function line({ name, value, unit, target, met }: Figure): string {
  const shown = Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en-US') : value.toFixed(2);
  const verdict = target === undefined ? '' : `  target ${target}${met ? '' : '  MISSED'}`;
  return `${name.padEnd(44)} ${shown.padStart(10)} ${unit}${verdict}`;
}
