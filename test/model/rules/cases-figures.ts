// Cases of figures that the documents state twice (A28 to A31).
import type { Case, Edit } from './base.ts';

const LOAD: Edit = [
  '- **Throughput Planning**: autoscale max 10,000 RU/s',
  '- **Throughput Planning**: autoscale max 10,000 RU/s (orders 25 × 20 RU = 500; change feed 25 × 0.03 RU, under 1; spread over minutes: 40; together 540, 5 %)',
];
const SCALE: Edit = ['- **Scale**: 110 reads/s', '- **Scale**: 86,400 orders a day (1/s on average); 110 reads/s'];
const LINES: Edit = ['avg 10, max 40)', 'avg 10, max 40)\n- **Order → Lines**: 1:Many (avg 2, max 100)'];
const ROWS: Edit = [
  '`SELECT * FROM c WHERE c.customerId = @c` | 3 RU',
  '`SELECT * FROM c WHERE c.customerId = @c` | at most 40 rows, 3 RU',
];
const SUMMARIES: Edit = ['avg 10, max 40)', 'avg 10, max 40)\n- **Customer → Summaries**: 1:Many (avg 10, max 40)'];
const DELAYED: Edit = [
  'orders = count; cents = sum(cents)',
  'orders = count; large = sum(cents > 500); cents = sum(cents)',
];
const SAID: Edit = [
  '- **Purpose**: totals of a day; derived',
  '- **Purpose**: totals of a day; derived. An order above 500 cents counts as large',
];

export const FIGURE_CASES: readonly Case[] = [
  {
    rule: 'A8',
    given: [
      ['100 GB of orders', '100 GB in all; 50,000 orders a day, 1 KB each'],
      ['- **Size Constraints**: an order has 1 KB', '- **Size Constraints**: an order 1 KB, a page 9 KB'],
    ],
    wrong: [['1 KB each', '10 KB each']],
    at: '10 KB each',
    severity: 'warning',
    says: 'One order has 10 KB here, and 1 KB in line',
  },
  {
    rule: 'A28',
    given: [LOAD],
    wrong: [['together 540, 5 %', 'together 450, 5 %']],
    at: 'together 450',
    severity: 'warning',
    says: 'The parts add up to 541, but the text says together 450',
  },
  {
    rule: 'A28',
    given: [LOAD],
    wrong: [['together 540, 5 %', 'together 540, 54 %']],
    at: 'together 540',
    says: '540 of 10,000 RU/s are 5.4 %, not 54 %',
  },
  {
    // A part that can't be read: nothing is added up.
    rule: 'A28',
    given: [LOAD, ['spread over minutes: 40;', 'renames now and then;']],
    wrong: [
      ['renames now and then;', 'renames: 2;'],
      ['together 540', 'together 700'],
    ],
    at: 'together 700',
  },
  {
    // A result that goes on is no part that can be added up.
    rule: 'A28',
    given: [LOAD, ['orders 25 × 20 RU = 500;', 'orders 40 × 10 RU = 400 + 100 = 500;']],
    wrong: [['= 400 + 100 = 500;', '= 400;']],
    at: 'together 540',
    says: 'The parts add up to 441',
  },
  {
    // A number with a scale isn't read, and half of a part isn't a second part.
    rule: 'A28',
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
  {
    rule: 'A29',
    given: [LINES],
    wrong: [['avg 2, max 100)', 'avg 2, max 20,000)']],
    at: 'Order → Lines',
    severity: 'warning',
    says: 'Order → Lines has at most 20,000, but its sizes are calculated with 100',
  },
  {
    rule: 'A29',
    given: [ROWS, SUMMARIES],
    wrong: [['Summaries**: 1:Many (avg 10, max 40)', 'Summaries**: 1:Many (avg 10, max 400)']],
    at: 'Customer → Summaries',
    says: 'has at most 400, but row 2 lists at most 40',
  },
  {
    // Of a relationship with two roles either may be meant.
    rule: 'A29',
    given: [LINES, ['avg 2, max 100)', 'avg 2, max 900)\n- **Order → Lines as returned**: 1:Many (avg 1, max 100)']],
    wrong: [['avg 1, max 100)', 'avg 1, max 90)']],
    at: 'Order → Lines',
  },
  {
    // A page isn't all of them.
    rule: 'A29',
    given: [ROWS, SUMMARIES, ['at most 40 rows, 3 RU', 'first 20, 3 RU']],
    wrong: [['first 20, 3 RU', 'at most 20 rows, 3 RU']],
    at: 'Customer → Summaries',
  },
  {
    // Nor if the notes speak of pages.
    rule: 'A29',
    given: [ROWS, SUMMARIES, ['at most 40 rows, 3 RU', 'at most 20 rows a page, 3 RU']],
    wrong: [['at most 20 rows a page', 'at most 20 rows']],
    at: 'Customer → Summaries',
  },
  {
    // A size isn't a number of lines.
    rule: 'A29',
    given: [LINES, ['max 100 lines × 0.2 KB', 'max 2 KB × 100 lines']],
    wrong: [['max 2 KB × 100 lines', 'max 2 lines × 100 KB']],
    at: 'Order → Lines',
    says: 'calculated with 2',
  },
  {
    rule: 'A30',
    given: [SCALE],
    wrong: [['86,400 orders a day', '864,000 orders a day']],
    at: '864,000 orders a day',
    severity: 'warning',
    says: 'that many a day are 10/s on average',
  },
  {
    // A peak is above the average.
    rule: 'A30',
    given: [SCALE, ['(1/s on average)', '(20/s)']],
    wrong: [['(20/s)', '(0.2/s)']],
    at: '86,400 orders a day',
  },
  {
    // The average of the open hours is above that of the day.
    rule: 'A30',
    given: [SCALE, ['(1/s on average)', '(2/s on average) over 12 hours']],
    wrong: [[' over 12 hours', ' over the year']],
    at: '86,400 orders a day',
  },
  {
    rule: 'A31',
    given: [DELAYED, SAID],
    wrong: [['An order above 500 cents', 'An order above 5,000 cents']],
    at: 'counts as large',
    severity: 'warning',
    says: 'The text says 5,000, but large counts by 500',
  },
  {
    // A number of something else, or of another clause, isn't the limit.
    rule: 'A31',
    given: [DELAYED, [SAID[0], `${SAID[1]}, and from 3 lines on it is sent apart. An order above 9 lines is large`]],
    wrong: [['An order above 9 lines', 'An order above 9 cents']],
    at: 'is large',
    says: 'The text says 9, but large counts by 500',
  },
];
