import { expect, onTestFinished, test } from 'vitest';
import { startEmulator } from '../../src/emulator/index.ts';
import type { Emulator } from '../../src/emulator/index.ts';
import { clientInside, clientOf, HASH_KEY, refusal } from './emulate.ts';

async function both(): Promise<{ emulator: Emulator; clients: ReturnType<typeof clientOf>[] }> {
  const emulator = await startEmulator({ seed: 4 });
  const clients = [clientOf(emulator), clientInside(emulator)];
  onTestFinished(async () => {
    for (const client of clients) client.dispose();
    await emulator.close();
  });
  const { database } = await clients[1]!.databases.create({ id: 'd' });
  await database.containers.create({ id: 'c', partitionKey: HASH_KEY });
  return { emulator, clients };
}

test('what a client in the process is told is what one over sockets is told', async () => {
  const { emulator, clients } = await both();
  const told: unknown[] = [];
  for (const client of clients) {
    const container = client.database('d').container('c');
    const pk = 'ä"/€ \u{1F600}';
    const answers = [
      await container.items.upsert({ id: 'x ü', pk, text: '\ud800 €' }),
      await container.item('x ü', pk).read(),
      await container.item('none', pk).read(),
      await container.items.query('SELECT c.id, c.text FROM c').fetchAll(),
      await container.items.batch([{ operationType: 'Read', id: 'x ü' }], pk),
      await container.item('x ü', pk).delete(),
    ].map((answer) => {
      const { etag, resource, resources, result, statusCode, code } = answer as unknown as Record<string, unknown>;
      return [statusCode ?? code, typeof etag, JSON.stringify([resource, resources, result]).length];
    });
    emulator.faults({
      rules: [{ status: 'reset', times: 1 }, { status: 412, substatus: 7, times: 1 }, { status: 408 }],
    });
    const refused: unknown[] = [];
    for (let i = 0; i < 3; i++) refused.push(await refusal(container.items.create({ id: 'y', pk })));
    emulator.faults({});
    told.push([answers, refused]);
  }
  expect(told[1]).toEqual(told[0]);
  expect(told[0]).toMatchObject([{}, [{ code: 'ECONNRESET' }, { code: 412, substatus: 7 }, { code: 408 }]]);
});

test('a restart cuts off what is under way, and a closed server refuses', async () => {
  const { emulator, clients } = await both();
  const containers = clients.map((client) => client.database('d').container('c'));
  for (const container of containers) {
    emulator.faults({ latencyMs: 60_000 });
    const before = emulator.stats().requests['create'] ?? 0;
    const cut = refusal(container.items.create({ id: '1', pk: 'a' }));
    await expect.poll(() => emulator.stats().requests['create']).toBe(before + 1);
    await emulator.restart();
    expect((await cut).code).toBe('ECONNRESET');
    emulator.faults({});
    expect((await container.items.upsert({ id: '3', pk: 'a' })).statusCode).toBeLessThan(300);
  }
  await emulator.close();
  for (const container of containers) {
    expect((await refusal(container.items.create({ id: '2', pk: 'a' }))).code).toBe('ECONNREFUSED');
  }
});

test('a call that is called off ends at once', async () => {
  const { emulator, clients } = await both();
  const container = clients[1]!.database('d').container('c');
  emulator.faults({ latencyMs: 60_000 });
  const off = new AbortController();
  const call = container.items.create({ id: '1', pk: 'a' }, { abortSignal: off.signal });
  await expect.poll(() => emulator.stats().requests['create']).toBe(1);
  off.abort();
  await expect(call).rejects.toThrow('aborted');
  await expect(container.items.create({ id: '1', pk: 'a' }, { abortSignal: off.signal })).rejects.toThrow('aborted');
});

test('timers and others have their turn between the requests of a loop', async () => {
  const { clients } = await both();
  const container = clients[1]!.database('d').container('c');
  let turns = 0;
  let next: NodeJS.Immediate;
  const turn = (): void => {
    turns++;
    next = setImmediate(turn);
  };
  turn();
  for (let read = 0; read < 20; read++) await container.item('x', 'a').read();
  clearImmediate(next!);
  expect(turns).toBeGreaterThanOrEqual(20);
});
