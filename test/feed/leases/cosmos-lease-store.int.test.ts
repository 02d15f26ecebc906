import { describe, expect, it, test, vi } from 'vitest';
import { type Lease, LeaseLost } from '../../../src/feed/leases/lease.ts';
import { splitLease } from '../../../src/feed/sharing/split.ts';
import { leaseFixtures } from '../../fixtures/leases/index.ts';
import { ManualClock } from '../../support/clock.ts';
import { type Stored, leaseStage } from '../lease-stage.ts';

const go = new AbortController().signal;
const some = <T>(value: T | undefined): T => {
  if (value === undefined) throw new Error('It is not there');
  return value;
};

async function prepared(partitions = 1) {
  const stage = await leaseStage(partitions);
  const a = stage.store('a');
  const b = stage.store('b');
  await a.prepare(go);
  const read = async (id: string): Promise<Stored> => some((await stage.leases.item(id, id).read<Stored>()).resource);
  const first = async (): Promise<Lease> => some((await a.list())[0]);
  return { ...stage, a, b, read, first };
}

describe('preparing', () => {
  it('the preparation of leases creates each range’s lease once, however many hosts do it at once', async () => {
    const { store, documents, monitored } = await leaseStage(4);
    const hosts = ['a', 'b', 'c'].map((host) => store(host));
    await Promise.all(hosts.map((host) => host.prepare(go)));
    expect((await documents()).map(({ id }) => id).toSorted()).toEqual(['P..0', 'P..1', 'P..2', 'P..3', 'P.info']);
    const ranges = (await monitored.getFeedRanges()).map(({ minInclusive, maxExclusive }) => ({
      min: minInclusive,
      max: maxExclusive,
    }));
    for (const host of hosts) {
      const listed = await host.list();
      expect(listed.map(({ range }) => range)).toEqual(expect.arrayContaining(ranges));
      expect(listed.every(({ owner, position }) => owner === null && position === undefined)).toBe(true);
    }
  });

  it('the preparation of leases changes nothing when it was done before', async () => {
    const { a, b, documents } = await prepared(2);
    const before = await documents();
    await Promise.all([a.prepare(go), b.prepare(go)]);
    expect(await documents()).toEqual(before);
  });

  it('the preparation of leases recreates a lease that vanished since, and leaves the others alone', async () => {
    const { a, b, leases, documents } = await prepared(3);
    const mine = some(await a.acquire(some((await a.list()).find(({ token }) => token === '2'))));
    await leases.item('P..1', 'P..1').delete();
    await b.prepare(go);
    expect((await documents()).map(({ id }) => id).toSorted()).toEqual(['P..0', 'P..1', 'P..2', 'P.info']);
    await a.renew(mine, '"1"');
  });

  it('the preparation of leases is known to have been done, and when, until everything is deleted', async () => {
    const { store, leases } = await leaseStage();
    const a = store('a');
    expect(await a.initializedAt()).toBeUndefined();
    const before = Date.now();
    await a.prepare(go);
    const since = await a.initializedAt();
    expect(Math.abs(Number(since) - before)).toBeLessThan(60_000);
    expect(await store('b').initializedAt()).toEqual(since);
    await leases.item('P.info', 'P.info').delete();
    expect(await a.initializedAt()).toBeUndefined();
  });

  it('the preparation of leases finishes what a host that died half-way had begun, once its lock has expired', async () => {
    const { store, leases, documents } = await leaseStage(2);
    await leases.items.create({ id: 'P.lock', ttl: 1 });
    await leases.items.create({ id: 'P..1', LeaseToken: '1', FeedRange: null, ContinuationToken: '"7"', Owner: null });
    await store('a').prepare(go);
    expect((await documents()).map(({ id }) => id).toSorted()).toEqual(['P..0', 'P..1', 'P.info']);
    const listed = await store('b').list();
    expect(
      listed.find(({ token }) => token === '1'),
      'its range told by its partition',
    ).toMatchObject({
      range: { max: 'FF' },
      position: '"7"',
    });
  });

  it('the preparation of leases stops waiting for another host when it is told to', async () => {
    const { store, leases } = await leaseStage();
    await leases.items.create({ id: 'P.lock' });
    const stop = new AbortController();
    const preparing = store('a').prepare(stop.signal);
    stop.abort(new Error('stopped'));
    await expect(preparing).rejects.toThrow('stopped');
  });

  it('the preparation of leases names the lease container that does not exist, and the remedy', async () => {
    const { store, leases } = await leaseStage();
    await leases.delete();
    await expect(store('a').prepare(go)).rejects.toMatchObject({
      code: 'lease-container-missing',
      message: expect.stringContaining('leases') as string,
      hint: expect.stringContaining('ensureLeaseContainer') as string,
    });
  });
});

