// npm run bench -- B1 B2: runs the benchmarks named (all without a name), each in a process of its own, prints their
// figures and writes them to bench/results/.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
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
const RESULTS = new URL('results/', import.meta.url);

const named = process.argv.slice(2);
const unknown = named.filter((id) => !BENCHMARKS.some((benchmark) => benchmark.id === id.toUpperCase()));
if (unknown.length > 0 || named.includes('--help')) {
  console.error(`There is no benchmark ${unknown.join(', ')}. There are:`);
  for (const { id, title } of BENCHMARKS) console.error(`  ${id}  ${title}`);
  process.exit(2);
}
const [only] = named;
if (named.length === 1 && process.send && only) {
  const benchmark = BENCHMARKS.find(({ id }) => id === only.toUpperCase());
  process.send(await benchmark?.run());
  process.disconnect();
} else {
  for (const { id, title } of BENCHMARKS.filter(
    (benchmark) => named.length === 0 || named.some((name) => name.toUpperCase() === benchmark.id),
  )) {
    console.log(`\n${id}  ${title}`);
    const child = fork(new URL(import.meta.url), [id], { execArgv: process.execArgv });
    const [figures] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [Figure[] | number];
    if (!Array.isArray(figures)) process.exit(1);
    for (const figure of figures) console.log(`  ${line(figure)}`);
    mkdirSync(RESULTS, { recursive: true });
    writeFileSync(
      new URL(`${id}.json`, RESULTS),
      `${JSON.stringify({ id, title, node: process.version, figures }, null, 2)}\n`,
    );
  }
}

function line({ name, value, unit, target, met }: Figure): string {
  const shown = Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en-US') : value.toFixed(2);
  const verdict = target === undefined ? '' : `  target ${target}${met ? '' : '  MISSED'}`;
  return `${name.padEnd(44)} ${shown.padStart(10)} ${unit}${verdict}`;
}
