import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { partitionOf } from '../../src/base/event-hub-partition.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';

/** The client's own function, which it doesn't export. */
const file = new URL('../../node_modules/@azure/event-hubs/dist/esm/impl/partitionKeyToIdMapper.js', import.meta.url);
const { mapPartitionKeyToId } = (await import(pathToFileURL(file.pathname).href)) as {
  mapPartitionKeyToId: (this: void, key: string, partitions: number) => number;
};

const seed = suiteSeed();

it(`our hash maps keys to partitions as the client of Event Hubs does (seed ${seed})`, () => {
  const random = new Random(seed);
  for (let round = 0; round < 5_000; round++) {
    const key = Array.from({ length: random.int(40) }, () => String.fromCodePoint(random.int(0x2fff))).join('');
    const partitions = 1 + random.int(100);
    expect([key, partitionOf(key, partitions)]).toEqual([key, mapPartitionKeyToId(key, partitions)]);
  }
});
