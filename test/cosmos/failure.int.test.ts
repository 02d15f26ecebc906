// What the real SDK throws, answered by a real server: its errors differ from one operation to the next.
import { createServer } from 'node:net';
import { once } from 'node:events';
import { CosmosClient } from '@azure/cosmos';
import type { Container } from '@azure/cosmos';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Failure, failureOf, kindOfStatus } from '../../src/cosmos/failure.ts';
import { connect } from '../../src/cosmos/connect.ts';
import { type Emulator, EMULATOR_KEY } from '../../src/emulator/index.ts';
import { emulate } from '../emulator/emulate.ts';

async function failure(call: Promise<unknown>): Promise<Failure> {
  try {
    await call;
  } catch (error) {
    return failureOf(error);
  }
  throw new Error('The call was answered');
}

/** Container `c` of a new server, as Millrace's own client sees it. */
async function connected(): Promise<{ emulator: Emulator; container: Container }> {
  const { emulator } = await emulate();
  const client = connect({ kind: 'key', endpoint: emulator.endpoint, key: emulator.key });
  onTestFinished(() => client.dispose());
  return { emulator, container: client.database('d').container('c') };
}

const doc = (id: string) => ({ id, pk: 'a' });
const item = (container: Container, id: string) => container.item(id, 'a');

describe('an answer', () => {
  it.each<[string, number, (container: Container) => Promise<unknown>]>([
    ['conflict', 409, (container) => container.items.create(doc('there'))],
    ['not-found', 404, (container) => item(container, 'absent').replace(doc('absent'))],
    ['not-found', 404, (container) => item(container, 'absent').delete()],
    ['not-found', 404, (container) => container.database.container('none').items.query('SELECT * FROM c').fetchAll()],
    [
      'precondition',
      412,
      (container) =>
        item(container, 'there').replace(doc('there'), { accessCondition: { type: 'IfMatch', condition: '"old"' } }),
    ],
    ['too-large', 413, (container) => container.items.create({ ...doc('big'), pad: 'x'.repeat(2_200_000) })],
    ['refused', 400, (container) => item(container, 'there').patch([{ op: 'set', path: '/id', value: 'other' }])],
    ['refused', 400, (container) => container.items.query('SELECT nonsense FORM c').fetchAll()],
  ])('%s (%i)', async (kind, status, call) => {
    const { container } = await connected();
    await container.items.create(doc('there'));
    expect(await failure(call(container))).toMatchObject({ kind, status });
  });

  it('a denied answer, with a wrong key', async () => {
    const { emulator } = await emulate();
    const client = new CosmosClient({ endpoint: emulator.endpoint, key: Buffer.from('wrong').toString('base64') });
    expect(await failure(client.getDatabaseAccount())).toMatchObject({ kind: 'denied', status: 401 });
    client.dispose();
  });

  it('an answer of a batch, whose error the SDK wraps, is read as any other', async () => {
    const { container } = await connected();
    const none = container.database.container('none');
    const call = none.items.batch([{ operationType: 'Create', resourceBody: doc('x') }], 'a');
    expect(await failure(call)).toMatchObject({ kind: 'not-found', status: 404 });
  });
});