test('a processor’s leases are its own, whatever its name', async () => {
  const { store, documents } = await leaseStage();
  const names = ["o'brien", 'o', 'o..', '%', 'O'];
  for (const prefix of names) await store('a', { prefix }).prepare(go);
  expect(await documents()).toHaveLength(2 * names.length);
  for (const prefix of names) {
    const listed = await store('b', { prefix }).list();
    expect(listed.map(({ id }) => id)).toContain(`${prefix}..0`);
    expect(listed.every(({ token }) => token === '0')).toBe(true);
  }
  expect(await store('b', { prefix: "o'brien" }).list()).toHaveLength(1);
  expect(await store('b', { prefix: "o'" }).list()).toEqual([]);
});

describe('every write is conditional', () => {
  it('of two hosts that saw the same lease free, one gets it', async () => {
    const { a, b } = await prepared();
    const [seenByA, seenByB] = [some((await a.list())[0]), some((await b.list())[0])];
    const taken = await Promise.all([a.acquire(seenByA), b.acquire(seenByB)]);
    expect(taken.filter((lease) => lease !== undefined)).toHaveLength(1);
  });

  it('an idle lease is taken only as it was seen, a live host’s though that one wrote it since', async () => {
    const { a, b, first } = await prepared();
    const mine = some(await a.acquire(await first()));
    const seen = some((await b.list())[0]);
    const renewed = await a.renew(mine, '"5"');
    expect(await b.acquire(seen)).toBeUndefined();
    const stolen = some(await b.acquire(seen, 'owner'));
    expect(stolen).toMatchObject({ owner: 'b', position: '"5"' });
    await expect(a.renew(renewed)).rejects.toBeInstanceOf(LeaseLost);
    expect(await b.acquire(seen, 'owner'), 'no longer that owner’s').toBeUndefined();
  });

  it('a host whose lease was taken loses it at its next write, and its release changes nothing', async () => {
    const { a, b, read, first } = await prepared();
    const mine = await a.renew(some(await a.acquire(await first())), '"5"');
    const theirs = some(await b.acquire(some((await b.list())[0])));
    expect(theirs).toMatchObject({ owner: 'b', position: '"5"' });
    await expect(a.renew(mine, '"9"')).rejects.toBeInstanceOf(LeaseLost);
    await expect(a.renew(mine)).rejects.toBeInstanceOf(LeaseLost);
    await expect(a.release(mine)).rejects.toBeInstanceOf(LeaseLost);
    expect(await read('P..0')).toMatchObject({ Owner: 'b', ContinuationToken: '"5"' });
    await b.renew(theirs, '"6"');
  });

  it('a deleted lease is lost too', async () => {
    const { a, leases, first } = await prepared();
    const mine = some(await a.acquire(await first()));
    await leases.item('P..0', 'P..0').delete();
    await expect(a.renew(mine)).rejects.toBeInstanceOf(LeaseLost);
    await expect(a.release(mine)).rejects.toBeInstanceOf(LeaseLost);
    expect(await a.acquire(mine)).toBeUndefined();
  });

  it('the ETag for the next write comes with the answer: a hundred checkpoints are a hundred requests', async () => {
    const { a, emulator, first } = await prepared();
    let lease = some(await a.acquire(await first()));
    const before = { ...emulator.stats().requests };
    for (let lsn = 1; lsn <= 100; lsn++) lease = await a.renew(lease, `"${lsn}"`);
    const after = emulator.stats().requests;
    const sent = Object.entries(after).map(([kind, count]) => [kind, count - (before[kind] ?? 0)]);
    expect(sent.filter(([, count]) => count !== 0)).toEqual([['replace', 100]]);
  });
});

