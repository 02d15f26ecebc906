import { expect, it } from 'vitest';
import { leasePrefix } from '../../../src/feed/leases/cosmos-lease-store.ts';
import { ownLeases } from '../../../src/procedures/move/behind.ts';

const lease = (name: string): string => `${leasePrefix(name, 'https://one.documents.azure.com/', 'db', 'co')}..0`;
const found = (...names: string[]) => ownLeases(names.map(lease), 'one.documents.azure.com');

it('the list of leases behind names the version that leases belong to, once, with what moves them on', () => {
  expect(found('shop.Orders.', 'shop.Orders.all-versions.', 'my.shop.')).toEqual([]);
  expect(found('shop.Orders.summaries@2.', 'shop.Orders.at-rid.summaries@2.')).toMatchObject([
    { projection: 'summaries@2', remedy: expect.stringContaining('promote summaries`, or remove the version') },
  ]);
  expect(found('shop.rows@3.target-1.')).toMatchObject([
    { projection: 'rows@3', why: expect.stringContaining('filled') },
  ]);
  expect(found('shop.days@1.replay-12ab34cd.fill.')).toMatchObject([
    { projection: 'days@1', remedy: expect.stringContaining('projections replay') },
  ]);
  expect(found('shop.days@1.rebuild-12ab34cd.')).toMatchObject([
    { remedy: 'Run `millrace projections rebuild days` again' },
  ]);
  expect(found('shop.days@1.back.')).toMatchObject([{ remedy: expect.stringContaining('promote days --back') }]);
});
