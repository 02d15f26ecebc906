import { connect } from 'node:net';
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startEmulator } from '../../src/emulator/index.ts';
import type { Emulator } from '../../src/emulator/index.ts';
import { clientOf, HASH_KEY } from './emulate.ts';

let emulator: Emulator;

beforeAll(async () => {
  emulator = await startEmulator({ seed: 1 });
  const client = clientOf(emulator);
  const { database } = await client.databases.create({ id: 'd' });
  const { container } = await database.containers.create({ id: 'c', partitionKey: HASH_KEY });
  await container.items.create({ id: 'bystander', pk: 'a', v: 1 });
  client.dispose();
});

afterAll(() => emulator.close());

/** Sends bytes as they are and gives back what came until the connection ended. */
function raw(text: string, half = false): Promise<string> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect(Number(new URL(emulator.endpoint).port), '127.0.0.1');
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
    socket.on('error', () => resolve(answer));
    socket.on('close', () => resolve(answer));
    if (half) socket.end(text);
    else socket.write(text);
  });
}

function head(method: string, path: string, link: string, headers: Record<string, string>): string {
  const date = 'Fri, 20 Nov 2026 12:00:00 GMT';
  const text = `${method.toLowerCase()}\ndocs\n${link}\n${date.toLowerCase()}\n\n`;
  const signature = createHmac('sha256', Buffer.from(emulator.key, 'base64')).update(text).digest('base64');
  const all = {
    host: 'localhost',
    connection: 'close',
    'x-ms-date': date,
    authorization: encodeURIComponent(`type=master&ver=1.0&sig=${signature}`),
    'x-ms-documentdb-partitionkey': '["a"]',
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

const post = (body: string | Buffer, headers: Record<string, string> = {}): Promise<string> =>
  raw(
    `${head('POST', '/dbs/d/colls/c/docs', 'dbs/d/colls/c', {
      'content-length': String(Buffer.byteLength(body)),
      ...headers,
    })}${body.toString('latin1')}`,
  );

const status = (answer: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 0);
const nested = (depth: number): string => `{"id":"deep","pk":"a","v":${'['.repeat(depth)}${']'.repeat(depth)}}`;

/** After each: the server is up, and the one document that was there is as it was. */
async function untouched(): Promise<unknown> {
  const client = clientOf(emulator);
  try {
    const container = client.database('d').container('c');
    const { resource } = await container.item('bystander', 'a').read<{ v: number }>();
    const { resources } = await container.items
      .query<string>("SELECT VALUE c.id FROM c WHERE NOT STARTSWITH(c.id, 'ok')")
      .fetchAll();
    return [resource?.v, resources];
  } finally {
    client.dispose();
  }
}

test.each<[string, () => Promise<string>, number]>([
  ['malformed JSON', () => post('{"id":"x",}'), 400],
  ['a body that is shorter than it says', () => post('{"id":"x","pk":"a"}', { 'content-length': '10' }), 400],
  ['a content length that is no number', () => post('{}', { 'content-length': 'ten' }), 400],
  ['two framings at once', () => post('{}', { 'transfer-encoding': 'chunked' }), 400],
  ['a huge header', () => post('{"id":"x","pk":"a"}', { 'x-big': 'y'.repeat(100_000) }), 431],
  ['5,000 levels', () => post(nested(5000)), 400],
  ['130 levels', () => post(nested(132)), 400],
  ['a number that no double holds', () => post('{"id":"x","pk":"a","v":1e400}'), 400],
  ['another such number', () => post(`{"id":"x","pk":"a","v":${'9'.repeat(400)}}`), 400],
  ['bytes that are not UTF-8', () => post(Buffer.from('{"id":"x","pk":"a","v":"\u00ff"}', 'latin1')), 400],
  ['a path that climbs', () => raw(head('GET', '/dbs/d/colls/c/docs/../../../..', 'dbs/d/colls/c', {})), 401],
  [
    'an encoded path that climbs',
    () => raw(head('GET', '/dbs/d/colls/c/docs/..%2f..%2fx', 'dbs/d/colls/c/docs/../../x', {})),
    404,
  ],
  ['a null byte in a path', () => raw(head('GET', '/dbs/d/colls/c/docs/%00', 'dbs/d/colls/c/docs/\0', {})), 404],
  [
    'a prototype for a database',
    () => raw(head('GET', '/dbs/__proto__/colls/c/docs/x', 'dbs/__proto__/colls/c/docs/x', {})),
    404,
  ],
  [
    'a prototype for an item',
    () => raw(head('GET', '/dbs/d/colls/c/docs/constructor', 'dbs/d/colls/c/docs/constructor', {})),
    404,
  ],
  ['a method that does not exist', () => raw(head('BREW', '/dbs/d/colls/c/docs', 'dbs/d/colls/c', {})), 400],
])('%s is refused, and touches nothing', async (_, send, expected) => {
  expect(status(await send())).toBe(expected);
  expect(await untouched()).toEqual([1, ['bystander']]);
});

test('half-closed and broken-off requests have no effect', async () => {
  const whole = head('POST', '/dbs/d/colls/c/docs', 'dbs/d/colls/c', { 'content-length': '40' });
  await raw(`${whole}{"id":"x"`, true);
  await raw(whole.slice(0, 60), true);
  await raw('\r\n\r\n\r\n', true);
  await raw('\u0016\u0003\u0001\u0002', true);
  expect(await untouched()).toEqual([1, ['bystander']]);
});

test('odd names, lone surrogates and long numbers come back as they went in', async () => {
  const client = clientOf(emulator);
  const container = client.database('d').container('c');
  const text = String.raw`{"id":"ok1","pk":"a","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":2}},"toString":3,"lone":"\ud800","deep":${'['.repeat(120)}${']'.repeat(120)}}`;
  expect(status(await post(text))).toBe(201);
  const { resource } = await container.item('ok1', 'a').read();
  expect(JSON.stringify(resource)).toContain(text.slice(0, -1));
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  const found = await container.items
    .query('SELECT c["__proto__"] AS a, c.constructor AS b, c.toString AS s FROM c WHERE c.toString = 3')
    .fetchAll();
  expect(JSON.stringify(found.resources)).toBe('[{"a":{"polluted":1},"b":{"prototype":{"polluted":2}},"s":3}]');
  expect((await container.items.query('SELECT VALUE c.hasOwnProperty FROM c').fetchAll()).resources).toEqual([]);
  expect(status(await post('{"id":"ok2","pk":"a","big":9007199254740993,"small":-9007199254740992}'))).toBe(201);
  expect((await container.item('ok2', 'a').read<{ big: number }>()).resource?.big).toBe(2 ** 53);
  await container.item('ok1', 'a').patch([{ op: 'set', path: '/__proto__/polluted', value: 5 }]);
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  client.dispose();
});
