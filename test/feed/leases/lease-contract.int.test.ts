import type { FeedRange } from '../../../src/cosmos/ranges.ts';
import { MemoryLeases } from '../../support/memory-leases.ts';
import { leaseContract } from './lease-contract.ts';
import { leaseStage } from '../lease-stage.ts';

const hex = (n: number): string => n.toString(16).toUpperCase().padStart(2, '0');

leaseContract('memory', async (partitions) => {
  const borders = Array.from({ length: partitions + 1 }, (_, n) =>
    n === 0 ? '' : hex(Math.ceil((255 * n) / partitions)),
  );
  let ranges: FeedRange[] = borders.slice(1).map((max, n) => ({ min: borders[n] ?? '', max }));
  const leases = new MemoryLeases(async () => ranges);
  return {
    store: (host) => leases.store(host),
    split: async () => {
      const [first, ...others] = ranges;
      if (!first) throw new Error('Nothing to split');
      ranges = [{ min: first.min, max: '3F' }, { min: '3F', max: first.max }, ...others];
      return ranges;
    },
  };
});

leaseContract('Cosmos DB', async (partitions) => {
  const { store, emulator, monitored } = await leaseStage(partitions);
  return {
    store: (host) => store(host),
    split: async () => {
      emulator.split(`${monitored.database.id}/${monitored.id}`);
      const { resources } = await monitored.readPartitionKeyRanges().fetchAll();
      return resources.map(({ minInclusive: min, maxExclusive: max }) => ({ min, max }));
    },
  };
});