describe('trouble', () => {
  const calls: Record<string, (container: Container) => Promise<unknown>> = {
    create: (container) => container.items.create(doc(crypto.randomUUID())),
    batch: (container) => container.items.batch([{ operationType: 'Upsert', resourceBody: doc('b') }], 'a'),
    query: (container) => container.items.query('SELECT * FROM c').fetchAll(),
    read: (container) => item(container, 'there').read(),
    feed: (container) => container.items.getChangeFeedIterator({}).readNext(),
  };

  it.each(Object.keys(calls))('a throttled answer to %s says when to come back', async (name) => {
    const { container, emulator } = await connected();
    emulator.faults({ throttle: 1 });
    const found = await failure(calls[name]?.(container) ?? Promise.resolve());
    expect(found).toMatchObject({ kind: 'throttled', status: 429 });
    expect(found.retryAfterMs).toBeGreaterThan(0);
  });

  it.each(['create', 'batch'])('lost answers to %s are ambiguous, whichever way they are lost', async (name) => {
    const { container, emulator } = await connected();
    emulator.faults({ failAfterEffect: 1 });
    const statuses = new Set<unknown>();
    for (let n = 0; n < 30; n++) {
      const found = await failure(calls[name]?.(container) ?? Promise.resolve());
      expect(found.kind).toBe('ambiguous');
      statuses.add(found.status);
    }
    expect(statuses).toEqual(new Set([408, 503, undefined]));
  });

  it('nothing fails in a way that is unknown', async () => {
    const { container, emulator } = await connected();
    emulator.faults({ failBefore: 1 });
    // At once, as the client waits a second before it repeats a read.
    const all = Object.values(calls).flatMap((call) => Array.from({ length: 15 }, () => failure(call(container))));
    const kinds = new Set((await Promise.all(all)).map(({ kind }) => kind));
    expect(kinds).toEqual(new Set(['ambiguous', 'throttled']));
  });

  it('a server that is not there is unreachable: nothing happened', async () => {
    const probe = createServer().listen(0, '127.0.0.1');
    await once(probe, 'listening');
    const address = probe.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    probe.close();
    await once(probe, 'close');
    const client = connect({ kind: 'key', endpoint: `http://127.0.0.1:${port}/`, key: EMULATOR_KEY });
    onTestFinished(() => client.dispose());
    const found = await failure(client.database('d').container('c').items.create(doc('x')));
    expect(found).toMatchObject({ kind: 'unreachable', status: undefined });
  });

  it('a server that is gone while we talk to it is one or the other', async () => {
    const { container, emulator } = await connected();
    await container.items.create(doc('x'));
    const before = failure(container.items.create(doc('y')));
    await emulator.close();
    expect(['unreachable', 'ambiguous']).toContain((await before.catch(() => ({ kind: 'ambiguous' }))).kind);
    expect((await failure(container.items.create(doc('z')))).kind).toMatch(/unreachable|ambiguous/);
  });
});

describe('what is no answer', () => {
  it.each([new Error('a bug'), new TypeError('x is not a function'), 'text', undefined, null, 7])(
    '%s is unknown',
    (thrown) => {
      expect(failureOf(thrown)).toMatchObject({ kind: 'unknown', status: undefined });
    },
  );

  it('a wrapped error is read where its code is', () => {
    const inner = Object.assign(new Error('too much'), {
      code: 429,
      headers: { 'x-ms-retry-after-ms': '12', 'x-ms-substatus': '3200' },
    });
    const outer = new Error('Batch failed', { cause: new Error('again', { cause: inner }) });
    expect(failureOf(outer)).toEqual({
      kind: 'throttled',
      status: 429,
      substatus: 3200,
      retryAfterMs: 12,
      message: 'too much',
    });
  });

  it('a circle of causes ends', () => {
    const circle = new Error('circle');
    circle.cause = circle;
    expect(failureOf(circle).kind).toBe('unknown');
  });
});

it('every status has its kind', () => {
  const kinds = [200, 304, 400, 401, 403, 404, 408, 409, 410, 412, 413, 424, 429, 449, 500, 503].map((status) => [
    status,
    kindOfStatus(status),
  ]);
  expect(Object.fromEntries(kinds)).toEqual({
    200: 'unknown',
    304: 'unknown',
    400: 'refused',
    401: 'denied',
    403: 'denied',
    404: 'not-found',
    408: 'ambiguous',
    409: 'conflict',
    410: 'gone',
    412: 'precondition',
    413: 'too-large',
    424: 'refused',
    429: 'throttled',
    449: 'throttled',
    500: 'ambiguous',
    503: 'ambiguous',
  });
});
