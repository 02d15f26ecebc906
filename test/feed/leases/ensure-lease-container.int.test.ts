import { ensureLeaseContainer } from 'millrace/feed';
import { describe, expect, it } from 'vitest';
import { emulate } from '../../emulator/emulate.ts';

describe('the lease container', () => {
  it('the lease container is created with the key and the time to live that all hosts need, once', async () => {
    const { database } = await emulate();
    const made = await Promise.all([1, 2, 3].map(() => ensureLeaseContainer(database, 'leases', { throughput: 800 })));
    const { resource } = await (made[0] ?? database.container('')).read();
    expect(resource).toMatchObject({ id: 'leases', partitionKey: { paths: ['/id'] }, defaultTtl: -1 });
    const { resource: offer } = await database.container('leases').readOffer();
    expect(offer?.content?.offerThroughput).toBe(800);
    const again = await ensureLeaseContainer(database, 'leases', { throughput: 400 });
    const { resource: kept } = await again.readOffer();
    expect(kept?.content?.offerThroughput, 'an existing container keeps it').toBe(800);
  });

  it('the lease container is created although an answer is lost', async () => {
    const { database, emulator } = await emulate();
    emulator.faults({ rules: [{ operation: 'colls.post', status: 'reset', effect: 'after', nth: 1 }] });
    await ensureLeaseContainer(database, 'leases');
    emulator.faults({});
    expect((await database.container('leases').read()).resource).toMatchObject({ defaultTtl: -1 });
  });

  it('the lease container may have the key /partitionKey, as Gremlin accounts have', async () => {
    const { database } = await emulate();
    await database.containers.create({ id: 'leases', partitionKey: '/partitionKey', defaultTtl: -1 });
    expect((await ensureLeaseContainer(database, 'leases')).id).toBe('leases');
  });

  it('the lease container that does not fit is refused, with the reason', async () => {
    const { database, client, emulator } = await emulate();
    await database.containers.create({ id: 'typed', partitionKey: '/type', defaultTtl: -1 });
    await database.containers.create({ id: 'off', partitionKey: '/id' });
    await database.containers.create({ id: 'short', partitionKey: '/id', defaultTtl: 3600 });
    for (const [id, code, message] of [
      ['typed', 'lease-container-key', 'The lease container typed has the partition key /type'],
      ['off', 'container-unfit', 'The lease container off has no default time to live'],
      ['short', 'container-unfit', 'The lease container short has a default time to live of 3600 s'],
    ] as const)
      await expect(ensureLeaseContainer(database, id)).rejects.toMatchObject({ code, message });
    await expect(ensureLeaseContainer(client.database('nowhere'), 'leases')).rejects.toMatchObject({
      code: 'missing',
      message: 'There is no database nowhere',
    });
    emulator.faults({ rules: [{ operation: 'colls.post', status: 403 }] });
    await expect(ensureLeaseContainer(database, 'leases')).rejects.toMatchObject({ code: 'lease-container-denied' });
  });
});
