// What one shard more costs a host when it starts, by counted requests: time depends on the machine.
import { expect, it, vi } from 'vitest';
import { compose } from '../../src/runtime/hosts/processor-host.ts';
import { type SpreadStage, openSpread } from '../support/spread-stage.ts';

const [FEW, MORE] = [2, 8];
/** A shard has five feeds. The first start makes their leases and epochs. */
const [AT_FIRST, LATER] = [96, 46];

const named = (n: number): string[] => Array.from({ length: n }, (_, at) => `shard${at}`);

/** Requests until every feed was read for the first time. */
async function requestsOf(stage: SpreadStage, shards: number): Promise<number> {
  const app = await compose({ ...stage, readLagMs: 0, host: 'host' });
  const before = { ...stage.emulator.stats().requests };
  await app.start();
  const feeds = await vi.waitFor(
    () => {
      const sources = app.sources();
      expect(sources.filter(({ container }) => container.endsWith('/Orders'))).toHaveLength(shards);
      const unread = sources.filter(({ leases }) => leases[0]?.checkedAt === undefined);
      expect(unread.map(({ container }) => container)).toEqual([]);
      return sources.length;
    },
    { timeout: 60_000, interval: 20 },
  );
  const after = Object.entries(stage.emulator.stats().requests);
  await app.stop();
  expect(feeds, 'five feeds of each shard').toBeGreaterThanOrEqual(5 * shards);
  return after.reduce((sum, [kind, count]) => sum + count - (before[kind] ?? 0), 0);
}

it('a start over shards takes a host few requests a shard, because what shards share is asked once', async () => {
  const first = new Map<number, number>();
  const later = new Map<number, number>();
  for (const shards of [FEW, MORE]) {
    await using stage = await openSpread(named(shards));
    first.set(shards, await requestsOf(stage, shards));
    later.set(shards, await requestsOf(stage, shards));
  }
  const oneMore = (of: ReadonlyMap<number, number>): number => (of.get(MORE)! - of.get(FEW)!) / (MORE - FEW);
  expect(oneMore(first), 'at the first start').toBeLessThanOrEqual(AT_FIRST);
  expect(oneMore(later), 'at a later one').toBeLessThanOrEqual(LATER);
});
