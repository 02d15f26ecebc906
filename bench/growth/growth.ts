// npm run bench -- growth: what a unit of work costs as one thing grows and nothing else. It draws docs/growth.svg.
import { mkdirSync, readFileSync, writeFileSync, existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { openStage } from '../support/stage.ts';
import { type Point, allSeries } from './series.ts';
import { growthPicture } from './svg.ts';

const RESULTS = new URL('../results/', import.meta.url);
const STORED = new URL('growth.json', RESULTS);
const PICTURE = new URL('../../docs/growth.svg', import.meta.url);

export async function growth(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: { most: { type: 'string', default: '600000' }, only: { type: 'string' } },
  });
  // A series that isn't asked for is drawn as it was measured last.
  const stored = existsSync(STORED) ? (JSON.parse(readFileSync(STORED, 'utf8')) as Record<string, Point[]>) : {};
  const all = allSeries(Number(values.most));
  mkdirSync(RESULTS, { recursive: true });
  for (const { name, title, from, measure } of all) {
    if (values.only !== undefined && !values.only.split(',').includes(name)) continue;
    console.log(`\n${title}: n, processor ms, requests and RU of a unit`);
    const points: Point[] = [];
    await using stage = await openStage();
    await stage.container('millrace', '/pk');
    // The first compiles.
    await measure(stage, from[0] ?? 1);
    for (const n of from) {
      const point = await measure(stage, n);
      points.push(point);
      const { cpuMs, requests, charge } = point;
      console.log(`  ${String(n).padStart(7)} ${[cpuMs, requests, charge].map((each) => each.toFixed(3)).join(' ')}`);
    }
    stored[name] = points;
    writeFileSync(STORED, `${JSON.stringify(stored, null, 2)}\n`);
  }
  const drawn = all
    .map(({ name, title }) => ({ title, points: stored[name] ?? [] }))
    .filter(({ points }) => points.length > 0);
  writeFileSync(PICTURE, growthPicture(drawn));
}
