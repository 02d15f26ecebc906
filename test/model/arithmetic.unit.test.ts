// Sums in prose as people write them: which of them are wrong.
import { expect, test } from 'vitest';
import { sums } from '../../src/model/rules/arithmetic.ts';

test.each([
  ['90 × 1 + 20 × 9 = 270 RU', true],
  ['90 × 1 + 20 × 9 => 270 RU', true],
  ['90 × 1 + 20 × 9 is 280 RU', false],
  ['90 + 211, together 301, 60 % of the load', true],
  ['90 + 211, together 311, 60 % of the load', false],
  ['2,592,000 s × 10 RU/s = 25,920,000 RU', true],
  ['2,592,000 s × 10 RU/s = 2,592,000 RU', false],
  ['5 % of 40 = 2', true],
  ['5 % of 40 = 4', false],
  ['2 of 5 stores = 7 copies', true],
  ['5 TB × $0.25/GB = $1280/month', true],
  ['500 GB × $0.25/GB = $125/month', true],
  ['500 GB × $0.25/GB = $1250/month', false],
  ['3000 RU/s × 0.008 × 730 hours = ~$175/month', false],
  ['3000 × 0.0584 = ~$180/month', true],
  ['~200-500 items per partition = 10-25 KB per partition', true],
  ['500-200 + 3 = 400', false],
])('%s: right is %s', (text, right) => {
  expect(sums(text).length === 0).toBe(right);
});
