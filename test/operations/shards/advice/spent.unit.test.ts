import { expect, it } from 'vitest';
import type { HostStatus } from '../../../../src/operations/host-status.ts';
import { sumOf } from '../../../../src/operations/shards/advice/spent.ts';

const NOW = Date.parse('2026-01-01T00:10:00Z');
const work = (charge: number) => ({ changes: 1, parked: 0, charge, delayMs: 0 });

function report(at: string, tenants: Readonly<Record<string, number>> | undefined, others = 0): HostStatus {
  return {
    id: at,
    at,
    startedAt: '2026-01-01T00:00:00Z',
    version: '0.1.0',
    projections: [],
    sources: [],
    ranges: [],
    ...(tenants && {
      tenants: {
        tenants: Object.entries(tenants).map(([tenant, charge]) => ({ tenant, ...work(charge) })),
        others: others > 0 ? work(others) : null,
      },
    }),
  };
}

const codeOfTenant = (tenant: string): string | undefined => (tenant === 'none' ? undefined : `code ${tenant}`);

it('adds up what running hosts spend a second, by key; what has no key is of the others', () => {
  const running = [
    report('2026-01-01T00:10:00Z', { a: 600, b: 60, none: 6 }, 12),
    report('2026-01-01T00:09:00Z', { a: 540 }),
  ];
  const dead = report('2026-01-01T00:08:00Z', { a: 9_999 });
  const rates = sumOf([...running, dead], codeOfTenant, NOW);
  expect(Object.fromEntries(rates!.keys)).toEqual({ 'code a': 2, 'code b': 0.1 });
  expect(rates!.others).toBeCloseTo(0.03);
});

it('is not measured where no host that runs names tenants', () => {
  expect(sumOf([], codeOfTenant, NOW)).toBeUndefined();
  const none = [report('2026-01-01T00:10:00Z', undefined), report('2026-01-01T00:00:00Z', { a: 1 })];
  expect(sumOf(none, codeOfTenant, NOW)).toBeUndefined();
});
