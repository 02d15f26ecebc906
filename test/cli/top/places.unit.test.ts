import { expect, it } from 'vitest';
import { together } from '../../../src/cli/top/places.ts';
import type { Status } from '../../../src/operations/status.ts';

const status = (database: string, parked: number, owners: readonly string[]): Status =>
  ({
    database,
    projections: [{ id: 'days@1', state: 'current', parked }],
    leases: { all: owners.length, free: 1 },
    sources: [{ container: 'Orders', leases: owners.length, lag: { known: true, changes: parked }, troubled: [] }],
    hosts: owners.map((owner) => ({ owner, leases: 1, status: null })),
  }) as unknown as Status;

it('adds up what is parked and leased, and tells the sources of places apart', () => {
  const all = together([
    { name: 'shop', status: status('shop', 0, ['a']) },
    { name: 'west', status: status('west', 3, ['a', 'b']) },
  ]);
  expect(all).toMatchObject({
    database: 'shop',
    projections: [{ id: 'days@1', parked: 3 }],
    leases: { all: 3, free: 2 },
    sources: [{ container: 'shop/Orders' }, { container: 'west/Orders' }],
    hosts: [
      { owner: 'a', leases: 2 },
      { owner: 'b', leases: 1 },
    ],
  });
  expect(all.hosts).toHaveLength(2);
});
