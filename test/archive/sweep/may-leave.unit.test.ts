import { expect, test } from 'vitest';
import { acknowledgedBy, openGate } from '../../../src/archive/sweep/may-leave.ts';
import type { DeadLetter } from '../../../src/engine/dead-letters/dead-letters.ts';
import type { Lease } from '../../../src/feed/leases/lease.ts';

const lease = (min: string, max: string, position?: string): Lease => ({
  id: min,
  token: min,
  range: { min, max },
  owner: null,
  etag: '"e"',
  ...(position === undefined ? {} : { position }),
});

test.each([
  ['the one lease', [lease('', 'FF', '"7"')], 7],
  ['a lease of the whole before a split', [lease('', 'FF', '"7"')], 7],
  ['the least of those that cover it', [lease('', '40', '"9"'), lease('40', 'FF', '"5"')], 5],
  ['none', [], undefined],
  ['a gap at the end', [lease('', '50', '"9"')], undefined],
  ['a gap in the middle', [lease('', '20', '"9"'), lease('30', 'FF', '"9"')], undefined],
  ['one without a position', [lease('', '40', '"9"'), lease('40', 'FF')], undefined],
  ['a position that is no lsn', [lease('', 'FF', '"x"')], undefined],
])('a change is acknowledged by %s', (_what, leases, lsn) => {
  expect(acknowledgedBy(leases, { min: '', max: '80' })).toBe(lsn);
});

test('a neighbour’s lease says nothing', () => {
  expect(acknowledgedBy([lease('', '40', '"9"'), lease('40', 'FF', '"5"')], { min: '', max: '40' })).toBe(9);
});

test('positions are read before the queues, and this before dead letters', async () => {
  const order: string[] = [];
  const letter = { container: 'C', key: ['k', 1], id: 'parked' } as unknown as DeadLetter;
  const gate = await openGate(
    async () => {
      order.push('leases');
      return [];
    },
    {
      source: { keyPaths: [['store'], ['n']], tenant: { field: 'store', of: ({ store }) => String(store) } },
      deadLetters: {
        list: async () => {
          order.push('dead letters');
          return [letter];
        },
      },
      deferred: {
        tenants: async () => {
          order.push('deferred');
          return new Set(['k']);
        },
      },
    },
  );
  expect(order).toEqual(['leases', 'deferred', 'dead letters']);
  expect(gate.parked({ container: 'C', key: ['k', 1], id: 'parked' })).toBe(true);
  expect(gate.parked({ container: 'C', key: ['other', 1], id: 'parked' })).toBe(false);
  expect(gate.waits({ container: 'C', key: ['k', 2], id: 'any' })).toBe(true);
  expect(gate.waits({ container: 'C', key: ['other', 1], id: 'parked' })).toBe(false);
});
