import type { Container } from '@azure/cosmos';
import { describe, expect, it } from 'vitest';
import { MillraceError } from '../../../src/base/errors.ts';
import { DeadLetters } from '../../../src/engine/dead-letters/dead-letters.ts';
import type { Change, Version } from '../../../src/feed/reading/change.ts';
import type { Fence } from '../../../src/feed/tenure/fence.ts';
import type { Refusal } from '../../../src/kinds/runner.ts';
import { clientOf, emulate } from '../../emulator/emulate.ts';

const P = 'copy@1';
const at = (second: number): Date => new Date(Date.UTC(2026, 0, 1, 0, 0, second));
const change = (id: string, lsn: number, version: Partial<Version> = {}): Change => ({
  container: 'Orders',
  type: 'order',
  key: ['t1'],
  id,
  version: { epoch: 1, lsn, etag: `"${lsn}"`, ...version },
  at: 0,
  op: 'upsert',
  doc: { id, secret: 'of the customer' },
});
const refusal = (of: Change, message = 'It does not fit'): Refusal => ({
  change: of,
  error: new MillraceError('projection-threw', message, { hint: 'Correct the order.' }),
});

async function state() {
  const { emulator, container } = await emulate();
  const host = (): DeadLetters => new DeadLetters(clientOf(emulator).database('d').container('c'));
  return { emulator, container, host, letters: host() };
}

const stored = async (container: Container): Promise<Record<string, unknown>[]> =>
  (await container.items.query<Record<string, unknown>>('SELECT * FROM c').fetchAll()).resources;

