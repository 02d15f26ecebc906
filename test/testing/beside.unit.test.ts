import { expect, test } from 'vitest';
import { besides } from '../../src/testing/prove/beside.ts';
import { type Limits, NO_LIMITS } from '../../src/testing/prove/limits.ts';

const KEPT = new Set(['id']);
const changed = (like: object, others: object[], limits: Limits = NO_LIMITS) =>
  besides({ ...like }, [{ ...like }, ...others.map((other) => ({ ...other }))], limits, KEPT);

test('each document differs in one field', () => {
  const like = { id: '1', store: 'a', cents: 5, paid: true };
  const versions = changed(like, [{ id: '2', store: 'b', cents: 9, paid: true }]);
  for (const version of versions) {
    const differing = Object.keys(like).filter((field) => version[field] !== like[field as keyof typeof like]);
    expect(differing).toHaveLength(1);
    expect(differing).not.toContain('id');
  }
  expect(versions).toContainEqual({ ...like, store: 'b' });
  expect(versions).toContainEqual({ ...like, cents: 9 });
  expect(versions).toContainEqual({ ...like, paid: false });
});

test('numbers lie on both sides of each limit and on it', () => {
  const delays = changed({ id: '1', delay: 66 }, [], { ...NO_LIMITS, numbers: [15] }).map(({ delay }) => delay);
  expect(delays).toEqual(expect.arrayContaining([14, 15, 16]));
});

test('numbers lie beside a limit by the finest part that examples have, which rounding loses', () => {
  const others = [
    { id: '2', celsius: -18.5 },
    { id: '3', celsius: 9.25 },
  ];
  const values = changed({ id: '1', celsius: 4 }, others, { ...NO_LIMITS, numbers: [8] }).map(({ celsius }) => celsius);
  expect(values).toEqual(expect.arrayContaining([7.75, 8.25]));
  expect(changed({ id: '1', delay: 4 }, [], { ...NO_LIMITS, numbers: [8] }).map(({ delay }) => delay)).not.toContain(
    8.25,
  );
});

test('a text takes the values that its own field, or an unknown one, is compared with', () => {
  const texts = new Map([
    ['status', ['paid']],
    ['', ['VIP']],
    ['sku', ['TJ']],
  ]);
  const states = changed({ id: '1', status: 'placed', lines: [{ sku: 'A' }] }, [], { ...NO_LIMITS, texts });
  expect(states.map(({ status }) => status)).toEqual(expect.arrayContaining(['paid', 'VIP']));
  expect(states.map(({ status }) => status)).not.toContain('TJ');
  expect(states.map(({ lines }) => lines)).toContainEqual([{ sku: 'TJ' }]);
});

test('a list is as long as each small limit, and longer by one', () => {
  const like = { id: '1', lines: [{ n: 1 }, { n: 2 }] };
  const lengths = changed(like, [], { ...NO_LIMITS, numbers: [4, 9_000] }).map(
    ({ lines }) => (lines as object[]).length,
  );
  expect(lengths).toEqual(expect.arrayContaining([4, 5]));
  expect(Math.max(...lengths)).toBe(5);
});

test('a day moves, and its text keeps its form', () => {
  const dates = changed({ id: '1', date: '2001/12/31 00:47' }, []).map(({ date }) => date);
  expect(dates).toEqual(expect.arrayContaining(['2002/01/01 00:47', '2002/01/05 00:47', '2003/01/01 00:47']));
});

test('a field that other examples lack is absent once; a list is empty, shorter and has changed elements', () => {
  const like = { id: '1', note: 'x', lines: [{ n: 1 }, { n: 2 }] };
  const versions = changed(like, [{ id: '2', lines: [] }]);
  expect(versions).toContainEqual({ id: '1', lines: like.lines });
  expect(versions).toContainEqual({ ...like, lines: [] });
  expect(versions).toContainEqual({ ...like, lines: [{ n: 1 }] });
  expect(versions).toContainEqual({ ...like, lines: [{ n: 2 }, { n: 2 }] });
});
