// The judge of `npm run soak` against logs whose verdict is known.
import { expect, it } from 'vitest';
import { judge } from '../../scripts/soak/judge.ts';
import type { SoakLine } from '../../scripts/soak/lines.ts';

const acquired = (at: number, tenure: string): SoakLine => ({ kind: 'acquired', at, tenure, lease: 'P..0' });
const delivered = (at: number, tenure: string, changes: [string, number][], range = ['', 'FF']): SoakLine => {
  const [min = '', max = ''] = range;
  return { kind: 'delivered', at, tenure, min, max, changes };
};
const OLD = [acquired(0, 'old'), delivered(1, 'old', [['a:0', 1]]), acquired(2, 'new')];
const ALL = new Map([['a', 3]]);

it('the judge of a soak counts what an old owner delivers after something newer of the same range by a later one', () => {
  const newer = delivered(3, 'new', [['a:1', 2]]);
  const late = judge([...OLD, newer, delivered(9, 'old', [['a:0', 1]]), delivered(10, 'new', [['a:2', 3]])], ALL, 1);
  expect(late).toMatchObject({ late: 1, lateTenures: 1, latestMs: 6, lost: [], outOfOrder: [], tenures: 2 });
});

it('the judge of a soak takes no offence at what is newer still, came before, or is of another range', () => {
  const fine = [
    delivered(3, 'new', [['a:1', 2]]),
    delivered(4, 'old', [['a:2', 3]]),
    delivered(5, 'new', [['a:0', 1]]),
  ];
  expect(judge([...OLD, ...fine], ALL, 1)).toMatchObject({ late: 0, lost: [], deliveries: 4, distinct: 3 });
  const elsewhere = [
    delivered(3, 'new', [['b:0', 7]], ['80', 'FF']),
    delivered(4, 'old', [['a:1', 2]], ['', '80']),
    delivered(5, 'old', [['a:2', 3]], ['', '80']),
  ];
  const [first, , last] = OLD;
  const half = delivered(1, 'old', [['a:0', 1]], ['', '80']);
  expect(judge([first!, half, last!, ...elsewhere], ALL, 1)).toMatchObject({ late: 0, lost: [] });
});

it('the judge of a soak names what was lost, and what came before its predecessors', () => {
  const verdict = judge([...OLD, delivered(3, 'new', [['a:2', 3]])], ALL, 1);
  expect(verdict).toMatchObject({ lost: ['a:1'], outOfOrder: ['a:2'] });
});
