import { describe, expect, it } from 'vitest';
import { CALLS, counted, pulse } from '../../src/base/user-code.ts';
import { stuckAt } from '../../src/host/watchdog.ts';

const stack = (...frames: string[]): string => ['Error', ...frames.map((frame) => `    at ${frame}`)].join('\n');
const OWN = '/millrace/src/';
const LOOK = 'Object.look (file:///millrace/src/host/watchdog.ts:50:3)';
const COUNTED = 'Object.map of orders@1 [as map] (file:///millrace/src/base/user-code.ts:30:19)';

describe('where a stack is in the code of the user', () => {
  it('a function of a projection is named with the line that it is in', () => {
    const at = 'Array.map (<anonymous>)';
    const user = 'helper (file:///app/pipeline/help.ts?millrace-import=3:7:5)';
    expect(stuckAt(stack('<anonymous>:1:1', LOOK, user, at, COUNTED), OWN)).toMatch(
      /^map of orders@1 \(\S*app\/pipeline\/help\.ts:7:5\)$/,
    );
  });
  it('code of a package counts as the user’s below a function of a projection, and alone as no one’s', () => {
    const library = 'parse (/app/node_modules/csv/index.js:1:2)';
    expect(stuckAt(stack(LOOK, library, COUNTED), OWN)).toMatch(/^map of orders@1 \(\S*csv\/index\.js:1:2\)$/);
    expect(stuckAt(stack(LOOK, library), OWN)).toBeUndefined();
  });
  it('a file of the user that no projection calls is named', () => {
    expect(stuckAt(stack(LOOK, 'async load (file:///app/workload.ts:3:9)'), OWN)).toMatch(
      /^load \(\S*workload\.ts:3:9\)$/,
    );
  });
  it('Millrace’s own work is not the user’s', () => {
    const own = 'recompute (file:///millrace/src/pipeline/oracle/recompute.ts:3:9)';
    expect(stuckAt(stack(LOOK, own, 'node:internal/timers:516:9'), OWN)).toBeUndefined();
  });
});

it('a counted declaration is the same one, and each call of its functions counts', () => {
  const of = { name: 'days', joins: [{ on: 1 }], where: (n: number) => n > 0, measures: { sum: { of: () => 7 } } };
  const spec = counted(of, 'days@1');
  expect(JSON.stringify(spec)).toBe(JSON.stringify(of));
  expect([spec.where.name, spec.measures.sum.of.name]).toEqual(['where of days@1', 'measures.sum.of of days@1']);
  const before = pulse[CALLS] ?? 0;
  expect([spec.where(1), spec.measures.sum.of()]).toEqual([true, 7]);
  expect(pulse[CALLS]).toBe(before + 2);
});
