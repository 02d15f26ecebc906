import { describe, expect, it } from 'vitest';
import { checkpointsSave } from '../../../src/verbs/checkpoints/save.operation.ts';
import { leasesRewind } from '../../../src/verbs/leases/rewind.operation.ts';
import { ridOf } from '../../../src/cosmos/rid.ts';
import { holdEpoch, letEpochGo } from '../../../src/feed/reading/epochs.ts';
import { type LeaseWorld, type Stored, leaseWorld } from './lease-world.ts';

const positions = (documents: readonly Stored[]) => documents.map(({ ContinuationToken }) => ContinuationToken);
const lsns = (documents: readonly Stored[]) =>
  positions(documents).map((token) => Number(String(token).replaceAll('"', '')));
const epoch = async ({ stage }: LeaseWorld) =>
  (await stage.services.place.state.item('Orders', 'epochs').read<{ epoch: number }>()).resource?.epoch;

describe('rewinding the pipeline’s own leases', () => {
  it('a rewind of the pipeline’s own leases to the beginning, a time, a checkpoint or a token delivers again what came after, and never skips', async () => {
    const world = await leaseWorld(2);
    await world.write(0, 20);
    await world.derive();
    const own = await world.ownPrefix();
    const full = lsns(await world.documents(own));
    expect(full.every((lsn) => lsn > 0)).toBe(true);
    expect(await epoch(world)).toBe(1);

    const [first] = await world.documents(own);
    const token = String(first?.['LeaseToken']);
    const input = { to: '"3"', lease: token, container: 'Orders' };
    expect((await world.plan(leasesRewind, input)).join('\n')).toContain(`Orders ${token}: "${full[0]}" → "3"`);
    expect(lsns(await world.documents(own)), 'a plan changes nothing').toEqual(full);
    await world.run(leasesRewind, input);
    expect(lsns(await world.documents(own))[0]).toBe(3);
    expect(await epoch(world), 'what is read again counts as newer').toBe(2);
    expect((await world.run(leasesRewind, { ...input, to: '"9999"' })).value, 'never forward').toMatchObject({
      moved: [],
    });
    expect(lsns(await world.documents(own))[0]).toBe(3);

    await world.run(checkpointsSave, { name: 'low' });
    await world.derive();
    expect(lsns(await world.documents(own))).toEqual(full);
    await world.run(leasesRewind, { to: 'checkpoint:low' });
    expect(lsns(await world.documents(own))[0]).toBe(3);
    expect(lsns(await world.documents(own))[1]).toBe(full[1]);
    expect(await epoch(world)).toBe(3);

    await world.derive();
    await world.run(leasesRewind, { to: 'beginning' });
    expect(await world.documents(own)).toEqual([]);
    await world.derive();
    expect(lsns(await world.documents(own))).toEqual(full);
    expect((await world.audit()).map(({ verb, outcome, actor }) => [verb, outcome, actor])).toEqual([
      ['leases rewind', 'done', 'tester'],
      ['checkpoints save', 'done', 'tester'],
      ['leases rewind', 'done', 'tester'],
      ['leases rewind', 'done', 'tester'],
    ]);
  });

  it('a rewind of the pipeline’s own leases is refused while keys of the container move to another shard, or from one', async () => {
    const world = await leaseWorld(1);
    await world.write(0, 10);
    await world.derive();
    const own = await world.ownPrefix();
    const before = positions(await world.documents(own));
    const { state } = world.stage.services.place;
    await holdEpoch(state, 'Orders', await ridOf(world.orders), 'tenants/1f0c9a2e');
    const refused = { code: 'epoch-held', message: 'Keys of Orders move: tenants/1f0c9a2e' };
    await expect(world.plan(leasesRewind, { to: 'beginning' })).rejects.toMatchObject(refused);
    await expect(world.run(leasesRewind, { to: 'beginning' })).rejects.toMatchObject(refused);
    expect(positions(await world.documents(own))).toEqual(before);
    await letEpochGo(state, 'Orders', () => true);
    await world.run(leasesRewind, { to: 'beginning' });
    expect(await world.documents(own)).toEqual([]);
  });

  it('a rewind of the pipeline’s own leases to a time begins just before the first change since', async () => {
    const world = await leaseWorld(1);
    world.stage.emulator.freeze(true);
    await world.write(0, 10);
    world.stage.emulator.advance(60_000);
    const [{ _ts: then } = { _ts: 0 }] = (
      await world.orders.items.query<{ _ts: number }>('SELECT TOP 1 c._ts FROM c').fetchAll()
    ).resources;
    await world.write(10, 20);
    world.stage.emulator.advance(1_000);
    await world.derive();
    const own = await world.ownPrefix();
    const at = new Date((then + 30) * 1000).toISOString();
    await world.run(leasesRewind, { to: at, container: 'Orders' });
    expect(lsns(await world.documents(own))).toEqual([10]);
    const later = new Date((then + 3_600) * 1000).toISOString();
    expect((await world.run(leasesRewind, { to: later, container: 'Orders' })).value).toMatchObject({ moved: [] });
  });

  it('a rewind of the pipeline’s own leases over a split while no host ran keeps what lies lowest', async () => {
    const world = await leaseWorld(1);
    await world.write(0, 10);
    await world.derive();
    world.stage.emulator.split('shop/Orders');
    await world.write(10, 30);
    await world.run(leasesRewind, { to: '2000-01-01', container: 'Orders' });
    expect(lsns(await world.documents(await world.ownPrefix()))).toEqual([0]);
  });

  it('a rewind of the pipeline’s own leases waits for nothing where its hosts have given them back', async () => {
    const world = await leaseWorld(1);
    await world.write(0, 5);
    await world.derive();
    const steps = (await world.plan(leasesRewind, { to: 'beginning' })).join('\n');
    expect(steps).toContain('Orders 0: "5" → beginning');
    expect(steps).not.toContain('wait');
    await world.run(leasesRewind, { to: 'beginning' });
    expect(world.clock.total).toBe(0);
    expect(await world.documents(await world.ownPrefix())).toEqual([]);
  });

  it('a rewind of the pipeline’s own leases waits as long as hosts would need to be noticed where one has an owner or another kind of host had it', async () => {
    for (const change of [{ Owner: 'dead' }, { millrace: undefined }]) {
      const world = await leaseWorld(1);
      await world.write(0, 5);
      await world.derive();
      const [lease] = await world.documents(await world.ownPrefix());
      await world.leases.items.upsert({ ...lease, ...change });
      expect((await world.plan(leasesRewind, { to: 'beginning' })).join('\n')).toMatch(/^wait until [^]*one more/);
      await world.run(leasesRewind, { to: 'beginning', leaseExpiration: 60_000 });
      expect(world.clock.total).toBe(180_000);
      expect(world.shown).toContain('Waiting until no host has written the leases (s) 60/120');
      expect(world.shown.some((line) => line.startsWith('Checking that no host writes them'))).toBe(true);
    }
  });
});

