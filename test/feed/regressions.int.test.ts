// What went wrong in the processors of others, tried with ours: azure-cosmos-dotnet-v3#6079, #5846 and #5851.
import { ChangeFeedPolicy, ChangeFeedRetentionTimeSpan } from '@azure/cosmos';
import { ChangeFeedProcessor, type ChangeFeedProcessorOptions } from 'millrace/feed';
import { MemoryLeases } from '../support/memory-leases.ts';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { emulate } from '../emulator/emulate.ts';

const BRISK = { acquireMs: 20, expirationMs: 400, renewMs: 100, pollMs: 10 };
const MODES = ['latest-version', 'all-versions-and-deletes'] as const;
const until = <T>(check: () => T | Promise<T>): Promise<T> => vi.waitFor(check, { timeout: 20_000, interval: 5 });

async function stage(mode: (typeof MODES)[number]) {
  const changeFeedPolicy = new ChangeFeedPolicy(ChangeFeedRetentionTimeSpan.fromMinutes(10));
  const { emulator, database, container } = await emulate({ changeFeedPolicy });
  const { container: leases } = await database.containers.create({ id: 'leases', partitionKey: '/id', defaultTtl: -1 });
  const write = async (from: number, to: number): Promise<void> => {
    for (let n = from; n < to; n++) await container.items.upsert({ id: `d${n}`, pk: `d${n}` });
  };
  const open = (more: Partial<ChangeFeedProcessorOptions> = {}) => {
    const seen: string[] = [];
    const processor = new ChangeFeedProcessor({
      source: container,
      leases,
      name: 'P',
      instance: 'a',
      start: 'now',
      timings: BRISK,
      ...more,
      mode,
      handler: (changes: { id: string }[]) => void seen.push(...changes.map(({ id }) => id)),
    } as unknown as ChangeFeedProcessorOptions);
    onTestFinished(() => processor.stop());
    const positioned = () =>
      until(() => expect(processor.status().leases.map(({ position }) => position)).not.toContain(undefined));
    return { processor, seen, positioned };
  };
  return { emulator, container, leases, write, open };
}

const ids = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, n) => `d${from + n}`).toSorted();

describe.each(MODES)('a processor of the mode %s', (mode) => {
  it.each(['stored', 'in memory'])(
    'a processor of others lost the position of leases %s by a split while no host ran; ours goes on from it',
    async (where) => {
      const { emulator, container, leases, write, open } = await stage(mode);
      const memory = new MemoryLeases(async () =>
        (await container.getFeedRanges()).map(({ minInclusive: min, maxExclusive: max }) => ({ min, max })),
      );
      const options = (instance: string) => ({
        instance,
        leases: where === 'stored' ? leases : memory.store(instance),
      });
      const first = open(options('a'));
      await first.processor.start();
      await until(() => expect(first.processor.status().leases).toHaveLength(1));
      await first.positioned();
      await write(0, 20);
      await until(() => expect(first.seen.toSorted()).toEqual(ids(0, 20)));
      await first.processor.stop();
      await write(20, 40);
      emulator.split('d/c');
      await write(40, 60);
      const second = open(options('b'));
      await second.processor.start();
      await until(() => expect(second.seen.toSorted()).toEqual(ids(20, 60)));
      await until(() => expect(second.processor.status().leases).toHaveLength(2));
    },
  );

  it('a processor of others could not begin where no position was stored; ours asks for no time, and reads on', async () => {
    const { emulator, write, open } = await stage(mode);
    await write(0, 5);
    const { processor, seen, positioned } = open();
    await processor.start();
    await until(() => expect(processor.status().leases).toHaveLength(1));
    await positioned();
    await write(5, 8);
    await until(() => expect(seen.toSorted()).toEqual(ids(5, 8)));
    expect(emulator.stats().statuses['400']).toBeUndefined();
  });

  it('a processor of others took a whole container for the lag of a lease without a position; ours says that it is unknown', async () => {
    const { write, open, leases } = await stage(mode);
    await write(0, 30);
    const { processor, positioned } = open();
    await processor.start();
    await until(() => expect(processor.status().leases).toHaveLength(1));
    await positioned();
    await processor.stop();
    await until(async () => {
      const { resources } = await leases.items
        .query<{ id: string }>("SELECT c.id FROM c WHERE c.LeaseToken = '0'")
        .fetchAll();
      const id = resources[0]?.id ?? '';
      await leases.item(id, id).patch([{ op: 'set', path: '/ContinuationToken', value: null }]);
    });
    expect(await processor.estimator().current()).toMatchObject({
      changes: 0,
      complete: false,
      leases: [{ lag: { known: false, why: expect.stringContaining('only its host knows where it begins') } }],
    });
  });
});
