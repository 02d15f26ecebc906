import { describe, expect, it } from 'vitest';
import { CALLS, counted, pulse, thrownAt, userPlace } from '../../src/base/user-code.ts';

const stack = (...frames: string[]): string => ['Error', ...frames.map((frame) => `    at ${frame}`)].join('\n');
const OWN = '/millrace/src/';
const place = (...frames: string[]): string | undefined => userPlace(stack(...frames), OWN).frame?.place;
const LOOK = 'Object.look (file:///millrace/src/host/watchdog.ts:50:3)';
const COUNTED = 'Object.map of orders@1 [as map] (file:///millrace/src/base/user-code.ts:30:19)';

describe('where a stack is in the code of the user', () => {
  it('a function of a projection is named with the line that it is in', () => {
    const at = 'Array.map (<anonymous>)';
    const user = 'helper (file:///app/pipeline/help.ts?millrace-import=3:7:5)';
    expect(userPlace(stack('<anonymous>:1:1', LOOK, user, at, COUNTED), OWN)).toEqual({
      call: 'map of orders@1',
      frame: expect.objectContaining({
        name: 'helper',
        place: expect.stringMatching(/app\/pipeline\/help\.ts:7:5$/) as string,
      }) as object,
    });
  });
  it('a package is named where no line of the user calls it below a function of a projection, and alone never', () => {
    const library = 'parse (/app/node_modules/csv/index.js:1:2)';
    const user = 'Object.map (/app/pipeline/pipeline.ts:7:5)';
    expect(place(LOOK, library, user, COUNTED)).toMatch(/pipeline\.ts:7:5$/);
    expect(place(LOOK, library, COUNTED)).toMatch(/csv\/index\.js:1:2$/);
    expect(place(LOOK, library)).toBeUndefined();
    expect(place(library, COUNTED, 'main (/app/main.ts:1:1)')).toMatch(/csv\/index\.js:1:2$/);
  });
  it('a file of the user that no projection calls is named', () => {
    expect(place(LOOK, 'async load (file:///app/workload.ts:3:9)')).toMatch(/workload\.ts:3:9$/);
  });
  it('Millrace’s own work is not the user’s', () => {
    const own = 'recompute (file:///millrace/src/pipeline/oracle/recompute.ts:3:9)';
    expect(place(LOOK, own, 'node:internal/timers:516:9')).toBeUndefined();
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

it('an error says where a declared function threw it, and nothing where none did', () => {
  const { map } = counted({ map: (doc: { at: string | null }) => doc.at!.length }, 'days@1');
  const thrown = (call: () => unknown): unknown => {
    try {
      return call();
    } catch (error) {
      return error;
    }
  };
  expect(thrownAt(thrown(() => map({ at: null })))).toMatch(/^ \(test\/base\/user-code\.unit\.test\.ts:\d+:\d+\)$/);
  expect(thrownAt(new Error('no'))).toBe('');
});
