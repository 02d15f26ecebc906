import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { LeaseFinding } from '../../../src/procedures/leases/check.ts';
import { type LeaseRow } from '../../../src/procedures/leases/lease-rows.ts';
import type { RatedRow } from '../../../src/procedures/leases/rates.ts';
import { leasesList } from '../../../src/verbs/leases/list.operation.ts';
import { status } from '../../../src/verbs/status.operation.ts';
import { ChangeFeedProcessor } from '../../../src/feed/processor/change-feed-processor.ts';
import { leaseNameOf } from '../../../src/runtime/hosts/processor-name.ts';
import { type LeaseWorld, leaseWorld } from '../../verbs/leases/lease-world.ts';

const findings = async (world: LeaseWorld, input = {}) => {
  const { value, ok, text } = await world.run(leasesList, { check: true, ...input });
  const found = (value as { findings: LeaseFinding[] }).findings;
  return { codes: found.map(({ code }) => code), found, ok, text };
};
const rows = async (world: LeaseWorld, input = {}) => (await world.run(leasesList, input)).value as LeaseRow[];
/** What happens from here on is so many seconds later; documents keep their times. */
function later(seconds: number): void {
  const now = Date.now.bind(Date);
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + seconds * 1000);
  onTestFinished(() => clock.mockRestore());
}
const lease = { version: 0, Owner: null, ContinuationToken: '"1"', properties: {} };