describe('what is stored', () => {
  it('a stored lease keeps the fields that others wrote, through taking, renewing, checkpointing and releasing', async () => {
    const { a, b, leases, read } = await prepared();
    const theirs = { properties: { team: 'shop' }, StartTime: '2026-01-01', nested: { deep: [1, { x: null }] } };
    await leases.item('P..0', 'P..0').replace({ ...(await read('P..0')), ...theirs });
    await b.acquire(some((await b.list())[0]));
    let lease = some(await a.acquire(some((await a.list())[0]), 'owner'));
    expect(await read('P..0')).toMatchObject({ ...theirs, Owner: 'a', LeaseToken: '0', version: 0 });
    lease = await a.renew(await a.renew(lease), '"3"');
    expect(await read('P..0')).toMatchObject({ ...theirs, Owner: 'a', ContinuationToken: '"3"' });
    await a.release(lease);
    expect(await read('P..0')).toMatchObject({ ...theirs, Owner: null, ContinuationToken: '"3"' });
  });

  it('a stored lease is never an empty position, which would mean “from the start” to every host', async () => {
    const { a, read, first } = await prepared();
    const lease = some(await a.acquire(await first()));
    await expect((async () => a.renew(lease, ''))()).rejects.toMatchObject({ code: 'position-empty' });
    expect(await read('P..0')).toMatchObject({ ContinuationToken: null });
  });

  it('a stored lease does not go back because a listing was older than the last checkpoint', async () => {
    const { store, emulator, read, a } = await prepared();
    // A host whose queries lag behind its own writes, as a listing does that was sent before them.
    const lagging = store('late', { session: false });
    let lease = some(await lagging.acquire(some((await a.list().then(() => lagging.list()))[0])));
    lease = await lagging.renew(lease, '"1"');
    emulator.faults({ replicaLagMs: 5_000 });
    lease = await lagging.renew(lease, '"99"');
    await vi.waitFor(async () => expect((await lagging.list())[0]?.position).toBe('"1"'), { timeout: 30_000 });
    expect(await lagging.renew(lease)).toMatchObject({ position: '"99"' });
    emulator.faults({});
    expect(await read('P..0')).toMatchObject({ ContinuationToken: '"99"' });
  });
});

it('a lease that takes the place of another keeps what is not ours to know, and no tenure', async () => {
  const { store, leases, documents, emulator } = await leaseStage(1);
  const a = store('a');
  await a.prepare(go);
  const { resource } = await leases.item('P..0', 'P..0').read<Stored>();
  await leases.item('P..0', 'P..0').replace({ ...resource, properties: { team: 'mail' }, note: { of: 'somebody' } });
  const parent = some(await a.acquire(some((await a.list())[0])));
  emulator.split('d/c');
  for (const range of await a.ranges()) expect(await a.create(range, '"5"', parent)).toBe(true);
  const parts = (await documents()).filter(({ id }) => id.startsWith('P..') && id !== 'P..0');
  expect(parts).toHaveLength(2);
  for (const part of parts) {
    expect(part).toMatchObject({ properties: { team: 'mail' }, note: { of: 'somebody' }, Owner: null });
    expect(part).not.toHaveProperty('millrace');
  }
});

describe('a write whose outcome is unknown', () => {
  it('a write whose outcome is unknown is known by reading what is stored', async () => {
    const { a, b, emulator, read, first } = await prepared();
    const listed = await first();
    emulator.faults({ failAfterEffect: 1 });
    let lease = some(await a.acquire(listed));
    for (let lsn = 1; lsn <= 20; lsn++) lease = await a.renew(lease, `"${lsn}"`);
    expect(await read('P..0')).toMatchObject({ Owner: 'a', ContinuationToken: '"20"', _etag: lease.etag });
    await a.release(lease);
    expect(await read('P..0')).toMatchObject({ Owner: null, ContinuationToken: '"20"' });
    const theirs = some(await b.acquire(some((await b.list())[0])));
    expect(theirs).toMatchObject({ owner: 'b', position: '"20"' });
    const stolen = some(await a.acquire(some((await a.list())[0]), 'owner'));
    expect(stolen).toMatchObject({ owner: 'a', position: '"20"' });
    await a.renew(stolen, '"21"');
    await expect(b.renew(theirs)).rejects.toBeInstanceOf(LeaseLost);
  });

  it('a write whose outcome is unknown is known even where that reading is older than the write', async () => {
    const { a, emulator, read, first } = await prepared();
    let lease = some(await a.acquire(await first()));
    // Our session knows nothing of a write whose answer was lost, so reads may miss it.
    emulator.faults({ failAfterEffect: 0.1, replicaLagMs: 100 });
    for (let lsn = 1; lsn <= 100; lsn++) lease = await a.renew(lease, `"${lsn}"`);
    emulator.faults({});
    expect(await read('P..0')).toMatchObject({ Owner: 'a', ContinuationToken: '"100"', _etag: lease.etag });
  });

  it('a write whose outcome is unknown is a loss where somebody else took the lease meanwhile', async () => {
    const { a, b, emulator, read, first } = await prepared();
    const mine = some(await a.acquire(await first()));
    await b.acquire(some((await b.list())[0]));
    emulator.faults({ failAfterEffect: 1 });
    await expect(a.renew(mine, '"7"')).rejects.toBeInstanceOf(LeaseLost);
    emulator.faults({});
    expect(await read('P..0')).toMatchObject({ Owner: 'b', ContinuationToken: null });
  });

  it('a write whose outcome is unknown is sent again where it did not happen', async () => {
    const { a, emulator, read, first } = await prepared();
    let lease = some(await a.acquire(await first()));
    emulator.faults({ failBefore: 0.3, throttle: 0.2 });
    for (let lsn = 1; lsn <= 30; lsn++) lease = await a.renew(lease, `"${lsn}"`);
    emulator.faults({});
    expect(await read('P..0')).toMatchObject({ ContinuationToken: '"30"', _etag: lease.etag });
  });

  it('a write whose outcome is unknown does no harm while leases are created', async () => {
    const { store, emulator, documents } = await leaseStage(4);
    emulator.faults({ failAfterEffect: 0.5, failBefore: 0.05, throttle: 0.2 });
    await Promise.all([store('a').prepare(go), store('b').prepare(go)]);
    emulator.faults({});
    const ids = (await documents()).map(({ id }) => id).toSorted();
    expect(ids.filter((id) => id !== 'P.lock')).toEqual(['P..0', 'P..1', 'P..2', 'P..3', 'P.info']);
  });
});

