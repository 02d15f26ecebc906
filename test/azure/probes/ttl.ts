import type { Container } from '@azure/cosmos';
import { type Bench, type Probe, same, statusOf, until } from '../probe.ts';

const expired = async (bench: Bench): Promise<Container> => {
  const container = await bench.container({ defaultTtl: -1 });
  await container.items.create({ id: '1', pk: 'a', ttl: 1 });
  await until(bench, 'An item with a ttl of one second gone', async () => {
    return (await statusOf(container.item('1', 'a').read())) === '404';
  });
  return container;
};

export const ttl: readonly Probe[] = [
  {
    number: 'ASM-A4',
    asks: 'time to live counts from the last write, and what has expired is hidden to queries too',
    run: async (bench) => {
      const container = await expired(bench);
      same((await container.items.query('SELECT * FROM c').fetchAll()).resources, [], 'a query');
    },
  },
  {
    number: 'ASM-E18',
    asks: 'an item’s ttl counts only where the container has a default',
    run: async (bench) => {
      const plain = await bench.container();
      await plain.items.create({ id: '1', pk: 'a', ttl: 1 });
      // By the time that the other one is gone this one would be.
      await expired(bench);
      same(await statusOf(plain.item('1', 'a').read()), '200', 'the item without a default');
    },
  },
  {
    number: 'ASM-E53',
    asks: 'an expired item is gone to every request at once: a patch is 404, and its id can be created again',
    run: async (bench) => {
      const container = await expired(bench);
      same(await statusOf(container.item('1', 'a').patch([{ op: 'set', path: '/v', value: 1 }])), '404', 'a patch');
      same(await statusOf(container.items.create({ id: '1', pk: 'a' })), '201', 'a create');
    },
  },
  {
    number: 'ASM-F20',
    asks: 'a query of one partition answers with the service’s time, by which it writes _ts',
    run: async (bench) => {
      const container = await bench.container();
      const options = { partitionKey: 'a' };
      const now = 'SELECT VALUE GetCurrentTimestamp()';
      const { resources: before } = await container.items.query<number>(now, options).fetchAll();
      const { resource } = await container.items.create({ id: '1', pk: 'a' });
      const { resources: after } = await container.items.query<number>(now, options).fetchAll();
      same([before.length, after.length], [1, 1], 'the number of answers');
      const written = Number(resource?._ts);
      const least = Math.floor((before[0] ?? NaN) / 1_000);
      same(written >= least && written <= (after[0] ?? NaN) / 1_000, true, `_ts ${written} between the two`);
    },
  },
  {
    number: 'ASM-F21',
    asks: 'a patch sets ttl, and the item’s life counts from that patch',
    run: async (bench) => {
      const container = await bench.container({ defaultTtl: -1 });
      await container.items.create({ id: '1', pk: 'a' });
      await container.item('1', 'a').patch([{ op: 'set', path: '/ttl', value: 1 }]);
      await until(bench, 'An item that got a ttl of one second gone', async () => {
        return (await statusOf(container.item('1', 'a').read())) === '404';
      });
    },
  },
];
