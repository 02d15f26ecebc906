import type { Container } from '@azure/cosmos';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bin, type BinEvent, eventBins } from '../../src/patterns/index.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';
import { type World, openWorld } from './world.ts';

interface Reading extends BinEvent {
  readonly value: number;
  readonly text?: string;
}

const SEED = suiteSeed();
let world: World;
beforeAll(async () => {
  world = await openWorld(SEED);
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

let names = 0;
const fresh = (): Promise<Container> => world.create(`bins${++names}`, ['/deviceId']);
const STREAM = { deviceId: 'd1' };
const START = Date.parse('2026-11-21T00:00:00Z');
const HOUR = 3_600_000;
const reading = (n: number, at: number, more: object = {}): Reading => ({
  id: `r${n}`,
  at: new Date(START + at).toISOString(),
  value: n,
  ...more,
});
const stored = async (container: Container): Promise<Bin<Reading>[]> =>
  (await container.items.query<Bin<Reading>>('SELECT * FROM c ORDER BY c.id').fetchAll()).resources;
async function told(events: AsyncIterable<Reading>): Promise<string[]> {
  const found: string[] = [];
  for await (const { id } of events) found.push(id);
  return found;
}
const inOrder = (events: readonly Reading[]): string[] =>
  events.toSorted((a, b) => (a.at === b.at ? (a.id < b.id ? -1 : 1) : a.at < b.at ? -1 : 1)).map(({ id }) => id);

describe('appending', () => {
  it('a bin of its window gets each event once, and the next bin gets it where one is full', async () => {
    const container = await fresh();
    const bins = eventBins<Reading>({ container, window: 'hour', maxEvents: 4 });
    const events = Array.from({ length: 10 }, (_, n) => reading(n, n * 60_000));
    const late = reading(10, 2 * HOUR);
    expect(await bins.append(STREAM, [...events, late, events[0]!])).toEqual({ added: 11, duplicates: 1 });
    expect(await bins.append(STREAM, [...events.toReversed(), late])).toEqual({ added: 0, duplicates: 11 });
    expect((await stored(container)).map(({ id, count, sealed }) => [id, count, sealed])).toEqual([
      ['bin|2026-11-21T00+00:00|0', 4, true],
      ['bin|2026-11-21T00+00:00|1', 4, true],
      ['bin|2026-11-21T00+00:00|2', 2, false],
      ['bin|2026-11-21T02+00:00|0', 1, false],
    ]);
  });

  it('an append ends where an earlier bin of the window is gone', async () => {
    const container = await fresh();
    const bins = eventBins<Reading>({ container, window: 'hour', maxEvents: 1 });
    await bins.append(STREAM, [reading(1, 0), reading(2, 1)]);
    await container.item('bin|2026-11-21T00+00:00|0', STREAM.deviceId).delete();
    await expect(bins.append(STREAM, [reading(3, 2)])).rejects.toMatchObject({ code: 'contended' });
  });

  it('an append holds bins to their bytes, and refuses an event that fits none', async () => {
    const container = await fresh();
    const bins = eventBins<Reading>({ container, window: 'day', maxBytes: 2_000 });
    const events = Array.from({ length: 12 }, (_, n) => reading(n, n, { text: 'é'.repeat(100 + n * 20) }));
    await bins.append(STREAM, events);
    const all = await stored(container);
    expect(all.length).toBeGreaterThan(2);
    for (const { events: own, bytes } of all) {
      expect(bytes).toBeLessThanOrEqual(2_000);
      expect(Buffer.byteLength(JSON.stringify(own))).toBeLessThanOrEqual(bytes + 1);
    }
    await expect(bins.append(STREAM, [reading(99, 0, { text: 'x'.repeat(2_000) })])).rejects.toMatchObject({
      code: 'option-invalid',
    });
    // A small one doesn't slip into a bin that was sealed because a large one didn't fit.
    await bins.append(STREAM, events);
    expect(await told(bins.read(STREAM, START, START + 24 * HOUR))).toEqual(inOrder(events));
  });

  it.each([[{ id: '', at: START }], [{ id: 'a', at: 'soon' }]])('an append refuses %j', async (event) => {
    const bins = eventBins({ container: await fresh(), window: 'hour' });
    await expect(bins.append(STREAM, [event])).rejects.toMatchObject({ code: 'option-invalid' });
  });

  it('an append refuses bins that make no sense', async () => {
    const container = await fresh();
    expect(() => eventBins({ container, window: 'hour', maxEvents: 0 })).toThrow(/maxEvents is 0/);
    expect(() => eventBins({ container, window: 'hour', maxBytes: 2_000_000 })).toThrow(/maxBytes is 2000000/);
    expect(() => eventBins({ container, window: 'hour', timeZone: 'Mars/Base' })).toThrow(/no time zone/);
  });
});

describe(`several writers at once, with answers lost and reads that lag (seed ${SEED})`, () => {
  it.each([1, 2, 3])(
    'several writers at once, with answers lost and reads that lag leave each event once, in its window (history %i)',
    async (history) => {
      const random = new Random(SEED + history);
      const container = await fresh();
      const events = Array.from({ length: 120 }, (_, n) => reading(n, random.int(3 * HOUR)));
      const id = container.id;
      world.emulator.faults({ failAfterEffect: 0.05, failBefore: 0.05, throttle: 0.02, replicaLagMs: 20 });
      const writer = async (): Promise<void> => {
        const bins = eventBins<Reading>({ container: world.client()(id), window: 'hour', maxEvents: 7 });
        for (let n = 0; n < 25; n++) {
          const some = Array.from({ length: 1 + random.int(12) }, () => random.pick(events));
          await bins.append(STREAM, some);
          for (const event of some) sent.add(event);
        }
      };
      const sent = new Set<Reading>();
      await Promise.all([writer(), writer(), writer()]);
      world.emulator.faults({});
      const all = await stored(container);
      expect(all.flatMap((bin) => bin.events.map((event) => event.id)).toSorted()).toEqual(
        [...sent].map((event) => event.id).toSorted(),
      );
      for (const bin of all) {
        expect(bin.count).toBe(bin.events.length);
        expect(bin.count).toBeLessThanOrEqual(7);
        for (const { at } of bin.events) expect(String(at).slice(0, 13)).toBe(bin.window.slice(0, 13));
      }
      for (const of of Map.groupBy(all, ({ window }) => window).values()) {
        const numbers = of.toSorted((a, b) => a.number - b.number);
        expect(numbers.map(({ number }) => number)).toEqual(numbers.keys().toArray());
        expect(numbers.map(({ sealed }) => sealed)).toEqual(numbers.map((_, index) => index < numbers.length - 1));
      }
      const bins = eventBins<Reading>({ container, window: 'hour' });
      for (const [from, to] of [
        [0, 3 * HOUR],
        [HOUR / 2, 2 * HOUR + 1],
        [HOUR, HOUR],
      ] as const) {
        const within = [...sent].filter(
          ({ at }) => Date.parse(String(at)) - START >= from && Date.parse(String(at)) - START < to,
        );
        expect(await told(bins.read(STREAM, START + from, START + to))).toEqual(inOrder(within));
      }
    },
  );
});