describe('a lease container', () => {
  const withKey = async (path: string, ttl = true) => {
    const stage = await leaseStage(2);
    const { container } = await stage.monitored.database.containers.create({
      id: 'other',
      partitionKey: { paths: [path] },
      ...(ttl ? { defaultTtl: -1 } : {}),
    });
    const documents = async () => (await container.items.readAll<Stored>().fetchAll()).resources;
    return { ...stage, container, documents };
  };

  it('a lease container with the key /partitionKey holds leases under their id, and those of older hosts under whatever they have', async () => {
    const { store, container, documents } = await withKey('/partitionKey');
    const [v0] = leaseFixtures('dotnet-v0').filter(({ document }) => document['partitionKey'] !== undefined);
    const guid = '9b0f4e5c-70a4-4a57-8c58-b1bd7c0b8a3e';
    await container.items.create({ ...v0?.document, id: 'P..0', LeaseToken: '0', FeedRange: null, partitionKey: guid });
    const a = store('a', { leases: 'other' });
    await a.prepare(go);
    expect((await documents()).map(({ id, partitionKey }) => `${id} ${String(partitionKey)}`).toSorted()).toEqual([
      `P..0 ${guid}`,
      'P..1 P..1',
      'P.info P.info',
    ]);
    for (const listed of await a.list()) {
      const mine = await a.renew(some(await a.acquire(listed)), '"33"');
      expect(await a.read(mine)).toEqual(mine);
      await a.release(mine);
    }
    expect((await documents()).filter(({ id }) => id.includes('..'))).toEqual([
      expect.objectContaining({ ContinuationToken: '"33"', Owner: null }),
      expect.objectContaining({ ContinuationToken: '"33"', Owner: null }),
    ]);
    const [one] = await a.list();
    await a.remove(some(one));
    expect(await a.list()).toHaveLength(1);
  });

  it('a lease container with another key is refused, and the right ones are named', async () => {
    const { store } = await withKey('/type');
    await expect(store('a', { leases: 'other' }).prepare(go)).rejects.toMatchObject({
      code: 'lease-container-key',
      message: expect.stringContaining('/type') as string,
      hint: expect.stringContaining('/id') as string,
    });
  });

  it('without time to live: the lock of a host that died is removed after its time', async () => {
    const { store, container, documents } = await withKey('/id', false);
    await container.items.create({ id: 'P.lock', ttl: 30 });
    const clock = new ManualClock();
    const preparing = store('a', { leases: 'other', clock }).prepare(go);
    await vi.waitFor(
      async () => {
        clock.advance(1_000);
        expect((await documents()).map(({ id }) => id).toSorted()).toEqual(['P..0', 'P..1', 'P.info']);
      },
      { timeout: 20_000, interval: 5 },
    );
    await preparing;
    expect(clock.now()).toBeGreaterThan(30_000);
  });

  it('a lease container of another account serves as well', async () => {
    const { store } = await leaseStage(2);
    const other = await leaseStage(1);
    const a = store('a', { container: other.leases });
    await a.prepare(go);
    expect((await other.documents()).map(({ id }) => id).toSorted()).toEqual(['P..0', 'P..1', 'P.info']);
    expect(await a.list()).toHaveLength(2);
  });
});

