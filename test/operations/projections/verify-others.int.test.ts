import { join } from 'node:path';
import { expect, test } from 'vitest';
import { verify } from '../../../src/operations/projections/verify.ts';
import { openStage } from '../../support/stage.ts';

const STOREFRONT = join(import.meta.dirname, '../../../examples/storefront');

test('an embedded field that is not as its parent says is told, and nothing that no embed writes', async () => {
  await using stage = await openStage({}, STOREFRONT);
  const store = { id: 's', storeId: 's', type: 'store', name: 'n', currency: 'EUR', countryId: 'AT' };
  const variant = { storeId: 's', productId: 'p', type: 'variant', sku: 'x', name: 'v', priceCents: 1, shelf: 'A-1' };
  await stage.container('Stores').items.create(store);
  for (const [id, currency] of [
    ['right', 'EUR'],
    ['wrong', 'CHF'],
    ['orphan', 'CHF'],
  ] as const)
    await stage.container('Catalog').items.create({
      ...variant,
      id,
      currency,
      ...(id === 'orphan' ? { storeId: 'gone' } : {}),
    });
  const { signal } = new AbortController();
  const screen = { progress: () => undefined };
  const only = 'variant-currencies';
  const found = await verify(stage.loaded, stage.services, { signal, screen, only, readLagMs: 0 });
  expect(found).toMatchObject({
    projections: [{ id: 'variant-currencies@1', expected: 3, refused: 0 }],
    different: 1,
    differences: [{ container: 'Catalog', document: '["s","p","wrong"]', kind: 'different', fields: ['currency'] }],
  });
});
