import { expect, test } from 'vitest';
import { ForeignHost } from '../support/foreign-host.ts';
import type { ForeignHostOptions } from '../support/foreign-host.ts';
import { emulate } from './emulate.ts';

async function stage(options: Partial<ForeignHostOptions> = {}) {
  const { emulator, container: source, database } = await emulate({ throughput: 12_000 });
  const { container: leases } = await database.containers.create({ id: 'leases', partitionKey: '/id' });
  const seen: unknown[] = [];
  const make = (more: Partial<ForeignHostOptions> = {}) =>
    new ForeignHost({
      source,
      leases,
      prefix: 'p_d_c',
      start: 'beginning',
      handle: (documents) => void seen.push(...documents.map(({ id }) => id)),
      ...options,
      ...more,
    });
  const tokens = async () =>
    (await leases.items.query<string | null>('SELECT VALUE c.ContinuationToken FROM c WHERE c.version = 0').fetchAll())
      .resources;
  return { emulator, source, leases, seen, make, tokens };
}

test('it sees every document once, and another takes over where it stopped', async () => {
  const { source, seen, make } = await stage();
  for (let i = 0; i < 10; i++) await source.items.create({ id: `${i}`, pk: `k${i}` });
  const [first, second] = [make(), make()];
  await first.bootstrap();
  await first.acquire();
  await second.acquire();
  expect([first.held.size, second.held.size]).toEqual([2, 0]);
  await first.work();
  await first.stop();
  await source.items.create({ id: 'x', pk: 'k1' });
  await second.acquire();
  await second.work();
  expect(seen.map(String).toSorted()).toEqual(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'x']);
});

test('what is written under it is overwritten from its memory, unless the owner is another', async () => {
  const { source, leases, make, tokens } = await stage();
  await source.items.create({ id: '1', pk: 'k1' });
  const host = make();
  await host.bootstrap();
  await host.acquire();
  await host.work();
  const before = await tokens();
  for (const { lease } of host.held.values()) {
    const { resource } = await leases.item(lease.id, lease.id).read<Record<string, unknown>>();
    await leases.item(lease.id, lease.id).replace({ ...resource, id: lease.id, ContinuationToken: '"0"' });
  }
  expect(await tokens()).toEqual(['"0"', '"0"']);
  await host.renew();
  expect((await tokens()).filter((token) => token !== null)).toEqual(
    expect.arrayContaining(before.filter((token) => token !== null)),
  );
  for (const { lease } of host.held.values()) {
    const { resource } = await leases.item(lease.id, lease.id).read<Record<string, unknown>>();
    await leases.item(lease.id, lease.id).replace({ ...resource, id: lease.id, Owner: 'me', ContinuationToken: '"0"' });
  }
  await host.renew();
  expect(host.held.size).toBe(0);
  expect(await tokens()).toEqual(['"0"', '"0"']);
});

test('a null token is its own start; a batch that throws is passed over only by Functions', async () => {
  const { source, seen, make } = await stage();
  await source.items.create({ id: 'old', pk: 'k1' });
  const fails = () => Promise.reject(new Error('no'));
  const strict = make({ handle: fails });
  await strict.bootstrap();
  await strict.acquire();
  expect(await strict.work()).toBe(1);
  expect(await strict.work()).toBe(1);
  await strict.stop();
  const trigger = make({ handle: fails, advanceFailed: true });
  await trigger.acquire();
  expect(await trigger.work()).toBe(1);
  expect(await trigger.work()).toBe(0);
  await trigger.stop();

  const late = make({ prefix: 'other', start: 'now' });
  await late.bootstrap();
  await late.acquire();
  await late.work();
  await source.items.create({ id: 'new', pk: 'k1' });
  await late.work();
  expect(seen).toEqual(['new']);
});

test('after a split the children have leases that begin where the parent was', async () => {
  const { emulator, source, leases, seen, make } = await stage();
  const ids = Array.from({ length: 30 }, (_, i) => `${i}`);
  const [early, late] = [ids.slice(0, 20), ids.slice(20)];
  for (const id of early) await source.items.create({ id, pk: `k${id}` });
  const host = make();
  await host.bootstrap();
  await host.acquire();
  await host.work();
  const children = emulator.split('d/c', '0');
  for (const id of late) await source.items.create({ id, pk: `k${id}` });
  await host.work();
  expect([...host.held.keys()]).toEqual(['1']);
  await host.acquire();
  expect([...host.held.keys()].toSorted()).toEqual(['1', ...children]);
  await host.work();
  await host.work();
  expect(seen.map(Number).toSorted((a, b) => a - b)).toEqual(ids.map(Number));
  expect((await leases.item('p_d_c..0', 'p_d_c..0').read()).statusCode).toBe(404);
});
