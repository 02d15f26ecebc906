import type { Container } from '@azure/cosmos';
import { expect, test } from 'vitest';
import { clientOf, emulate, refusal } from './emulate.ts';

const read = async (container: Container): Promise<number | undefined> =>
  (await container.item('1', 'a').read<{ n: number }>()).resource?.n;

test('a lagging replica answers readers without a session, and never one that has a token', async () => {
  const { container, emulator } = await emulate({}, { faults: { replicaLagMs: 300 } });
  emulator.freeze(true);
  const stranger = clientOf(emulator, false).database('d').container('c');
  await container.items.create({ id: '1', pk: 'a', n: 0 });
  let stale = 0;
  let staleQueries = 0;
  for (let n = 1; n <= 60; n++) {
    emulator.advance(20);
    await container.item('1', 'a').replace({ id: '1', pk: 'a', n });
    expect(await read(container)).toBe(n);
    const { resources } = await container.items.query<number>('SELECT VALUE c.n FROM c').fetchAll();
    expect(resources).toEqual([n]);
    if ((await read(stranger)) !== n) stale++;
    const seen = await stranger.items.query<number>('SELECT VALUE c.n FROM c', { partitionKey: 'a' }).fetchAll();
    if (seen.resources[0] !== n) staleQueries++;
  }
  expect(stale).toBeGreaterThan(10);
  expect(staleQueries).toBeGreaterThan(10);
  emulator.advance(301);
  expect(await read(stranger)).toBe(60);
});

test('a lagging replica shows what was deleted, and says how old its state is', async () => {
  const { container, emulator } = await emulate({}, { faults: { replicaLagMs: 200 } });
  emulator.freeze(true);
  const stranger = clientOf(emulator, false).database('d').container('c');
  const ids = Array.from({ length: 20 }, (_, i) => `d${i}`);
  for (const id of ids) await container.items.create({ id, pk: id });
  emulator.advance(201);
  const outcomes = new Set<string>();
  for (const id of ids) {
    emulator.advance(20);
    const { headers } = await container.item(id, id).delete();
    const { statusCode, headers: seen } = await stranger.item(id, id).read();
    const older = lsnOf(seen) < lsnOf(headers);
    outcomes.add(`${statusCode} ${older ? 'older' : 'present'}`);
    const { resources } = await stranger.items.query('SELECT VALUE c.id FROM c', { partitionKey: id }).fetchAll();
    outcomes.add(`${resources.length} found`);
  }
  expect([...outcomes]).toEqual(expect.arrayContaining(['200 older', '1 found']));
  expect([...outcomes]).not.toContain('200 present');
  const found = async (): Promise<number> =>
    (await stranger.items.query('SELECT VALUE c.id FROM c').fetchAll()).resources.length;
  emulator.advance(201);
  expect(await found()).toBe(0);
});

const lsnOf = (headers: object): number =>
  Number(String((headers as Record<string, unknown>)['x-ms-session-token']).split('#')[1]);

test('a session token from the future is refused', async () => {
  const { container } = await emulate();
  await container.items.create({ id: '1', pk: 'a' });
  const call = container.item('1', 'a').read({ sessionToken: '0:-1#999' });
  // The client tries once more without the token, and so succeeds.
  expect((await call).statusCode).toBe(200);
  const query = container.items.query('SELECT * FROM c', { sessionToken: '0:-1#999' });
  expect((await query.fetchAll()).resources).toHaveLength(1);
});

test('refusals carry the session forward', async () => {
  const { container, emulator } = await emulate();
  const { headers } = await container.items.create({ id: '1', pk: 'a' });
  const token = headers['x-ms-session-token'];
  const stranger = clientOf(emulator).database('d').container('c');
  const calls: (() => Promise<unknown>)[] = [
    () => stranger.items.create({ id: '1', pk: 'a' }),
    () => stranger.item('x', 'a').delete(),
  ];
  for (const call of calls) {
    const error = await call()
      .then(() => undefined)
      .catch((caught: unknown) => caught as { headers: Record<string, string> });
    expect(error?.headers['x-ms-session-token']).toBe(token);
  }
  expect((await stranger.item('x', 'a').read()).headers['x-ms-session-token']).toBe(token);
});

test('a failure after the effect leaves the effect, one before it leaves nothing', async () => {
  const { container, emulator } = await emulate();
  for (const [faults, remains, ways] of [
    [{ failAfterEffect: 1 }, 1, 3],
    [{ failBefore: 1 }, 0, 4],
    [{ throttle: 1 }, 0, 1],
  ] as const) {
    const kinds = new Set<unknown>();
    for (let i = 0; i < 20; i++) {
      const key = `${remains}-${i}-${Object.keys(faults)[0]}`;
      emulator.faults(faults);
      kinds.add((await refusal(container.items.create({ id: 'x', pk: key }))).code);
      emulator.faults({});
      const { resources } = await container.items.query('SELECT VALUE c.id FROM c', { partitionKey: key }).fetchAll();
      expect(resources).toHaveLength(remains);
    }
    expect(kinds.size).toBe(ways);
  }
  expect(emulator.stats().faults).toBe(60);
});

test('throttling says when to come back', async () => {
  const { container } = await emulate({}, { faults: { throttle: 1 } });
  const error = await container.items
    .create({ id: '1', pk: 'a' })
    .then(() => undefined)
    .catch((caught: unknown) => caught as { code: number; substatus: number; retryAfterInMs: number });
  expect(error).toMatchObject({ code: 429, substatus: 3200 });
  expect(error?.retryAfterInMs).toBeGreaterThan(0);
});

test('a rule for a container names it by its id, or with its database', async () => {
  const { container, client, emulator } = await emulate();
  const { database } = await client.databases.create({ id: 'other' });
  const { container: twin } = await database.containers.create({ id: 'c', partitionKey: '/pk' });
  const struck = async (name: string): Promise<boolean[]> => {
    emulator.faults({ rules: [{ operation: 'upsert', container: name, status: 503 }] });
    const outcomes = [container, twin].map((each) =>
      each.items.upsert({ id: '1', pk: 'a' }).then(
        () => false,
        () => true,
      ),
    );
    return Promise.all(outcomes);
  };
  expect(await struck('c')).toEqual([true, true]);
  expect(await struck('d/c')).toEqual([true, false]);
  expect(await struck('other/c')).toEqual([false, true]);
  for (const name of ['', '/c', 'd/', 'd/c/x', 'a#b']) {
    expect(() => emulator.faults({ rules: [{ container: name, status: 503 }] })).toThrow('database/container');
  }
  expect(() => emulator.faults({ rules: [{ operation: [], status: 503 }] })).toThrow('These faults are not valid');
});
