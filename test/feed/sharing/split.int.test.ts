import { describe, expect, it, vi } from 'vitest';
import { leaseStage } from '../lease-stage.ts';
import { type Host, type HostOptions, hostOf, numbers, write } from '../processor-stage.ts';

async function stage(partitions = 1) {
  const { store, emulator, monitored, documents } = await leaseStage(partitions);
  const host = (name: string, options?: HostOptions): Promise<Host> => hostOf(name, monitored, store(name), options);
  const path = `${monitored.database.id}/${monitored.id}`;
  const leases = async () => (await documents()).filter(({ id }) => id.startsWith('P..'));
  const ranges = async () =>
    (await leases()).map(({ FeedRange }) => (FeedRange as { Range: { min: string; max: string } }).Range);
  const physical = async () =>
    (await monitored.getFeedRanges()).map(({ minInclusive: min, maxExclusive: max }) => ({ min, max }));
  return { emulator, monitored, host, path, leases, ranges, physical };
}

const until = <T>(check: () => T | Promise<T>): Promise<T> => vi.waitFor(check, { timeout: 20_000, interval: 5 });
const byMin = (ranges: readonly { min: string; max: string }[]) => ranges.toSorted((a, b) => (a.min < b.min ? -1 : 1));
const handled = (...hosts: readonly Host[]): string[] => hosts.flatMap(({ pages }) => pages.flat());
const expectAll = (ids: readonly string[], ...hosts: readonly Host[]): void =>
  expect([...new Set(handled(...hosts))].toSorted()).toEqual(ids.toSorted());

describe('a partition that is split', () => {
  it('a partition that is split while it is read gives its position to its children, which go on and read nothing again', async () => {
    const { monitored, host, emulator, path, ranges, physical } = await stage();
    const ids = numbers(0, 200);
    await write(monitored, ids.slice(0, 80));
    const a = await host('a', { pageSize: 10 });
    await a.processor.start();
    await until(() => expect(a.pages.flat()).toHaveLength(80));
    emulator.split(path);
    await write(monitored, ids.slice(80, 140));
    await until(() => expectAll(ids.slice(0, 140), a));
    emulator.split(path);
    await write(monitored, ids.slice(140));
    await until(() => expectAll(ids, a));
    await until(async () => expect(byMin(await ranges())).toEqual(byMin(await physical())));
    await a.processor.stop();
    expect(handled(a), 'at most a page again for each split').toSatisfy((of: string[]) => of.length <= 220);
  });

  it('a partition that is split before anything was read loses nothing', async () => {
    const { monitored, host, emulator, path } = await stage();
    const ids = numbers(0, 60);
    await write(monitored, ids);
    const a = await host('a', { pageSize: 10, handle: () => Promise.reject(new Error('not yet')) });
    await a.processor.start();
    await a.processor.stop();
    emulator.split(path);
    const b = await host('b', { pageSize: 10 });
    await b.processor.start();
    await until(() => expectAll(ids, b));
    await b.processor.stop();
  });

  it('a partition that is split while all hosts are down loses nothing, and two hosts share its children', async () => {
    const { monitored, host, emulator, path, leases } = await stage(2);
    const ids = numbers(0, 150);
    await write(monitored, ids.slice(0, 50));
    const a = await host('a');
    await a.processor.start();
    await until(() => expectAll(ids.slice(0, 50), a));
    await a.processor.stop();
    emulator.split(path);
    emulator.split(path);
    await write(monitored, ids.slice(50));
    const [b, c] = [await host('b', { pageSize: 5 }), await host('c', { pageSize: 5 })];
    await Promise.all([b.processor.start(), c.processor.start()]);
    await until(() => expectAll(ids.slice(50), b, c));
    const owned = async (name: string) => (await leases()).filter(({ Owner }) => Owner === name).length;
    await until(async () => expect([await owned('b'), await owned('c')]).toEqual([2, 2]));
    await Promise.all([b.processor.stop(), c.processor.stop()]);
  });
});

describe('partitions that are merged', () => {
  it('partitions that are merged are read on by the leases they had, each its own part', async () => {
    const { monitored, host, emulator, path, leases } = await stage(2);
    const ids = numbers(0, 120);
    await write(monitored, ids.slice(0, 60));
    const a = await host('a', { pageSize: 10 });
    await a.processor.start();
    await until(() => expectAll(ids.slice(0, 60), a));
    emulator.merge(path);
    await write(monitored, ids.slice(60));
    await until(() => expectAll(ids, a));
    await a.processor.stop();
    expect(handled(a)).toHaveLength(120);
    expect(await leases()).toHaveLength(2);
  });
});