describe('parking', () => {
  it('parking says of whom, why, since when and how often, and keeps no document', async () => {
    const { letters, container } = await state();
    await letters.park(P, [refusal(change('o1', 5))], at(1));
    expect(await letters.list()).toEqual([
      {
        projection: P,
        container: 'Orders',
        key: ['t1'],
        id: 'o1',
        type: 'order',
        version: { epoch: 1, lsn: 5, etag: '"5"' },
        op: 'upsert',
        code: 'projection-threw',
        message: 'It does not fit',
        hint: 'Correct the order.',
        attempts: 1,
        firstAt: '2026-01-01T00:00:01.000Z',
        lastAt: '2026-01-01T00:00:01.000Z',
      },
    ]);
    expect(JSON.stringify(await stored(container))).not.toContain('of the customer');
  });

  it('parking by a redrive counts one more attempt, and a newer version begins at one', async () => {
    const { letters } = await state();
    await letters.park(P, [refusal(change('o1', 5))], at(1));
    for (const second of [2, 3]) await letters.park(P, [refusal(change('o1', 5))], at(second), { redriven: true });
    expect(await letters.list()).toMatchObject([
      { attempts: 3, firstAt: at(1).toISOString(), lastAt: at(3).toISOString() },
    ]);
    await letters.park(P, [refusal(change('o1', 6), 'another reason')], at(4));
    expect(await letters.list()).toMatchObject([
      {
        version: { lsn: 6 },
        attempts: 1,
        message: 'another reason',
        firstAt: at(1).toISOString(),
        lastAt: at(4).toISOString(),
      },
    ]);
  });

  it('what the feed brings again leaves the letter as it is, on this host and on another', async () => {
    const { letters, host, container } = await state();
    const all = Array.from({ length: 150 }, (_, n) => refusal(change(`o${n}`, 5)));
    await letters.park(P, all, at(1));
    const before = await stored(container);
    await letters.park(P, all, at(2));
    await host().park(P, all, at(3));
    expect(await stored(container)).toEqual(before);
    expect(before).toHaveLength(150);
  });

  it('many at once parks each that is new, newer or redriven, beside a host that parks some of them too', async () => {
    const { host } = await state();
    const ids = Array.from({ length: 250 }, (_, n) => `o${n}`);
    const [a, b] = [host(), host()];
    await a.resolve(P, []);
    await b.park(
      P,
      ids.filter((_, n) => n % 7 === 0).map((id) => refusal(change(id, 6))),
      at(1),
    );
    await Promise.all([
      a.park(
        P,
        ids.map((id) => refusal(change(id, 5))),
        at(2),
      ),
      b.park(
        P,
        ids.filter((_, n) => n % 5 === 0).map((id) => refusal(change(id, 6))),
        at(2),
      ),
    ]);
    const lsns = new Map((await host().list()).map(({ id, version }) => [id, version.lsn]));
    expect(lsns).toEqual(new Map(ids.map((id, n) => [id, n % 7 === 0 || n % 5 === 0 ? 6 : 5])));
    await a.park(
      P,
      ids.map((id) => refusal(change(id, 7))),
      at(3),
    );
    expect(
      (await host().list()).map(({ version, attempts, firstAt }) => [
        version.lsn,
        attempts,
        firstAt <= at(2).toISOString(),
      ]),
    ).toEqual(ids.map(() => [7, 1, true]));
  });

  it('parking stops where the lease is lost, and says what is durable until then', async () => {
    const { letters, host } = await state();
    let durable = 0;
    const lost = new Error('The lease is lost');
    const fence: Fence = {
      kind: 'lease',
      tenure: {},
      signal: new AbortController().signal,
      assert: () => {
        if (durable >= 2) throw lost;
      },
    };
    const all = Array.from({ length: 2_000 }, (_, n) => refusal(change(`o${n}`, 5)));
    await expect(letters.park(P, all, at(1), { fence, progress: () => (durable += 1) })).rejects.toBe(lost);
    // What was under way has ended: four batches at most.
    const parked = (await host().list()).length;
    expect(parked).toBe(durable * 100);
    expect(parked).toBeLessThanOrEqual(600);
    // Whoever has the lease then writes the others alone.
    await host().park(P, all, at(2));
    const written = Map.groupBy(await host().list(), ({ lastAt }) => lastAt);
    expect(written.get(at(1).toISOString())).toHaveLength(parked);
    expect(written.get(at(2).toISOString())).toHaveLength(all.length - parked);
  });

  it('an older version, from a host that sleeps, replaces nothing', async () => {
    const { letters, host } = await state();
    await letters.park(P, [refusal(change('o1', 6))], at(1));
    await host().park(P, [refusal(change('o1', 5))], at(2));
    expect(await letters.list()).toMatchObject([{ version: { lsn: 6 }, attempts: 1 }]);
    await host().park(P, [refusal(change('o1', 1, { epoch: 2 }))], at(3));
    expect(await letters.list()).toMatchObject([{ version: { epoch: 2, lsn: 1 } }]);
  });

  it('parking keeps documents, keys, containers and projections apart', async () => {
    const { letters } = await state();
    await letters.park(P, [refusal(change('o1', 5)), refusal(change('o2', 5))], at(1));
    await letters.park(P, [refusal({ ...change('o1', 5), key: ['t2'] })], at(2));
    await letters.park(P, [refusal({ ...change('o1', 5), container: 'Customers' })], at(3));
    await letters.park('sums@2', [refusal(change('o1', 5))], at(4));
    expect(await letters.list()).toHaveLength(5);
    expect(await letters.list('sums@2')).toHaveLength(1);
    expect(await letters.list('none@1')).toEqual([]);
  });

  it('parking by two hosts at once leaves one letter of the newest version', async () => {
    const { container, host } = await state();
    const hosts = Array.from({ length: 6 }, host);
    await Promise.all(hosts.map((letters, n) => letters.park(P, [refusal(change('o1', 5 + (n % 3)))], at(n))));
    expect(await hosts[0]?.list()).toMatchObject([{ version: { lsn: 7 } }]);
    expect(await stored(container)).toHaveLength(1);
  });

  it('parking is durable when it says so, whatever becomes of the answers', async () => {
    const { letters, host, emulator } = await state();
    emulator.faults({ failAfterEffect: 0.4, failBefore: 0.1, throttle: 0.2 });
    for (let n = 0; n < 15; n++) await letters.park(P, [refusal(change(`o${n}`, 5))], at(n));
    emulator.faults({});
    expect((await host().list()).map(({ id }) => id)).toEqual(Array.from({ length: 15 }, (_, n) => `o${n}`));
  });
});

it('without a state container, parking says so', async () => {
  const { letters, container } = await state();
  await container.delete();
  await expect(letters.park(P, [refusal(change('o1', 5))], at(1))).rejects.toMatchObject({ code: 404 });
});

