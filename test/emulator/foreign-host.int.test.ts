import { describe, expect, test } from 'vitest';
import { ForeignHost } from '../../src/emulator/foreign/host.ts';
import type { ForeignHostOptions } from '../../src/emulator/foreign/host.ts';
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

test('one is had of the server, by name, and leases are formed as Functions forms them', async () => {
  const { emulator, source, leases, tokens } = await stage();
  await source.items.create({ id: '1', pk: 'k1' });
  const read: unknown[] = [];
  const request = { container: 'd/c', leases: 'd/leases' };
  const host = await emulator.foreignHost({
    ...request,
    start: 'beginning',
    handle: (documents) => void read.push(...documents.map(({ id }) => id)),
  });
  await host.bootstrap();
  await host.acquire();
  await host.work();
  expect(read).toEqual(['1']);
  expect(await tokens()).toContain('"1"');
  const { resource } = await source.read();
  const { resources } = await leases.items.query<{ id: string }>('SELECT c.id FROM c WHERE c.version = 0').fetchAll();
  const databaseRid = resource?._self.split('/')[1];
  expect(resources.map(({ id }) => id).toSorted()).toEqual(
    ['0', '1'].map((range) => `127.0.0.1_${databaseRid}_${resource?._rid}..${range}`),
  );
  await expect(emulator.foreignHost({ ...request, container: 'd/none' })).rejects.toMatchObject({
    hint: 'Name one of: d/c, d/leases.',
  });
  await expect(emulator.foreignHost({ ...request, leases: 'd/c' })).rejects.toThrow(/leases need \/id/);
});

test('on command it takes its steps over HTTP, and remembers from call to call', async () => {
  const { emulator, source, leases, tokens } = await stage();
  for (let i = 0; i < 5; i++) await source.items.create({ id: `${i}`, pk: 'k1' });
  const play = async (steps: readonly string[], more: object = {}) => {
    const response = await fetch(new URL('_millrace/foreign-host', emulator.endpoint), {
      method: 'POST',
      headers: { authorization: `Bearer ${emulator.key}` },
      body: JSON.stringify({ container: 'd/c', leases: 'd/leases', steps, ...more }),
    });
    return [response.status, await response.json()] as const;
  };
  const [, first] = await play(['acquire', 'work'], { start: 'beginning' });
  expect(first).toMatchObject({ owner: expect.stringMatching(/^[0-9a-f-]{36}$/), read: 5 });
  expect(Object.values((first as { held: object }).held)).toContain('"5"');

  // What is written under it is overwritten from its memory.
  const { resources } = await leases.items
    .query<{ id: string }>('SELECT * FROM c WHERE c.ContinuationToken = \'"5"\'')
    .fetchAll();
  const [lease] = resources;
  await leases.item(lease!.id, lease!.id).replace({ ...lease!, ContinuationToken: '"0"' });
  expect(await tokens()).not.toContain('"5"');
  expect(await play(['renew'])).toMatchObject([200, { owner: (first as { owner: string }).owner, read: 0 }]);
  expect(await tokens()).toContain('"5"');

  // A failed batch is had again by the processor, and passed over by the trigger.
  await source.items.create({ id: 'x', pk: 'k1' });
  expect(await play(['fail', 'fail', 'work', 'work'])).toMatchObject([200, { read: 3 }]);
  await source.items.create({ id: 'y', pk: 'k1' });
  expect(await play(['stop'])).toMatchObject([200, { held: {} }]);
  const trigger = { name: 'trigger', advanceFailed: true };
  expect(await play(['acquire', 'fail', 'work'], trigger)).toMatchObject([200, { read: 1 }]);

  // A crash leaves the leases to who waits until they expire, by the server's clock.
  expect(await play(['crash'], { name: 'trigger' })).toMatchObject([200, { owner: null }]);
  expect(await play(['acquire'])).toMatchObject([200, { held: {} }]);
  emulator.advance(61_000);
  const [, last] = await play(['acquire']);
  expect(Object.keys((last as { held: object }).held)).toHaveLength(2);

  expect(await play(['acquire'], { start: 'now' })).toMatchObject([400, { message: /with another start/ }]);
  expect(await play(['sleep'])).toMatchObject([400, { message: /acquire/ }]);
  emulator.faults({ rules: [{ operation: 'replace', nth: 1, status: 503 }] });
  expect(await play(['renew'])).toMatchObject([400, { message: /renew of foreign was refused.*503/ }]);
  expect(await play(['renew'])).toMatchObject([200, {}]);
});

describe('bootstrap, as the .NET processor does it', () => {
  test('leaves a store alone that is said to be complete, whatever it lacks', async () => {
    const { leases, make } = await stage();
    await leases.items.create({ id: 'p_d_c.info' });
    const host = make();
    expect(await host.bootstrap()).toBe(true);
    await host.acquire();
    expect(host.held.size).toBe(0);
  });

  test('makes nothing again that was deleted after it', async () => {
    const { leases, make, tokens } = await stage();
    expect(await make().bootstrap()).toBe(true);
    expect(await tokens()).toEqual([null, null]);
    await leases.item('p_d_c..0', 'p_d_c..0').delete();
    expect(await make().bootstrap()).toBe(true);
    expect(await tokens()).toEqual([null]);
  });

  test('keeps the leases that are there, of either version, and makes those of the other partitions', async () => {
    const { source, leases, make } = await stage();
    const { resources } = await source.readPartitionKeyRanges().fetchAll();
    const [first, second] = resources.toSorted((a, b) => (a.minInclusive < b.minInclusive ? -1 : 1));
    const part = `${first!.minInclusive}-11`;
    const lease = {
      id: `p_d_c..${part}`,
      version: 1,
      LeaseToken: part,
      FeedRange: { Range: { min: first!.minInclusive, max: '11' } },
      Owner: null,
      ContinuationToken: '"7"',
      timestamp: new Date().toISOString(),
    };
    await leases.items.create(lease);
    expect(await make().bootstrap()).toBe(true);
    const ids = await leases.items.query<string>('SELECT VALUE c.id FROM c ORDER BY c.id').fetchAll();
    expect(ids.resources).toEqual([`p_d_c..${part}`, `p_d_c..${second!.id}`, 'p_d_c.info']);
    expect((await leases.item(lease.id, lease.id).read()).resource).toMatchObject({ ContinuationToken: '"7"' });
  });

  test('waits while another host has the lock, and gives its own back, also when it fails', async () => {
    const { emulator, leases, make, tokens } = await stage();
    await leases.items.create({ id: 'p_d_c.lock', ttl: 30 });
    expect(await make().bootstrap()).toBe(false);
    expect(await tokens()).toEqual([]);
    await leases.item('p_d_c.lock', 'p_d_c.lock').delete();
    emulator.faults({ rules: [{ operation: 'create', container: 'leases', nth: 2, status: 403 }] });
    await expect(make().bootstrap()).rejects.toMatchObject({ code: 403 });
    expect(await make().bootstrap()).toBe(true);
    expect(await tokens()).toEqual([null, null]);
    expect((await leases.item('p_d_c.lock', 'p_d_c.lock').read()).statusCode).toBe(404);
  });
});
