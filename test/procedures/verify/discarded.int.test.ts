import { expect, it } from 'vitest';
import { deadLettersDiscard } from '../../../src/verbs/dead-letters/discard.operation.ts';
import { projectionsVerify } from '../../../src/verbs/projections/verify.operation.ts';
import { leaseWorld } from '../../verbs/leases/lease-world.ts';

it('what is missing since a dead letter was discarded by hand is said with the number of these letters', async () => {
  const world = await leaseWorld();
  await world.write(0, 2);
  await world.orders.items.upsert({ id: 'bad', type: 'order', storeId: 's1', customerId: 'c1', placedAt: 5, cents: 1 });
  await world.derive();
  const parked = await world.run(projectionsVerify);
  expect(parked.text).not.toContain('Discarded');
  await world.run(deadLettersDiscard, { id: 'bad', reason: 'a test order' });
  const { ok, value, text } = await world.run(projectionsVerify);
  expect({ ok, value }).toMatchObject({
    ok: false,
    value: { different: 1, discarded: { 'summaries@1': 1 } },
  });
  expect(text).toMatch(/ {2}missing: Summaries \["s1","bad"\]\n {2}Discarded by hand: 1 dead letter of summaries@1\. /);
});
