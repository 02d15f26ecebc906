import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, it, onTestFinished, test, vi } from 'vitest';
import type { Events } from '../../src/base/telemetry/diagnostics.ts';
import { WRITE_BOUND_MS } from '../../src/base/bounds.ts';
import type { Fence } from '../../src/feed/tenure/fence.ts';
import { LeaseLost } from '../../src/feed/leases/lease.ts';
import { type LeaseStage, leaseStage } from './lease-stage.ts';
import { type Host, type HostOptions, hostOf, numbers, write } from './processor-stage.ts';

async function stage(partitions = 1) {
  const { store, ...rest } = await leaseStage(partitions);
  const host = (name: string, options?: HostOptions): Promise<Host> =>
    hostOf(name, rest.monitored, store(name), options);
  const leases = async () => (await rest.documents()).filter(({ id }) => id.startsWith('P..'));
  const remove = (id: string) => rest.leases.item(id, id).delete();
  return { ...rest, store, host, leases, remove };
}

const until = <T>(check: () => T | Promise<T>): Promise<T> => vi.waitFor(check, { timeout: 20_000, interval: 5 });
const handled = (...hosts: readonly Host[]): string[] => hosts.flatMap(({ pages }) => pages.flat()).toSorted();
const held = ({ processor }: Host): number => processor.status().leases.length;
const owners = async ({ documents }: Pick<LeaseStage, 'documents'>): Promise<unknown[]> =>
  (await documents()).filter(({ id }) => id.startsWith('P..')).map(({ Owner }) => Owner);

describe('one host', () => {
  it('one host gives everything to its handler once, checkpoints behind it, and offers its leases when it stops', async () => {
    const { monitored, host, leases } = await stage(4);
    const ids = numbers(0, 120).toSorted();
    await write(monitored, ids.slice(0, 80));
    const a = await host('a', { pageSize: 7 });
    await a.processor.start();
    await write(monitored, ids.slice(80));
    await until(() => expect(handled(a)).toEqual(ids));
    await a.processor.stop();
    expect(handled(a)).toEqual(ids);
    for (const lease of await leases()) {
      expect(lease).toMatchObject({ Owner: null, ContinuationToken: expect.stringMatching(/^"\d+"$/) as string });
    }
  });

  it('one host goes on where the last one stopped, and reads nothing again', async () => {
    const { monitored, host, emulator } = await stage(2);
    await write(monitored, numbers(0, 60));
    const first = await host('a', { pageSize: 5 });
    await first.processor.start();
    await until(() => expect(first.pages.flat()).toHaveLength(60));
    await first.processor.stop();
    await write(monitored, ['new']);
    const before = emulator.stats();
    const second = await host('a', { pageSize: 5 });
    await second.processor.start();
    await until(() => expect(second.processor.status().leases.every(({ checkedAt }) => checkedAt)).toBe(true));
    await until(() => expect(second.pages).toEqual([['new']]));
    const pages = (emulator.stats().statuses['200'] ?? 0) - (before.statuses['200'] ?? 0);
    const others = ['read', 'query', 'query-plan', 'replace', 'pkranges.get', 'colls.get', 'account'].reduce(
      (sum, kind) => sum + (emulator.stats().requests[kind] ?? 0) - (before.requests[kind] ?? 0),
      0,
    );
    expect(pages - others, 'pages of the feed that held anything').toBeLessThanOrEqual(1);
  });

  it('one host finishes the page in hand when it stops, and checkpoints it', async () => {
    const { monitored, host, leases } = await stage();
    await write(monitored, numbers(0, 10));
    const entered = Promise.withResolvers<void>();
    const leave = Promise.withResolvers<void>();
    const a = await host('a', {
      pageSize: 5,
      handle: () => {
        entered.resolve();
        return leave.promise;
      },
    });
    await a.processor.start();
    await entered.promise;
    const stopped = a.processor.stop();
    leave.resolve();
    await stopped;
    expect(a.pages).toEqual([numbers(0, 5)]);
    expect(await leases()).toMatchObject([{ Owner: null, ContinuationToken: '"5"' }]);
  });

  it('one host writes nothing while there is nothing new', async () => {
    const { monitored, host, leases, emulator } = await stage();
    await write(monitored, ['d']);
    const a = await host('a', { timings: { renewMs: 60_000, expirationMs: 120_000, acquireMs: 60_000 } });
    await a.processor.start();
    await until(async () => expect(await leases()).toMatchObject([{ ContinuationToken: '"1"' }]));
    const [before] = await leases();
    const polls = (): number => emulator.stats().requests['change-feed'] ?? 0;
    const seen = polls();
    await until(() => expect(polls()).toBeGreaterThan(seen + 10));
    expect(await leases()).toEqual([before]);
  });

  it('one host with an interval between checkpoints has everything stored once the feed has nothing new', async () => {
    const { monitored, host, leases } = await stage();
    await write(monitored, numbers(0, 20));
    const never = { checkpointMs: 3_600_000, renewMs: 60_000, expirationMs: 120_000 };
    const gate = Promise.withResolvers<void>();
    const a = await host('a', {
      pageSize: 5,
      timings: never,
      handle: ({ changes }) => (changes.some(({ id }) => id === 'd19') ? gate.promise : undefined),
    });
    await a.processor.start();
    await until(() => expect(a.processor.status().leases).toMatchObject([{ position: '"15"' }]));
    const [before] = await leases();
    expect(before?.['ContinuationToken'], 'pages cost no write').not.toBe('"15"');
    gate.resolve();
    await until(async () => expect(await leases()).toMatchObject([{ Owner: 'a', ContinuationToken: '"20"' }]));
  });

  it('one host says what it does: leases, their positions, and whether there is work', async () => {
    const { monitored, host } = await stage(2);
    const a = await host('a');
    expect(a.processor.status()).toEqual({ leases: [], known: 0, kept: [] });
    await a.processor.start();
    await write(monitored, numbers(0, 20));
    await until(() => expect(a.pages.flat()).toHaveLength(20));
    await until(() => {
      const { leases, known } = a.processor.status();
      expect(known).toBe(2);
      expect(leases.map(({ id }) => id).toSorted()).toEqual(['P..0', 'P..1']);
      expect(leases.every(({ idleSince, position }) => idleSince !== undefined && position !== undefined)).toBe(true);
    });
  });

  it('one host does not start where its lease container is missing', async () => {
    const { host, monitored } = await stage();
    await monitored.database.container('leases').delete();
    const a = await host('a');
    await expect(a.processor.start()).rejects.toMatchObject({ code: 'lease-container-missing' });
  });
});