describe('resolving', () => {
  it('many at once takes away each that was replaced, and none that is newer', async () => {
    const { letters, host, emulator } = await state();
    const ids = Array.from({ length: 250 }, (_, n) => `o${n}`);
    await letters.park(
      P,
      ids.map((id, n) => refusal(change(id, n % 10 === 3 ? 9 : 5))),
      at(1),
    );
    const other = host();
    await other.resolve(P, []);
    await Promise.all(
      [letters, other].map((one) =>
        one.resolve(
          P,
          ids.map((id) => change(id, 6)),
        ),
      ),
    );
    const left = ids.filter((_, n) => n % 10 === 3);
    expect((await letters.list()).map(({ id }) => id).toSorted()).toEqual(left.toSorted());
    const before = JSON.stringify(emulator.stats().requests);
    await letters.resolve(P, [change('o1', 7)]);
    expect(JSON.stringify(emulator.stats().requests)).toBe(before);
  });

  it('the resolving of letters takes away what was parked of a version that is applied, or of an older one', async () => {
    const { letters } = await state();
    await letters.park(
      P,
      ['o1', 'o2', 'o3'].map((id) => refusal(change(id, 5))),
      at(1),
    );
    await letters.resolve(P, [change('o1', 6), change('o2', 5), change('o9', 6)]);
    expect(await letters.list()).toMatchObject([{ id: 'o3' }]);
  });

  it('the resolving of a letter leaves a letter of a newer version than was applied', async () => {
    const { letters } = await state();
    await letters.park(P, [refusal(change('o1', 5))], at(1));
    await letters.resolve(P, [change('o1', 4)]);
    expect(await letters.list()).toHaveLength(1);
    await letters.resolve(P, [change('o1', 6)]);
    expect(await letters.list()).toEqual([]);
  });

  it('the resolving of a letter is one projection’s own matter', async () => {
    const { letters } = await state();
    for (const projection of [P, 'sums@2']) await letters.park(projection, [refusal(change('o1', 5))], at(1));
    await letters.resolve(P, [change('o1', 6)]);
    expect(await letters.list()).toMatchObject([{ projection: 'sums@2' }]);
  });

  it('the resolving of a letter costs nothing while nothing is parked', async () => {
    const { letters, emulator } = await state();
    await letters.resolve(P, [change('o1', 5)]);
    const before = JSON.stringify(emulator.stats().requests);
    for (let n = 0; n < 10; n++) await letters.resolve(P, [change('o1', n)]);
    expect(JSON.stringify(emulator.stats().requests)).toBe(before);
  });

  it('the resolving of a letter sees what another host parked once it has looked again', async () => {
    const { letters, host } = await state();
    await letters.resolve(P, [change('o1', 5)]);
    await host().park(P, [refusal(change('o1', 5))], at(1));
    letters.refresh();
    await letters.resolve(P, [change('o1', 6)]);
    expect(await letters.list()).toEqual([]);
  });

  it('the resolving of a letter sees what was parked while it looked', async () => {
    const { letters } = await state();
    const looking = letters.resolve(P, [change('o2', 5)]);
    await Promise.all([looking, letters.park(P, [refusal(change('o1', 5))], at(1)), letters.resolve(P, [])]);
    await letters.resolve(P, [change('o1', 6)]);
    expect(await letters.list()).toEqual([]);
  });

  it('the resolving of a letter is done when it says so, whatever becomes of the answers', async () => {
    const { letters, emulator } = await state();
    const all = Array.from({ length: 20 }, (_, n) => change(`o${n}`, 5));
    await letters.park(
      P,
      all.map((of) => refusal(of)),
      at(1),
    );
    emulator.faults({ failAfterEffect: 0.3, failBefore: 0.3, throttle: 0.1 });
    await letters.resolve(P, all);
    emulator.faults({});
    expect(await letters.list()).toEqual([]);
  });

  it('the resolving of a letter beside a host that parks again never takes the newer letter', async () => {
    const { host } = await state();
    const [a, b] = [host(), host()];
    for (let n = 1; n <= 20; n++) {
      const id = `o${n}`;
      await a.park(P, [refusal(change(id, 5))], at(1));
      await Promise.all([a.resolve(P, [change(id, 6)]), b.park(P, [refusal(change(id, 7))], at(2))]);
    }
    const left = await a.list();
    expect(left).toHaveLength(20);
    expect(left.every(({ version }) => version.lsn === 7)).toBe(true);
  });
});
