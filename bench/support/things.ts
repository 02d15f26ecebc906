import { Random } from '../../test/support/random.ts';

const WORDS = ['red', 'blue', 'green', 'large', 'small', 'cotton', 'steel', 'shirt', 'table', 'lamp', 'left', 'right'];
const KEYS = 200;

/** Documents of about a kilobyte with what orders have: ids, amounts, names and some words; the same for a number each time. */
export const things = (from: number, count: number): Record<string, unknown>[] =>
  Array.from({ length: count }, (_, index) => {
    const n = from + index;
    const random = new Random(n);
    const hex = (): string => random.int(0xffff_ffff).toString(16).padStart(8, '0');
    const lines = Array.from({ length: 6 }, () => ({
      sku: `${hex()}-${hex()}`,
      name: `${random.pick(WORDS)} ${random.pick(WORDS)} ${random.pick(WORDS)}`,
      cents: random.int(100_000),
      count: 1 + random.int(5),
    }));
    return {
      id: `${n}`,
      key: `k${n % KEYS}`,
      type: 'thing',
      at: `2019-${String(1 + (n % 12)).padStart(2, '0')}-15`,
      customerId: `${hex()}${hex()}`,
      state: random.pick(['done', 'returned', 'open']),
      note: Array.from({ length: 12 }, () => random.pick(WORDS)).join(' '),
      lines,
    };
  });