describe('a handler that fails', () => {
  it('a handler that fails gets the same page again, and nothing after it before', async () => {
    const { monitored, host, leases } = await stage();
    await write(monitored, numbers(0, 9));
    const tried: string[][] = [];
    const stored: unknown[] = [];
    const a = await host('a', {
      pageSize: 3,
      handle: async (page) => {
        tried.push(page.changes.map(({ id }) => id));
        stored.push((await leases())[0]?.['ContinuationToken']);
        if (tried.length === 1 || tried.length === 3 || tried.length === 4) throw new Error('the sink is not there');
      },
    });
    await a.processor.start();
    await until(() => expect(a.pages.flat()).toHaveLength(9));
    const [one, two, three] = [numbers(0, 3), numbers(3, 6), numbers(6, 9)];
    expect(a.pages).toEqual([one, two, three]);
    expect(tried).toEqual([one, one, two, two, two, three]);
    // A position may be stored late, never early.
    expect(stored.slice(0, 2)).toEqual([null, null]);
    expect(['"3"', null]).toContain(stored[4]);
  });

  it('a handler that fails is seen in the status until it works again', async () => {
    const { monitored, host } = await stage();
    await write(monitored, ['d']);
    const broken = new Error('the sink is not there');
    let works = false;
    const a = await host('a', {
      handle: () => {
        if (!works) throw broken;
      },
    });
    await a.processor.start();
    await until(() => expect(a.processor.status().leases[0]?.failure).toBe(broken));
    works = true;
    await until(() => expect(a.pages).toEqual([['d']]));
    await until(() => expect(a.processor.status().leases[0]?.failure).toBeUndefined());
  });
});

describe('a start from now', () => {
  it('a start from now is stored before the first change is handed on, so that a crash there loses nothing', async () => {
    const { monitored, host, leases } = await stage();
    await write(monitored, ['before']);
    const stored: unknown[] = [];
    const handle = async (): Promise<void> => {
      stored.push((await leases())[0]?.['ContinuationToken']);
      if (stored.length === 1) {
        a.kill();
        throw new Error('crashed at its first change');
      }
    };
    const a: Host = await host('a', { start: 'now', handle });
    await a.processor.start();
    await until(() => expect(a.processor.status().leases[0]?.checkedAt).toBeDefined());
    await write(monitored, ['d0']);
    await until(() => expect(stored).toHaveLength(1));
    await write(monitored, ['d1']);
    const b = await host('b', { start: 'now', handle });
    await b.processor.start();
    await until(() => expect(handled(b)).toEqual(['d0', 'd1']));
    expect(stored[0]).toBe('"1"');
  });

  it('a start from now is ignored once a position is stored', async () => {
    const { monitored, host } = await stage();
    await write(monitored, ['d0']);
    const a = await host('a');
    await a.processor.start();
    await until(() => expect(a.pages).toEqual([['d0']]));
    await a.processor.stop();
    await write(monitored, ['d1']);
    const b = await host('b', { start: 'now' });
    await b.processor.start();
    await until(() => expect(b.pages).toEqual([['d1']]));
  });
});