describe('leases list', () => {
  it('`leases list` says of each lease who has it, how far behind it is, its state and why', async () => {
    const world = await leaseWorld(2);
    await world.write(0, 10);
    await world.derive();
    await world.write(10, 20);
    const [one, two] = (await rows(world)).filter(({ container }) => container === 'Orders');
    expect([one?.state, two?.state]).toEqual(['free', 'free']);
    expect(one?.why).toMatch(/released \d+ s ago/);
    const changes = [one, two].reduce((sum, row) => sum + (row?.lag.known ? row.lag.changes : Number.NaN), 0);
    expect(changes).toBe(10);

    const host = world.foreign(await world.ownPrefix());
    await host.acquire();
    const owned = (await rows(world)).filter(({ container }) => container === 'Orders');
    expect(owned.map(({ state, owner }) => [state, owner])).toEqual([
      ['owned', host.owner],
      ['owned', host.owner],
    ]);
    expect((await world.run(leasesList)).text).toContain(host.owner);
    world.stage.emulator.split('shop/Orders');
    expect((await rows(world)).filter(({ container }) => container === 'Orders').map(({ state }) => state)).toContain(
      'split',
    );
  });

  it('`leases list` shows the rates that the owner reported, of its own leases and while it holds them', async () => {
    const world = await leaseWorld(2);
    await world.write(0, 10);
    await world.derive();
    const { state } = world.stage.services.place;
    const [own, billing] = [await world.ownPrefix(), await world.prefixOf('billing')];
    const host = world.foreign(own);
    await host.acquire();
    // Another processor's leases, with the same tokens and owner.
    for (const stored of (await world.documents(own)).filter(({ Owner }) => Owner === host.owner))
      await world.leases.items.create({ ...stored, id: stored.id.replace(own, billing) });
    const of = (await rows(world)).filter(({ container, owner }) => container === 'Orders' && owner === host.owner);
    expect(of.map(({ prefix }) => prefix).toSorted()).toEqual([own, own, billing, billing].toSorted());
    const [token, unreported] = of.flatMap((row) => (row.prefix === own ? [row.token] : []));
    expect((await world.run(leasesList)).text).not.toContain('changes/s');

    const range = {
      container: 'Orders',
      lease: token,
      handled: 50,
      handledPerSecond: 41.5,
      inPerSecond: 12,
      outPerSecond: 23,
      lag: 660,
      catchUp: 1_060,
      inHand: null,
      rejection: null,
    };
    const at = new Date().toISOString();
    const said = {
      pk: 'status',
      at,
      startedAt: at,
      version: '0.1.0',
      projections: [],
      history: '',
      sources: [],
      ttl: 600,
    };
    await state.items.create({ ...said, id: host.owner, ranges: [range] });
    await state.items.create({ ...said, id: 'another host', ranges: [{ ...range, lease: unreported }] });
    const ratesOf = async () =>
      ((await rows(world)) as RatedRow[]).flatMap(({ prefix, token: named, rates }) =>
        rates ? [{ prefix, named, rates }] : [],
      );
    expect(await ratesOf()).toEqual([
      {
        prefix: own,
        named: token,
        rates: { handledPerSecond: 41.5, inPerSecond: 12, outPerSecond: 23, catchUp: 1_060, at },
      },
    ]);
    const { text } = await world.run(leasesList);
    expect(text.match(/changes\/s +in\/s +out\/s +catches up in/g)).toHaveLength(1);
    expect(text).toMatch(/ 41\.5 +12 +23 +1,060 s +owned/);

    later(120);
    expect(await ratesOf()).toEqual([]);
  });

  it('`leases list` lists leases where no state container exists', async () => {
    const world = await leaseWorld(1);
    await world.write(0, 1);
    await world.derive();
    await world.stage.services.place.state.delete();
    expect(await rows(world)).toContainEqual(expect.objectContaining({ container: 'Orders', rates: null }));
  });

  it('`leases list` counts once what the parts of a split have in common', async () => {
    const world = await leaseWorld(1);
    await world.write(0, 10);
    await world.derive();
    await world.write(10, 50);
    const of = async () => (await rows(world)).filter(({ container }) => container === 'Orders');
    const behind = async () => (await of()).reduce((sum, { lag }) => sum + (lag.known ? lag.changes : Number.NaN), 0);
    expect(await behind()).toBe(40);
    world.stage.emulator.split('shop/Orders');
    const processor = new ChangeFeedProcessor({
      source: world.orders,
      leases: world.leases,
      name: leaseNameOf(world.stage.loaded.pipeline, 'Orders', {}),
      instance: 'ours',
      timings: { acquireMs: 20, pollMs: 20 },
      handler: () => Promise.reject(new Error('not now')),
    });
    onTestFinished(() => processor.stop());
    await processor.start();
    // The parent's and a part's begin alike.
    const begins = async () => (await of()).map(({ range }) => range?.split('-')[0]);
    await vi.waitFor(async () => expect(await begins()).toEqual(['00', expect.not.stringMatching(/^00$/)]), 20_000);
    await processor.stop();
    expect(await behind()).toSatisfy((sum: number) => sum >= 38 && sum <= 42);
  });

  it('`leases list` shows what has no owner, of nowhere, or double, and leaves it alone', async () => {
    const world = await leaseWorld(1);
    await world.write(0, 5);
    await world.derive();
    const own = await world.ownPrefix();
    await world.leases.items.create({ ...lease, id: 'far.documents.azure.com_a==_b=..0', LeaseToken: '0' });
    await world.leases.items.create({ ...lease, id: `${own}..x`, LeaseToken: 'x', version: 9 });
    await world.leases.items.create({
      ...lease,
      id: `${own}..-FF`,
      LeaseToken: '-FF',
      version: 1,
      FeedRange: { Range: { min: '', max: 'FF' } },
    });
    const theirs = await world.prefixOf('billing');
    await world.leases.items.create({ ...lease, id: `${theirs}..77`, LeaseToken: '77' });
    await world.leases.items.create({ ...lease, id: `${theirs}..0`, LeaseToken: '0', ContinuationToken: null });
    const before = await world.documents();
    const found = await rows(world);
    const by = (token: string, prefix = own) => found.find((row) => row.token === token && row.prefix === prefix);
    expect(by('0', 'far.documents.azure.com_a==_b=')).toMatchObject({ state: 'orphaned', lag: { known: false } });
    expect(by(`${own}..x`)).toMatchObject({ state: 'unexplained', why: 'its version 9 is not known' });
    expect([by('0')?.state, by('-FF')?.state]).toEqual(['duplicate', 'duplicate']);
    expect(by('77', theirs)).toMatchObject({ state: 'unresolved', range: null });
    expect(by('0', theirs)?.lag).toEqual({
      known: false,
      why: expect.stringContaining('only its host knows') as string,
    });
    expect((await rows(world, { prefix: theirs })).map(({ prefix }) => prefix)).toEqual([theirs, theirs]);
    const { text } = await world.run(leasesList);
    expect(text).toContain('lag unknown: nothing was checkpointed yet');
    expect(await world.documents()).toEqual(before);
  });

  it('`leases list` shows those of Java and .NET beside ours, in whatever kind of container', async () => {
    const world = await leaseWorld(1);
    await world.write(0, 4);
    const java = world.namedPrefix('svc');
    await world.leases.items.create({
      id: `${java}..0`,
      LeaseToken: '0',
      Owner: 'j',
      ContinuationToken: '"1"',
      timestamp: '2026-01-02T03:04:05Z[UTC]',
    });
    expect(await rows(world)).toMatchObject([
      { dialect: 'java-pk', container: 'Orders', state: 'owned', range: '00-FF', lag: { known: true, changes: 3 } },
    ]);
  });
});

