import { expect, it } from 'vitest';
import { LeaseQueries } from '../../../src/feed/leases/lease-queries.ts';
import { leaseStage } from '../lease-stage.ts';

const idsOf = (documents: readonly Record<string, unknown>[]): string[] =>
  documents.map(({ id }) => String(id)).toSorted((a, b) => a.localeCompare(b));

it('what is asked at the same time goes together, and each gets its own documents', async () => {
  const { emulator, leases } = await leaseStage();
  const prefixes = Array.from({ length: 100 }, (_, at) => `P${at}..`);
  for (const prefix of prefixes) await leases.items.create({ id: `${prefix}0` });
  const queries = (): number => emulator.stats().requests['query'] ?? 0;
  const before = queries();
  const asked = await Promise.all(prefixes.map((prefix) => LeaseQueries.of(leases).ask(prefix)));
  expect(asked.map(idsOf)).toEqual(prefixes.map((prefix) => [`${prefix}0`]));
  expect(queries() - before).toBe(2);
  expect(await LeaseQueries.of(leases).ask('none'), 'nothing begins so').toEqual([]);
});

it('a query for leases never answers with what was read before it was asked', async () => {
  const { emulator, leases } = await leaseStage();
  const of = LeaseQueries.of(leases);
  const underWay = of.ask('P..');
  await leases.items.create({ id: 'P..0' });
  const asked = of.ask('P..');
  await leases.items.create({ id: 'Q..0' });
  await underWay;
  expect(idsOf(await asked)).toEqual(['P..0']);
  expect(emulator.stats().requests['query']).toBe(2);
});

it('a failure is that of all who asked together or wait, and those who ask later try again', async () => {
  const { emulator, leases } = await leaseStage();
  await leases.delete();
  const of = LeaseQueries.of(leases);
  const together = [of.ask('P..'), of.ask('Q..')];
  const underWay = Promise.allSettled(together);
  await Promise.resolve();
  await Promise.resolve();
  const waiting = Promise.allSettled([of.ask('R..')]);
  const failed = [...(await underWay), ...(await waiting)];
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect(emulator.stats().requests['query'] ?? 0, 'queries').toBeLessThanOrEqual(1);
  await leases.database.containers.create({ id: leases.id, partitionKey: { paths: ['/id'] } });
  expect(await of.ask('P..')).toEqual([]);
  expect(emulator.stats().requests['query']).toBeGreaterThan(0);
});