describe('several hosts', () => {
  it('several hosts share the leases evenly, as they come and go', async () => {
    const { monitored, host } = await stage(4);
    const [a, b, c] = [await host('a'), await host('b'), await host('c')];
    await a.processor.start();
    expect(held(a)).toBe(4);
    await b.processor.start();
    await until(() => expect([held(a), held(b)]).toEqual([2, 2]));
    await c.processor.start();
    await until(() => {
      expect(held(a) + held(b) + held(c)).toBe(4);
      expect(Math.max(held(a), held(b), held(c))).toBe(2);
      expect(held(c)).toBeGreaterThan(0);
    });
    await a.processor.stop();
    await until(() => expect([held(b), held(c)]).toEqual([2, 2]));
    await write(monitored, numbers(0, 40));
    await until(() => expect(handled(b, c)).toEqual(numbers(0, 40).toSorted()));
  });

  it('several hosts share them while every lease is written all the time', async () => {
    const { monitored, host } = await stage(2);
    const a = await host('a', { pageSize: 1 });
    await write(monitored, numbers(0, 600));
    await a.processor.start();
    await until(() => expect(a.pages.length).toBeGreaterThan(5));
    const b = await host('b', { pageSize: 1 });
    await b.processor.start();
    await until(() => expect([held(a), held(b)]).toEqual([1, 1]));
    expect(new Set(handled(a, b)).size, 'still busy when they shared').toBeLessThan(600);
  });

  it('a stopping one hands its leases over at once, not after they expire', async () => {
    const { host, documents } = await stage(3);
    const slow = { expirationMs: 3_600_000, renewMs: 1_000_000 };
    const [a, b] = [await host('a', { timings: slow }), await host('b', { timings: slow })];
    await a.processor.start();
    await a.processor.stop();
    expect(await owners({ documents })).toEqual([null, null, null]);
    await b.processor.start();
    expect(held(b)).toBe(3);
  });

  it('one with the name of a host that died goes on with its leases at once', async () => {
    const { host, leases } = await stage(2);
    const positions = async () => (await leases()).map(({ ContinuationToken }) => ContinuationToken);
    const slow = { expirationMs: 3_600_000, renewMs: 1_000_000 };
    const a = await host('a', { timings: slow });
    await a.processor.start();
    await until(async () => expect(await positions()).toEqual(['"0"', '"0"']));
    a.kill();
    const again = await host('a', { timings: slow });
    await again.processor.start();
    expect(held(again)).toBe(2);
  });

  it('the leases of one that was killed are taken over once they expire, and nothing is lost', async () => {
    const { monitored, host } = await stage(2);
    const a = await host('a', { pageSize: 3 });
    const b = await host('b', { pageSize: 3 });
    await write(monitored, numbers(0, 30));
    await a.processor.start();
    await until(() => expect(handled(a).length).toBeGreaterThan(5));
    a.kill();
    await write(monitored, numbers(30, 60));
    await b.processor.start();
    await until(() => expect(new Set(handled(a, b)).size).toBe(60));
    await until(() => expect(held(b)).toBe(2));
  });

  it.each(['2001-01-01T00:00:00.0000000Z', '2099-01-01T00:00:00.0000000Z'])(
    'several hosts judge expiry by what they see, not by the clock that wrote %s',
    async (timestamp) => {
      const { host, leases, store, monitored } = await stage();
      await store('nobody').prepare(new AbortController().signal);
      const [document] = await leases();
      await monitored.database
        .container('leases')
        .item('P..0', 'P..0')
        .replace({ ...document, id: 'P..0', Owner: 'gone', timestamp });
      const b = await host('b');
      const started = performance.now();
      await b.processor.start();
      expect(held(b)).toBe(0);
      await until(() => expect(held(b)).toBe(1));
      expect(performance.now() - started).toBeGreaterThanOrEqual(400);
      expect(await leases()).toMatchObject([{ Owner: 'b' }]);
    },
  );
});

