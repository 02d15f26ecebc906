import { describe, expect, it } from 'vitest';
import { leasesAdopt } from '../../../src/verbs/leases/adopt.operation.ts';
import { leasesExport } from '../../../src/verbs/leases/export.operation.ts';
import { leasesHandback } from '../../../src/verbs/leases/handback.operation.ts';
import { writeDocument } from '../../../src/feed/leases/dialects/write.ts';
import { readDocument } from '../../../src/feed/leases/dialects/read.ts';
import { changesOf, openQueues } from '../../engine/deferred/defer.ts';
import { type LeaseWorld, type Stored, leaseWorld } from '../../verbs/leases/lease-world.ts';

const positions = (documents: readonly Stored[]) => documents.map(({ ContinuationToken }) => ContinuationToken);
const summaries = async (world: LeaseWorld) =>
  (
    await world.stage.container('Summaries').items.query<string>('SELECT VALUE c.id FROM c').fetchAll()
  ).resources.toSorted();

async function stage(partitions = 2) {
  const world = await leaseWorld(partitions);
  await world.write(0, 20);
  const prefix = await world.prefixOf('billing');
  const seen: string[] = [];
  const host = world.foreign(prefix, {
    handle: (documents) => void seen.push(...documents.map(({ id }) => String(id))),
  });
  await host.bootstrap();
  await host.acquire();
  return { world, prefix, host, seen };
}

describe('adopting', () => {
  it('an adoption goes on exactly where a stopped host was: nothing twice, nothing left out', async () => {
    const { world, prefix, host, seen } = await stage();
    await host.work();
    await host.stop();
    expect(seen).toHaveLength(20);
    await world.write(20, 30);
    const before = await world.documents(prefix);
    const steps = await world.plan(leasesAdopt, { prefix });
    expect(steps.filter((step) => step.startsWith('read Orders'))).toHaveLength(2);
    expect(await world.documents(prefix), 'a plan changes nothing').toEqual(before);
    const outcome = await world.run(leasesAdopt, { prefix });
    expect(outcome.text).toContain('keep the other one stopped');
    expect(positions(await world.documents(await world.ownPrefix()))).toEqual(positions(before));
    expect((await world.documents(prefix)).map(({ Owner, ContinuationToken }) => [Owner, ContinuationToken])).toEqual(
      before.map(({ ContinuationToken }) => [null, ContinuationToken]),
    );
    await world.derive();
    expect(await summaries(world)).toEqual(Array.from({ length: 10 }, (_, n) => `o${20 + n}`));
  });

  it('an adoption goes on over a split that only the service has seen', async () => {
    const { world, prefix, host } = await stage(1);
    await host.work();
    await host.stop();
    world.stage.emulator.split('shop/Orders');
    await world.write(20, 40);
    await world.run(leasesAdopt, { prefix });
    await world.derive();
    expect(await summaries(world)).toHaveLength(20);
  });

  it('an adoption of a host that runs is refused before anything is written', async () => {
    const { world, prefix, host } = await stage();
    await host.work();
    const before = positions(await world.documents(prefix));
    world.clock.meanwhile = () => host.renew();
    expect(await world.refusal(leasesAdopt, { prefix })).toMatchObject({ code: 'lease-host-running' });
    expect(positions(await world.documents(prefix))).toEqual(before);
    expect(await world.documents(await world.ownPrefix())).toEqual([]);
  });

  it('an adoption of a host that was only scaled to zero, and comes back while we wait, leaves the pipeline as it was', async () => {
    const { world, prefix, host } = await stage();
    await host.work();
    world.clock.meanwhile = async (sofar) => {
      if (sofar > 130_000) await host.acquire();
    };
    const error = await world.refusal(leasesAdopt, { prefix });
    expect(error).toMatchObject({ code: 'lease-host-running' });
    expect(await world.documents(await world.ownPrefix())).toEqual([]);
  });

  it('an adoption where that host never checkpointed asks where to begin', async () => {
    const { world, prefix, host } = await stage(2);
    await host.stop();
    const error = await world.refusal(leasesAdopt, { prefix });
    expect(error).toMatchObject({
      code: 'input-invalid',
      hint: expect.stringContaining('--start beginning') as string,
    });
    expect(world.clock.total).toBe(0);
    expect(await world.refusal(leasesAdopt, { prefix, start: 'soon' })).toMatchObject({ code: 'input-invalid' });
    await world.run(leasesAdopt, { prefix, start: '2000-01-01' });
    expect(positions(await world.documents(await world.ownPrefix()))).toEqual(['"0"', '"0"']);
    await world.run(leasesAdopt, { prefix, start: 'beginning' });
    expect(positions(await world.documents(await world.ownPrefix()))).toEqual([null, null]);
    await world.derive();
    expect(await summaries(world)).toHaveLength(20);
  });

  it.each(['java-pk', 'java-epk'] as const)('an adoption takes over a %s service', async (dialect) => {
    const world = await leaseWorld(1);
    await world.write(0, 10);
    const range = { min: '', max: 'FF' };
    const name = dialect === 'java-pk' ? world.namedPrefix('svc') : await world.prefixOf('svc');
    const { resource } = await world.orders.read();
    await world.leases.items.create(
      writeDocument(dialect, { prefix: name, partition: '0', range, position: '"7"', rid: resource?._rid }),
    );
    await world.run(leasesAdopt, { prefix: name });
    expect(await world.documents(await world.ownPrefix())).toMatchObject([{ version: 0, ContinuationToken: '"7"' }]);
    await world.derive();
    expect(await summaries(world)).toEqual(['o7', 'o8', 'o9']);

    await world.run(leasesHandback, { prefix: name });
    const [back] = await world.documents(name);
    expect(readDocument(back)).toMatchObject({ kind: 'lease', dialect, position: '"10"', owner: null });
  });

  it('an adoption refuses what it can’t do, and says what could be done', async () => {
    const { world, prefix, host } = await stage(1);
    await host.work();
    await host.stop();
    const own = await world.ownPrefix();
    const elsewhere = 'x.documents.azure.com_dbRid==_gone=';
    const lease = { version: 0, LeaseToken: '0', Owner: null, ContinuationToken: '"1"', properties: {} };
    await world.leases.items.create({ id: `${elsewhere}..0`, ...lease });
    const days = await world.prefixOf('billing', 'Days');
    await world.leases.items.create({ id: `${days}..0`, ...lease });
    await world.derive();
    for (const [given, code] of [
      [own, 'input-invalid'],
      [elsewhere, 'not-found'],
      [days, 'not-found'],
      [prefix.slice(0, -1), 'leases-none'],
    ] as const)
      for (const operation of [leasesAdopt, leasesHandback])
        expect(await world.refusal(operation, { prefix: given })).toMatchObject({
          code,
          hint: expect.any(String) as string,
        });
    await world.leases.items.create({ ...lease, id: `${prefix}..9`, version: 9, LeaseToken: '9' });
    expect(await world.refusal(leasesAdopt, { prefix })).toMatchObject({ code: 'lease-unexplained' });
  });
});