describe('leases of others under the same prefix', () => {
  it('leases of other hosts without a feed range keep their position over a split while no host ran', async () => {
    const { store, emulator, monitored, leases } = await leaseStage(1);
    await leases.items.create({ id: 'P..0', LeaseToken: '0', Owner: null, ContinuationToken: '"7"', properties: {} });
    emulator.split(`${monitored.database.id}/${monitored.id}`);
    const a = store('a');
    await a.prepare(go);
    expect(await a.list()).toMatchObject([{ id: 'P..0', position: '"7"', range: { min: '', max: 'FF' } }]);
    const mine = some(await a.acquire(some((await a.list())[0])));
    expect((await leases.item('P..0', 'P..0').read<Stored>()).resource, 'the range is written down now').toMatchObject({
      FeedRange: { Range: { min: '', max: 'FF' } },
    });
    expect(await splitLease(a, mine, async () => undefined)).toBeUndefined();
    expect((await a.list()).map(({ position }) => position)).toEqual(['"7"', '"7"']);
  });

  it('leases of other hosts of Java are read on where they were, and written as .NET’s', async () => {
    const { store, leases } = await leaseStage(1);
    const [java] = leaseFixtures('java-epk');
    await leases.items.create({ ...java?.document, id: 'P..-FF', Owner: null });
    const a = store('a');
    await a.prepare(go);
    const mine = some(await a.acquire(some((await a.list())[0])));
    expect(mine).toMatchObject({ position: '"42"', owner: 'a' });
    expect((await leases.item('P..-FF', 'P..-FF').read<Stored>()).resource).toMatchObject({
      version: 1,
      ContinuationToken: '"42"',
      Mode: 'Incremental Feed',
    });
    expect(await a.renew(mine, '"43"')).toMatchObject({ position: '"43"' });
  });

  it('leases of other hosts twice under one id are one lease to everybody: the one that is further', async () => {
    const { store, monitored } = await leaseStage(1);
    const { container } = await monitored.database.containers.create({ id: 'other', partitionKey: '/partitionKey' });
    const [a, b] = [store('a', { leases: 'other' }), store('b', { leases: 'other' })];
    await a.prepare(go);
    const twin = { id: 'P..0', version: 0, LeaseToken: '0', FeedRange: { Range: { min: '', max: 'FF' } }, Owner: null };
    for (const [partitionKey, position] of [
      ['x', '"10"'],
      ['y', '"9"'],
      ['z', null],
    ] as const)
      await container.items.create({ ...twin, partitionKey, ContinuationToken: position, properties: {} });
    for (const host of [a, b]) expect(await host.list()).toMatchObject([{ id: 'P..0', position: '"10"' }]);
    const mine = await a.renew(some(await a.acquire(some((await a.list())[0]))), '"11"');
    expect(await splitLease(a, mine, async () => undefined), 'it is no split').toMatchObject({ id: 'P..0' });
    expect(await b.list()).toMatchObject([{ owner: 'a', position: '"11"' }]);
  });

  it('leases of other hosts that no host can explain are left alone, and do not stop the others', async () => {
    const { store, leases, documents } = await leaseStage(2);
    const strange = { id: 'P..0', LeaseToken: '0', version: 2, ContinuationToken: 'v2:abc', Owner: 'future' };
    await leases.items.create(strange);
    const a = store('a');
    await a.prepare(go);
    const listed = await a.list();
    expect(listed.map(({ id }) => id)).toEqual(['P..1']);
    for (const lease of listed) await a.acquire(lease);
    expect(await documents()).toContainEqual(expect.objectContaining(strange));
    const [first] = await a.ranges();
    await expect(a.create(some(first), undefined)).rejects.toMatchObject({
      code: 'lease-unreadable',
      message: expect.stringContaining('its version 2 is not known') as string,
    });
  });

  it('leases of other hosts of the other feed are refused, whichever it is', async () => {
    const { store, leases } = await leaseStage(1);
    await store('a').prepare(go);
    const other = store('b', { mode: 'all-versions' });
    await expect(other.prepare(go)).rejects.toMatchObject({
      code: 'lease-mode-mismatch',
      message: expect.stringContaining('latest-version feed') as string,
    });
    const { resource } = await leases.item('P..0', 'P..0').read<Stored>();
    await leases.item('P..0', 'P..0').replace({ ...some(resource), Mode: 'Full-Fidelity Feed' });
    await other.prepare(go);
    await expect(store('a').list()).rejects.toMatchObject({ code: 'lease-mode-mismatch' });
  });
});