describe('a host that lost its lease', () => {
  it('a host that lost its lease stops acting as soon as it knows', async () => {
    const { monitored, host } = await stage();
    await write(monitored, ['d']);
    const fences: Fence[] = [];
    const hung = Promise.withResolvers<void>();
    const a = await host('a', {
      handle: (_page, fence) => {
        fences.push(fence);
        return hung.promise;
      },
    });
    await a.processor.start();
    await until(() => expect(fences).toHaveLength(1));
    fences[0]?.assert();
    a.kill();
    await until(() => expect(fences[0]?.signal.aborted).toBe(true));
    expect(() => fences[0]?.assert()).toThrow(LeaseLost);
    hung.resolve();
  });

  it('a host that lost its lease looks for it, though it had all and no other reason to look', async () => {
    const { monitored, host, leases, remove, emulator } = await stage(2);
    const a = await host('a', { timings: { expirationMs: 3_600_000 } });
    // One listing prepares the leases, one takes them, two see them at rest.
    const atRest = until(() => expect(emulator.stats().requests['query']).toBe(4));
    await a.processor.start();
    await atRest;
    const [one] = await leases();
    await remove(one?.id ?? '');
    await until(async () => {
      const found = await leases();
      expect(found.map(({ Owner }) => Owner)).toEqual(['a', 'a']);
    });
    await write(monitored, numbers(0, 20));
    await until(() => expect(handled(a)).toEqual(numbers(0, 20).toSorted()));
  });

  it('a host that lost its lease because its handler hangs gives way to another', async () => {
    const { monitored, host } = await stage();
    await write(monitored, ['d']);
    const hung = Promise.withResolvers<void>();
    const a = await host('a', { timings: { stallMs: 300 }, handle: () => hung.promise });
    await a.processor.start();
    const b = await host('b');
    await b.processor.start();
    await until(() => expect(b.pages).toEqual([['d']]));
    expect(a.pages).toEqual([]);
    hung.resolve();
  });

  it('a host that lost its lease because its handler hangs leaves it to a healthy one, though that one has its share, and goes on with the others', async () => {
    const { monitored, host, documents } = await stage(2);
    const timings = { stallMs: 300, expirationMs: 1_000, renewMs: 200 };
    const hung = Promise.withResolvers<void>();
    const a = await host('a', { timings, handle: ({ changes }) => (changes.length > 0 ? hung.promise : undefined) });
    const b = await host('b', { timings });
    await a.processor.start();
    await b.processor.start();
    await until(() => expect([held(a), held(b)]).toEqual([1, 1]));
    await write(monitored, numbers(0, 20));
    await until(() => expect(handled(b)).toEqual(numbers(0, 20).toSorted()));
    expect(a.pages).toEqual([]);
    expect(await owners({ documents })).toContain('b');
    hung.resolve();
  });

  it('a host that lost its lease because its handler hung takes it again where it is alone, with fewer changes a page, and says how often', async () => {
    const { monitored, host } = await stage();
    await write(monitored, numbers(0, 8));
    const rejected: Events['feed:rejected'][] = [];
    const hear = (event: unknown): void => void rejected.push(event as Events['feed:rejected']);
    subscribe('millrace:feed:rejected', hear);
    onTestFinished(() => void unsubscribe('millrace:feed:rejected', hear));
    const sizes: number[] = [];
    const a = await host('a', {
      timings: { stallMs: 300, expirationMs: 500, renewMs: 100 },
      handle: ({ changes }) => {
        sizes.push(changes.length);
        return changes.length > 2 ? new Promise<void>(() => undefined) : undefined;
      },
    });
    await a.processor.start();
    await until(() => expect(a.pages.flat()).toHaveLength(8));
    expect(sizes.slice(0, 3)).toEqual([8, 4, 2]);
    const said = rejected.map(({ changes, deliveries, error }) => [changes, deliveries, (error as Error).message]);
    // Where it grows again, a page hangs again.
    expect(said.slice(0, 2)).toEqual([
      [8, 1, expect.stringContaining('a handler has taken more than 0.3 s')],
      [4, 2, expect.stringContaining('a handler has taken more than 0.3 s')],
    ]);
    const { rejection, handled: count } = a.processor.status().leases[0] ?? {};
    expect(count).toBe(8);
    expect([rejection?.changes, rejection?.error]).toEqual([rejected.at(-1)?.changes, rejected.at(-1)?.error]);
  });

  it('a host that lost its lease stops, though its leases can’t be written any more', async () => {
    const { monitored, host } = await stage();
    await write(monitored, ['d']);
    const a: Host = await host('a', { handle: () => a.kill() });
    await a.processor.start();
    await until(() => expect(a.pages).toEqual([['d']]));
    await a.processor.stop();
    expect(held(a)).toBe(0);
  });
});

test('a page is handed on under a fence that knows its age', async () => {
  const { monitored, host } = await stage();
  await write(monitored, ['d']);
  let readAt: number | undefined;
  const a = await host('a', {
    handle: (page, fence) => {
      readAt = page.readAt;
      fence.assert();
    },
  });
  await a.processor.start();
  await until(() => expect(a.pages).toEqual([['d']]));
  expect(performance.now() - (readAt ?? 0)).toBeLessThan(WRITE_BOUND_MS);
});