describe('rewinding a foreign host’s leases', () => {
  const stage = async (partitions = 2) => {
    const world = await leaseWorld(partitions);
    await world.write(0, 20);
    const prefix = await world.prefixOf('billing');
    const seen: string[] = [];
    const host = world.foreign(prefix, {
      handle: (documents) => void seen.push(...documents.map(({ id }) => String(id))),
    });
    await host.bootstrap();
    await host.acquire();
    await host.work();
    return { world, prefix, host, seen };
  };

  it('a rewind gives a foreign host that was stopped what came after, and our epoch stays', async () => {
    const { world, prefix, host, seen } = await stage();
    await host.stop();
    const before = await epoch(world);
    await world.run(leasesRewind, { prefix, to: '2000-01-01' });
    seen.length = 0;
    await host.acquire();
    await host.work();
    expect(seen.toSorted()).toHaveLength(20);
    expect(await epoch(world)).toBe(before);
  });

  it('a foreign host that runs is noticed before anything is written', async () => {
    const { world, prefix, host } = await stage();
    const before = positions(await world.documents(prefix));
    world.clock.meanwhile = async (sofar) => {
      if (sofar > 90_000) await host.renew();
    };
    const error = await world.refusal(leasesRewind, { prefix, to: '2000-01-01' });
    expect(error).toMatchObject({ code: 'lease-host-running', message: expect.stringContaining(host.owner) as string });
    expect(error.message).toContain('Nothing was overwritten');
    expect(error.hint).toContain('scaled to zero is not stopped');
    expect(error.hint).toContain(
      'To rewind a running `millrace dev`, press Rewind on the page Feeds of its dashboard.',
    );
    expect(positions(await world.documents(prefix))).toEqual(before);
    expect((await world.audit()).map(({ verb, outcome }) => [verb, outcome])).toEqual([['leases rewind', 'failed']]);
  });

  it('a foreign host that wakes up afterwards, scaled to zero, is noticed, and what it may do is said', async () => {
    const { world, prefix, host } = await stage();
    world.clock.meanwhile = async (sofar) => {
      // It still thinks it owns them, and writes what it has in memory; or takes them again.
      if (sofar > 150_000) await host.acquire();
    };
    const error = await world.refusal(leasesRewind, { prefix, to: '2000-01-01' });
    expect(error).toMatchObject({ code: 'lease-host-running' });
    expect(error.message).toContain('may overwrite them with its old ones');
  });

  // Of two leases: writes 1 and 2 claim them, 3 and 4 move them.
  it.each([2, 4])(
    'a foreign host that wakes up just then, at write %i, leaves every position as it was',
    async (nth) => {
      const { world, prefix, host } = await stage();
      const before = positions(await world.documents(prefix));
      world.stage.emulator.faults({ rules: [{ operation: 'replace', container: 'leases', nth, status: 412 }] });
      const error = await world.refusal(leasesRewind, { prefix, to: '2000-01-01' });
      world.stage.emulator.faults({});
      expect(error).toMatchObject({ code: 'lease-host-running' });
      expect(positions(await world.documents(prefix))).toEqual(before);
      await host.stop();
    },
  );

  it('a rewind of a foreign host’s leases to the beginning deletes them with their marker, so that the host makes them again, and never writes a null', async () => {
    const { world, prefix, host, seen } = await stage();
    await host.stop();
    const outcome = await world.run(leasesRewind, { prefix, to: 'beginning' });
    expect(outcome.text).toContain('startFromBeginning: true');
    expect(await world.documents(prefix)).toEqual([]);
    expect((await world.documents()).map(({ id }) => id)).not.toContain(`${prefix}.info`);
    seen.length = 0;
    await host.bootstrap();
    await host.acquire();
    await host.work();
    expect(seen).toHaveLength(20);
  });
});