describe('handing back', () => {
  it('handing back lets the other host go on exactly where the pipeline stopped', async () => {
    const { world, prefix, host, seen } = await stage();
    await host.work();
    await host.stop();
    await world.run(leasesAdopt, { prefix });
    await world.write(20, 30);
    await world.derive();
    await world.write(30, 35);
    const outcome = await world.run(leasesHandback, { prefix });
    expect(outcome.text).toContain('keep the pipeline stopped');
    seen.length = 0;
    await host.acquire();
    await host.work();
    expect(seen.toSorted()).toEqual(['o30', 'o31', 'o32', 'o33', 'o34']);
    expect((await world.audit()).map(({ verb }) => verb)).toEqual(['leases adopt', 'leases handback']);
  });

  it('handing back is refused while changes are deferred, and so is an export of the pipeline’s positions', async () => {
    const { world, prefix, host } = await stage(1);
    await host.work();
    await host.stop();
    await world.run(leasesAdopt, { prefix });
    const { pipeline } = world.stage.loaded;
    const deferred = await openQueues(world.stage.services.place.state, pipeline.name, 'Orders');
    await deferred.defer('s1', changesOf('Orders', 's1', 3));
    const before = await world.documents();
    const refused = { code: 'leases-deferred', message: expect.stringContaining('Orders') as string };
    expect(await world.refusal(leasesHandback, { prefix })).toMatchObject(refused);
    expect(await world.refusal(leasesExport)).toMatchObject(refused);
    expect((await world.run(leasesExport, { prefix })).text, 'positions of others').toContain(prefix);
    expect(await world.documents()).toEqual(before);
    for (let portion; typeof (portion = await deferred.next('s1', 1_000)) !== 'string';) await deferred.done(portion);
    await world.run(leasesExport);
    await world.run(leasesHandback, { prefix });
  });

  it('handing back while the pipeline still runs is refused', async () => {
    const { world, prefix, host } = await stage(1);
    await host.work();
    await host.stop();
    await world.derive();
    const before = positions(await world.documents(prefix));
    const own = await world.ownPrefix();
    const ours = world.foreign(own);
    await ours.acquire();
    world.clock.meanwhile = () => ours.renew();
    expect(await world.refusal(leasesHandback, { prefix })).toMatchObject({ code: 'lease-host-running' });
    expect(positions(await world.documents(prefix))).toEqual(before);
  });

  it('handing back needs positions to hand back, for every range, and leases to hand them to', async () => {
    const { world, prefix, host } = await stage(2);
    await host.work();
    await host.stop();
    expect(await world.refusal(leasesHandback, { prefix })).toMatchObject({ code: 'leases-none' });
    await world.derive();
    const [one] = await world.documents(prefix);
    await world.leases.item(String(one?.id), String(one?.id)).delete();
    expect(await world.refusal(leasesHandback, { prefix })).toMatchObject({ code: 'leases-incomplete' });
  });
});