describe('leases list --check', () => {
  it('`leases list --check` has nothing to say where all is well', async () => {
    const world = await leaseWorld(2);
    await world.write(0, 5);
    await world.derive();
    const { codes, ok, text } = await findings(world);
    expect([codes, ok]).toEqual([[], true]);
    expect(text).toContain('no findings');
  });

  it('`leases list --check` says that no host has written for a bound, and that a source was never read', async () => {
    const world = await leaseWorld(1);
    expect((await findings(world)).codes).toEqual(['never-started', 'never-started']);
    await world.derive();
    later(10);
    const { found, ok } = await findings(world, { absentAfter: 5 });
    expect(found.map(({ code, severity }) => [code, severity])).toEqual([
      ['no-host', 'error'],
      ['no-host', 'error'],
    ]);
    expect(ok).toBe(false);
    expect((await findings(world, { absentAfter: 3_600 })).codes).toEqual([]);
  });

  it('`leases list --check` finds holes, orphaned and unexplained leases, and clocks that are wrong', async () => {
    const world = await leaseWorld(2);
    await world.write(0, 6);
    await world.derive();
    const own = await world.ownPrefix();
    const [first, second] = await world.documents(own);
    await world.leases.item(String(first?.id), String(first?.id)).delete();
    const ahead = new Date(Date.now() + 600_000).toISOString();
    await world.leases.items.upsert({ ...second, Owner: 'fast', timestamp: ahead, ContinuationToken: '"0"' });
    await world.leases.items.create({ ...lease, id: `${own}..x`, LeaseToken: 'x', version: 9 });
    await world.leases.items.create({ ...lease, id: 'far.documents.azure.com_a==_b=..0', LeaseToken: '0' });
    const { found, ok, text } = await findings(world);
    const severities = Object.fromEntries(found.map(({ code, severity }) => [code, severity]));
    expect(severities).toMatchObject({
      'range-uncovered': 'error',
      'clock-skew': 'error',
      'lease-unexplained': 'warning',
      'lease-orphaned': 'warning',
    });
    expect(ok).toBe(false);
    expect(text).toMatch(/this host's clock is 60\d s ahead of/);
    expect(found.every(({ hint }) => hint.length > 10)).toBe(true);
  });

  it('`leases list --check` finds a lease that is renewed and does not move, one that no host renews, and a lock that was left', async () => {
    const world = await leaseWorld(1);
    await world.write(0, 6);
    await world.derive();
    await world.write(6, 9);
    const own = await world.ownPrefix();
    await world.foreign(own).acquire();
    await world.leases.items.create({ id: `${own}.lock` });
    later(600);
    const stuck = await findings(world, { leaseExpiration: 3_600_000, absentAfter: 3_600 });
    expect(stuck.codes).toEqual(['lease-stuck', 'lock-left']);
    expect(stuck.text).toMatch(/renews it, but its oldest change has waited for 60\d s/);
    expect((await findings(world, { absentAfter: 3_600 })).codes).toEqual(['lock-left', 'lease-expired']);
  });

  it('`leases list --check` looks at the container itself: time to live, key, throughput', async () => {
    const world = await leaseWorld(1);
    await world.derive();
    const { database } = world.leases;
    await world.leases.delete();
    await database.containers.create({ id: 'leases', partitionKey: { paths: ['/partitionKey'] }, throughput: 400 });
    const prefix = await world.prefixOf('other');
    for (let n = 0; n < 50; n++)
      await world.leases.items.create({
        ...lease,
        id: `${prefix}..${n}`,
        LeaseToken: `${n}`,
        partitionKey: `p${n}`,
        FeedRange: { Range: { min: '', max: 'FF' } },
      });
    const { codes } = await findings(world);
    expect(codes).toEqual(expect.arrayContaining(['container-ttl-off', 'container-key', 'container-throughput']));
  });
});

it('status shows lag by source, leases in trouble, and what hosts said of themselves', async () => {
  const world = await leaseWorld(1);
  await world.write(0, 5);
  await world.derive();
  await world.write(5, 8);
  const { value, text } = await world.run(status);
  expect(value).toMatchObject({
    leases: { all: 2, free: 2 },
    sources: expect.arrayContaining([
      {
        container: 'Orders',
        leases: 1,
        lag: expect.objectContaining({ known: true, changes: 3 }) as unknown,
        troubled: [],
      },
    ]) as unknown,
    hosts: [],
  });
  expect(text).toMatch(/Orders +1 +3, \d+ s/);
});
