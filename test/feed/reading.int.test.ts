// From where the feed is read, how much at a time, and how fast.
import { setImmediate as turn } from 'node:timers/promises';
import { type Container, CosmosClient } from '@azure/cosmos';
import { ChangeFeedProcessor, type ChangeFeedProcessorOptions } from 'millrace/feed';
import { MemoryLeases } from '../support/memory-leases.ts';
import { expect, it, onTestFinished, vi } from 'vitest';
import { changesOf, openChanges } from '../../src/feed/processor/read-changes.ts';
import type { RangePosition } from '../../src/feed/reading/position.ts';
import { emulate } from '../emulator/emulate.ts';
import { ManualClock } from '../support/clock.ts';

const until = <T>(check: () => T | Promise<T>): Promise<T> => vi.waitFor(check, { timeout: 20_000, interval: 5 });

async function stage(documents: number) {
  const { emulator, database, container } = await emulate();
  const { container: leases } = await database.containers.create({ id: 'leases', partitionKey: '/id', defaultTtl: -1 });
  for (let n = 0; n < documents; n++) await container.items.create({ id: `d${n}`, pk: `d${n}` });
  const open = (options: Partial<ChangeFeedProcessorOptions>, of: Container = container): ChangeFeedProcessor => {
    const processor = new ChangeFeedProcessor({
      source: of,
      leases,
      name: 'P',
      instance: 'a',
      start: 'beginning',
      handler: () => undefined,
      ...options,
    });
    onTestFinished(() => processor.stop());
    return processor;
  };
  return { emulator, container, leases, open };
}

it('a processor asks for smaller pages where a handler is slow', async () => {
  const { open } = await stage(80);
  const sizes: number[] = [];
  // As it is measured on the processor's clock, the machine's speed doesn't matter.
  const clock = new ManualClock();
  const processor = open({
    clock,
    targetPageMs: 1_000,
    maxItems: 20,
    handler: (changes) => {
      sizes.push(changes.length);
      clock.advance(sizes.length === 1 ? 1_500 : 700);
    },
  });
  await processor.start();
  await until(() => expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(80));
  // The page after the slow one had been read by then.
  expect(sizes.slice(0, 2)).toEqual([20, 20]);
  expect(sizes.slice(2)).toEqual([10, 10, 10, 10]);
});

it('a processor waits for its budget of request units', async () => {
  const { open } = await stage(40);
  const charges: number[] = [];
  const clock = new ManualClock();
  const processor = open({
    clock,
    maxItems: 10,
    ruPerSecond: 2,
    timings: { pollMs: 600_000 },
    handler: (_changes, { charge }) => void charges.push(charge),
  });
  const started = processor.start();
  let waited = 0;
  for (; charges.length < 4 && waited < 600_000; waited += 100) {
    clock.advance(100);
    for (let n = 0; n < 20; n++) await turn();
  }
  await started;
  expect(charges).toHaveLength(4);
  // What the last page costs is paid by whoever reads next, and a second's worth was saved up.
  const paid = charges.slice(0, 3).reduce((sum, charge) => sum + charge, 0);
  expect(waited / 1_000).toBeGreaterThanOrEqual(paid / 2 - 1.1);
});

it('a processor needs no lease container where its leases are kept in memory', async () => {
  const { container, open } = await stage(5);
  const memory = new MemoryLeases(async () => {
    const { resources } = await container.readPartitionKeyRanges().fetchAll();
    return resources.map(({ minInclusive: min, maxExclusive: max }) => ({ min, max }));
  });
  const ids: string[] = [];
  const options = { leases: memory.store('a'), handler: (changes: readonly { id: string }[]) => take(changes) };
  const take = (changes: readonly { id: string }[]): void => void ids.push(...changes.map(({ id }) => id));
  const first = open(options);
  await first.start();
  await first.drained();
  await first.stop();
  expect(ids.toSorted()).toEqual(['d0', 'd1', 'd2', 'd3', 'd4']);
  const second = open(options);
  await second.start();
  await second.drained();
  expect(ids, 'it goes on where the first one stopped').toHaveLength(5);
});

it('a processor reads from the client’s preferred regions but those excluded, and writes leases where writes go', async () => {
  const { emulator, container, leases } = await stage(3);
  const asked: { readonly region: string; readonly what: string }[] = [];
  const { httpClient, ...options } = emulator.clientOptions;
  const region = (name: string) => ({
    name,
    databaseAccountEndpoint: `http://acc-${name.replace(' ', '')}.test/`.toLowerCase(),
  });
  const regions = [region('West Europe'), region('North Europe')];
  const client = new CosmosClient({
    ...options,
    endpoint: 'http://acc.test/',
    consistencyLevel: 'Session',
    connectionPolicy: { preferredLocations: ['North Europe', 'West Europe'] },
    httpClient: {
      sendRequest: async (request) => {
        const { host, pathname } = new URL(request.url);
        const feed = request.headers.get('A-IM') !== undefined;
        if (feed || request.method === 'PUT')
          asked.push({ region: host.split('.')[0] ?? '', what: feed ? 'feed' : 'lease' });
        request.url = request.url.replace(/^http:\/\/[^/]+\//, options.endpoint ?? '');
        const response = await httpClient.sendRequest(request);
        if (pathname !== '/') return response;
        const account = JSON.parse(response.bodyAsText ?? '{}') as object;
        const [writable] = regions;
        return {
          ...response,
          bodyAsText: JSON.stringify({ ...account, writableLocations: [writable], readableLocations: regions }),
        };
      },
    },
  });
  onTestFinished(() => client.dispose());
  const database = client.database(container.database.id);
  const read = async (excluded: readonly string[]): Promise<string[]> => {
    asked.length = 0;
    const processor = new ChangeFeedProcessor({
      source: database.container(container.id),
      leases: database.container(leases.id),
      name: `without ${excluded.join()}`,
      instance: 'a',
      start: 'beginning',
      excludedRegions: excluded,
      handler: () => undefined,
    });
    await processor.start();
    await processor.drained();
    await processor.stop();
    return [...new Set(asked.map(({ region: at, what }) => `${what} ${at}`))].toSorted();
  };
  expect(await read([])).toEqual(['feed acc-northeurope', 'lease acc-westeurope']);
  expect(await read(['North Europe'])).toEqual(['feed acc-westeurope', 'lease acc-westeurope']);
  const { resources } = await leases.items
    .query<string>('SELECT VALUE c.id FROM c WHERE IS_DEFINED(c.Owner)')
    .fetchAll();
  expect(
    resources.every((id) => /^without [^_]*acc\.test_/.test(id)),
    'named after the account, not a region',
  ).toBe(true);
});

it('a feed that is open goes on where it ended, with one request', async () => {
  const { emulator, container } = await stage(30);
  const requests = (): number => Object.values(emulator.stats().requests).reduce((sum, n) => sum + n, 0);
  const open = await openChanges(container, {});
  let checkpoint: readonly RangePosition[] | undefined;
  const read = async (): Promise<string[]> => {
    const found: string[] = [];
    for await (const page of changesOf(open, { from: checkpoint ? { checkpoint } : 'beginning' })) {
      found.push(...page.changes.map(({ id }) => id));
      checkpoint = page.checkpoint;
    }
    return found;
  };
  expect(await read()).toHaveLength(30);
  const before = requests();
  expect(await read()).toEqual([]);
  expect(requests() - before).toBe(1);
  await container.items.create({ id: 'more', pk: 'more' });
  const after = requests();
  expect(await read()).toEqual(['more']);
  expect(requests() - after, 'it has no more than the answer said').toBe(1);
});
