// The lines of each room of src/ beside the budget that CONTRIBUTING.md gives it. A number to look at: it fails nothing.
// Usage: node scripts/rooms.ts
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const linesOf = (pattern: string): number =>
  globSync(pattern, { cwd: root })
    .map((file) => readFileSync(join(root, file), 'utf8').split('\n').length - 1)
    .reduce((sum, lines) => sum + lines, 0);

const budgets = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8').matchAll(/^([a-z][a-z-]*) +(\d[\d,]*) {2}\S/gm);
const rooms = [...budgets].map(([, room = '', budget = '']) => ({
  room,
  budget: Number(budget.replaceAll(',', '')),
  lines: linesOf(`src/${room}/**/*.ts`),
}));
const total = {
  room: 'all',
  budget: rooms.reduce((sum, { budget }) => sum + budget, 0),
  lines: linesOf('src/**/*.ts'),
};

const shown = (number: number): string => number.toLocaleString('en').padStart(9);
console.log(`${'room'.padEnd(12)}${'lines'.padStart(9)}${'budget'.padStart(9)}`);
for (const { room, lines, budget } of [...rooms, total])
  console.log(
    `${room.padEnd(12)}${shown(lines)}${shown(budget)}${lines > budget ? `  over by ${lines - budget}` : ''}`,
  );
