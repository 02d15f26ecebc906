// Cases of figures that the documents state twice (A28 to A31).
import type { Case, Edit } from './base.ts';

const LOAD: Edit = [
  '- **Throughput Planning**: autoscale max 10,000 RU/s',
  '- **Throughput Planning**: autoscale max 10,000 RU/s (orders 25 × 20 RU = 500; change feed 25 × 0.03 RU, under 1; spread over minutes: 40; together 540, 5 %)',
];

export const FIGURE_CASES: readonly Case[] = [
  {
    rule: 'B20',
    given: [LOAD],
    wrong: [['together 540, 5 %', 'together 450, 5 %']],
    at: 'together 450',
    severity: 'warning',
    says: 'The parts add up to 541, but the text says together 450',
  },
  {
    rule: 'B20',
    given: [LOAD],
    wrong: [['together 540, 5 %', 'together 540, 54 %']],
    at: 'together 540',
    says: '540 of 10,000 RU/s are 5.4 %, not 54 %',
  },
  {
    // A part that can't be read: nothing is added up.
    rule: 'B20',
    given: [LOAD, ['spread over minutes: 40;', 'renames now and then;']],
    wrong: [
      ['renames now and then;', 'renames: 2;'],
      ['together 540', 'together 700'],
    ],
    at: 'together 700',
  },
  {
    // A result that goes on is no part that can be added up.
    rule: 'B20',
    given: [LOAD, ['orders 25 × 20 RU = 500;', 'orders 40 × 10 RU = 400 + 100 = 500;']],
    wrong: [['= 400 + 100 = 500;', '= 400;']],
    at: 'together 540',
    says: 'The parts add up to 441',
  },
  {
    // A number with a scale isn't read, and half of a part isn't a second part.
    rule: 'B20',
    given: [
      LOAD,
      ['= 500; change', '= 0.5k; change'],
      ['minutes: 40;', 'minutes 4 × 10 = 1,040 half of it at night = 20;'],
    ],
    wrong: [
      ['= 0.5k; change', '= 500; change'],
      ['= 1,040 half of it at night = 20;', '= 60;'],
    ],
    at: 'together 540',
    says: 'The parts add up to 561',
  },
];