describe('bad input', () => {
  it('bad input is told before anybody waits', async () => {
    const world = await leaseWorld(2);
    expect(await world.refusal(leasesRewind, { to: 'beginning' })).toMatchObject({ code: 'leases-none' });
    await world.write(0, 8);
    await world.derive();
    const own = await world.ownPrefix();
    for (const [input, code, said] of [
      [{ to: 'yesterday' }, 'input-invalid', 'checkpoint:NAME'],
      [{ to: '"3"', container: 'Orders' }, 'input-invalid', '--lease'],
      [{ to: '"3"', lease: '99' }, 'not-found', 'Name one of:'],
      [{ to: 'beginning', prefix: `${own}x` }, 'leases-none', own],
      [{ to: 'beginning', prefix: 'shop' }, 'leases-none', 'the whole prefix'],
      [{ to: 'beginning', prefix: 'Orders' }, 'leases-none', 'Orders is a container'],
      [{ to: 'beginning', container: 'Order' }, 'not-found', 'Orders'],
      [{ to: 'checkpoint:nope' }, 'not-found', 'checkpoints save'],
      [{ to: 'beginning', leaseExpiration: 5 }, 'input-invalid', '--help'],
    ] as const) {
      const error = await world.refusal(leasesRewind, input);
      expect([error.code, `${error.message} ${error.hint}`]).toEqual([code, expect.stringContaining(said)]);
    }
    expect(world.clock.total).toBe(0);
    expect(await world.audit()).toEqual([]);
  });

  it('bad input such as a missing lease container, or one that refuses us, is told with its remedy', async () => {
    const world = await leaseWorld(1);
    await world.write(0, 3);
    await world.derive();
    world.stage.emulator.faults({ rules: [{ container: 'leases', status: 403 }] });
    expect(await world.refusal(leasesRewind, { to: 'beginning' })).toMatchObject({
      code: 'lease-container-denied',
      hint: expect.stringContaining('Data Contributor') as string,
    });
    world.stage.emulator.faults({});
    await world.leases.delete();
    expect(await world.refusal(leasesRewind, { to: 'beginning' })).toMatchObject({
      code: 'lease-container-missing',
      hint: expect.stringContaining('LEASES_CONTAINER') as string,
    });
  });
});
