import { request } from 'node:http';
import { createHmac } from 'node:crypto';
import { connect } from 'node:net';
import { CosmosClient, TriggerOperation, TriggerType } from '@azure/cosmos';
import { describe, expect, test } from 'vitest';
import type { Emulator } from '../../src/emulator/index.ts';
import { clientOf, emulate, refusal, signedHeaders } from './emulate.ts';

interface Answer {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  readonly body: { code?: string; message?: string } | undefined;
}

/** One signed request, for what the client wouldn't send. */
function send(
  emulator: Emulator,
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: string | Buffer,
): Promise<Answer> {
  const signed = { ...signedHeaders(emulator, method), ...headers };
  return new Promise((resolve, reject) => {
    const call = request(new URL(path, emulator.endpoint), { method, headers: signed }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const read = Buffer.concat(chunks).toString();
        const parsed = read === '' ? undefined : (JSON.parse(read) as Answer['body']);
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: parsed });
      });
    });
    call.on('error', reject);
    call.end(body);
  });
}

const DOCS = '/dbs/d/colls/c/docs';
const keyHeader = (pk: string) => ({ 'x-ms-documentdb-partitionkey': JSON.stringify([pk]) });
const KEY = keyHeader('a');

test('a wrong key is refused', async () => {
  const { emulator } = await emulate();
  const client = new CosmosClient({ endpoint: emulator.endpoint, key: Buffer.from('wrong').toString('base64') });
  expect(await refusal(client.databases.readAll().fetchAll())).toMatchObject({ code: 401 });
  client.dispose();
  const unsigned = await send(emulator, 'POST', DOCS, { ...KEY, authorization: 'nonsense%' }, '{"id":"1","pk":"a"}');
  expect(unsigned.status).toBe(401);
});

test('the account tells the settings that clients parse queries by', async () => {
  const { emulator } = await emulate();
  const date = new Date().toUTCString();
  const text = `get\n\n\n${date.toLowerCase()}\n\n`;
  const signature = createHmac('sha256', Buffer.from(emulator.key, 'base64')).update(text).digest('base64');
  const authorization = encodeURIComponent(`type=master&ver=1.0&sig=${signature}`);
  const { status, body } = await send(emulator, 'GET', '/', { 'x-ms-date': date, authorization });
  expect(status).toBe(200);
  const told = JSON.parse((body as { queryEngineConfiguration: string }).queryEngineConfiguration) as object;
  // The names that azure-cosmos-dotnet-v3 has in what it is tested with; an empty object it refuses.
  expect(told).toMatchObject({
    maxSqlQueryInputLength: 512 * 1024,
    maxJoinsPerSqlQuery: expect.any(Number),
    maxLogicalAndPerSqlQuery: expect.any(Number),
    maxLogicalOrPerSqlQuery: expect.any(Number),
    maxUdfRefPerSqlQuery: expect.any(Number),
    maxInExpressionItemsCount: expect.any(Number),
    queryMaxInMemorySortDocumentCount: expect.any(Number),
    maxQueryRequestTimeoutFraction: 0.9,
    sqlAllowNonFiniteNumbers: false,
    sqlAllowAggregateFunctions: true,
    sqlAllowSubQuery: true,
    sqlAllowLike: true,
    sqlAllowGroupByClause: true,
  });
});

describe('what clients of other languages ask', () => {
  interface Ranges {
    readonly PartitionKeyRanges: readonly { readonly id: string }[];
  }
  const ids = ({ body }: Answer): string[] => (body as unknown as Ranges).PartitionKeyRanges.map(({ id }) => id);
  const ridOf = async (resource: Promise<{ resource?: object | undefined }>): Promise<string> =>
    (await resource).resource?.['_rid' as never] ?? '';

  test('the ranges of a container are a feed: nothing new is 304, and after a split what came since', async () => {
    const { emulator } = await emulate();
    const ranges = (headers: Record<string, string>): Promise<Answer> => {
      const signed = signedHeaders(emulator, 'GET', 'pkranges');
      return send(emulator, 'GET', '/dbs/d/colls/c/pkranges', { ...signed, ...headers });
    };
    const feed = { 'a-im': 'Incremental Feed' };
    const first = await ranges(feed);
    expect(ids(first)).toEqual(['0']);
    const seen = { ...feed, 'if-none-match': String(first.headers['etag']) };
    expect(await ranges(seen)).toMatchObject({ status: 304, headers: { etag: first.headers['etag'] } });
    emulator.split('d/c');
    emulator.split('d/c', '2');
    const later = await ranges(seen);
    expect(ids(later)).toEqual(['1', '3', '4']);
    expect(ids(await ranges({ ...feed, 'if-none-match': '"ofAnother:4"' }))).toEqual(['1', '3', '4']);
    expect(await ranges({ ...feed, 'if-none-match': String(later.headers['etag']) })).toMatchObject({ status: 304 });
    expect(ids(await ranges({ 'if-none-match': String(later.headers['etag']) })), 'no feed').toEqual(['1', '3', '4']);
  });

  test('a resource is found by the resource ids of where it is, if it is signed for the last in lower case', async () => {
    const { emulator, container, database } = await emulate();
    const [home, rid] = [await ridOf(database.read()), await ridOf(container.read())];
    const get = (path: string, type: string, link: string): Promise<Answer> =>
      send(emulator, 'GET', path, signedHeaders(emulator, 'GET', type, link));
    const ranges = `/dbs/${home}/colls/${rid}/pkranges`;
    expect(ids(await get(ranges, 'pkranges', rid.toLowerCase()))).toEqual(['0']);
    expect(await get(ranges, 'pkranges', rid)).toMatchObject({ status: 401 });
    expect(await get(ranges, 'pkranges', ranges.slice(1, -9))).toMatchObject({ status: 401 });
    expect(await get(`/dbs/${home}`, 'dbs', home.toLowerCase())).toMatchObject({ status: 200, body: { id: 'd' } });
    expect(await get(`/dbs/${home}/colls`, 'colls', home.toLowerCase())).toMatchObject({ status: 200 });
    const strange = `dbs/${home}/colls/none`;
    expect(await get(`/${strange}`, 'colls', strange)).toMatchObject({ status: 404 });
  });

  test('an answer about a container tells in which database it is', async () => {
    const { container, database } = await emulate();
    const { headers } = await container.read();
    expect(headers).toMatchObject({
      'x-ms-alt-content-path': 'dbs/d',
      'x-ms-content-path': await ridOf(database.read()),
    });
  });

  test('the latest-version feed has what it tells of a document beside it, in the format of all versions', async () => {
    const { emulator, container } = await emulate();
    const { resource } = await container.items.create({ id: '1', pk: 'a' });
    const headers = {
      'a-im': 'Incremental Feed',
      'x-ms-cosmos-changefeed-wire-format-version': '2021-09-15',
      'x-ms-documentdb-partitionkeyrangeid': '0',
    };
    const { body } = await send(emulator, 'GET', DOCS, headers);
    expect(body).toMatchObject({ Documents: [{ metadata: { lsn: 1, crts: resource?._ts } }] });
    expect((body as unknown as { Documents: { current: object }[] }).Documents[0]?.current).toEqual(resource);
  });
});

test('malformed input is answered 400 with a JSON message, and touches nothing', async () => {
  const { emulator, container } = await emulate();
  await container.items.create({ id: 'kept', pk: 'a' });
  const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
  const batch = { ...KEY, 'x-ms-cosmos-is-batch-request': 'true', 'x-ms-cosmos-batch-atomic': 'true' };
  const query = { 'x-ms-documentdb-isquery': 'true' };
  const cases: [Record<string, string>, string | Buffer][] = [
    [KEY, ''],
    [KEY, '{'],
    [KEY, '[]'],
    [KEY, '"text"'],
    [KEY, 'null'],
    [KEY, '{"pk":"a"}'],
    [KEY, '{"id":7,"pk":"a"}'],
    [KEY, '{"id":"a/b","pk":"a"}'],
    [KEY, '{"id":"x","pk":"a","ttl":0}'],
    [KEY, `{"id":"x","pk":"a","deep":${deep}}`],
    [KEY, Buffer.from([0xff, 0xfe, 0x00])],
    [{ 'x-ms-documentdb-partitionkey': 'a' }, '{"id":"x","pk":"a"}'],
    [{ 'x-ms-documentdb-partitionkey': '["a","b"]' }, '{"id":"x","pk":"a"}'],
    [{ 'x-ms-documentdb-partitionkey': '[["a"]]' }, '{"id":"x","pk":"a"}'],
    [batch, '{}'],
    [batch, '[]'],
    [batch, '[null]'],
    [batch, `[${Array.from({ length: 101 }, () => '{"operationType":"Read","id":"x"}').join(',')}]`],
    [query, '{}'],
    [query, '{"query":1}'],
    [query, '{"query":"SELECT","parameters":[]}'],
    [query, '{"query":"SELECT * FROM c","parameters":{}}'],
    [query, '{"query":"SELECT * FROM c","parameters":[null]}'],
    [{ ...query, 'x-ms-continuation': 'x' }, '{"query":"SELECT * FROM c"}'],
    [{ ...query, 'x-ms-max-item-count': 'many' }, '{"query":"SELECT * FROM c"}'],
  ];
  for (const [headers, body] of cases) {
    const answer = await send(emulator, 'POST', DOCS, headers, body);
    expect([answer.status, typeof answer.body?.message]).toEqual([400, 'string']);
  }
  for (const path of ['/dbs/%E0%A4%A/colls', '/dbs/d/colls/c/docs/%']) {
    expect((await send(emulator, 'GET', path, {})).status).toBe(400);
  }
  expect((await container.items.query('SELECT VALUE c.id FROM c').fetchAll()).resources).toEqual(['kept']);
});

test('a malformed operation in a batch fails that operation', async () => {
  const { emulator } = await emulate();
  const batch = { ...KEY, 'x-ms-cosmos-is-batch-request': 'true', 'x-ms-cosmos-batch-atomic': 'true' };
  for (const operation of [
    '{}',
    '{"operationType":"Nope"}',
    '{"operationType":"Read"}',
    '{"operationType":"Create","resourceBody":[]}',
  ]) {
    const answer = await send(emulator, 'POST', DOCS, batch, `[${operation}]`);
    expect([answer.status, (answer.body as unknown as { statusCode: number }[])[0]?.statusCode]).toEqual([207, 400]);
  }
});

test('unknown ranges are gone, odd positions are refused, everything else is named as missing', async () => {
  const { emulator } = await emulate();
  const feed = { 'a-im': 'Incremental Feed' };
  const gone = await send(emulator, 'GET', DOCS, { ...feed, 'x-ms-documentdb-partitionkeyrangeid': '99' });
  expect([gone.status, gone.headers['x-ms-substatus']]).toEqual([410, '1002']);
  const range = { ...feed, 'x-ms-documentdb-partitionkeyrangeid': '0' };
  expect((await send(emulator, 'GET', DOCS, { ...range, 'if-none-match': '"x"' })).status).toBe(400);
  expect((await send(emulator, 'GET', DOCS, { ...range, 'if-modified-since': 'when?' })).status).toBe(400);
  expect((await send(emulator, 'GET', DOCS, { ...range, 'a-im': 'Full-Fidelity Feed' })).status).toBe(400);
  expect((await send(emulator, 'PUT', DOCS, KEY)).status).toBe(405);
});

test('huge, half-closed and abandoned requests leave the server up', async () => {
  const { emulator, container } = await emulate();
  const huge = await send(emulator, 'POST', DOCS, KEY, Buffer.alloc(6_000_000, 'x'));
  expect([huge.status, huge.body?.message]).toEqual([413, expect.stringContaining('Request size is too large')]);
  const port = Number(new URL(emulator.endpoint).port);
  for (const text of [
    'GARBAGE\r\n\r\n',
    'POST /dbs HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nab',
    `GET / HTTP/1.1\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`,
  ]) {
    await new Promise<void>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => socket.end(text));
      socket
        .resume()
        .on('error', () => resolve())
        .on('close', () => resolve());
      if (text.startsWith('POST')) socket.once('connect', () => socket.destroySoon());
    });
  }
  expect((await container.items.create({ id: '1', pk: 'a' })).statusCode).toBe(201);
});

/** The body of the first answer, once it is whole, and what follows it. */
function bodyOf(bytes: Buffer<ArrayBuffer>): { body: string; rest: Buffer<ArrayBuffer> } | undefined {
  const head = bytes.indexOf('\r\n\r\n');
  if (head === -1) return undefined;
  const end = head + 4 + Number(/content-length: (\d+)/.exec(bytes.toString('latin1', 0, head))?.[1]);
  return bytes.length < end ? undefined : { body: bytes.toString('utf8', head + 4, end), rest: bytes.subarray(end) };
}

test('a page that a slow client takes its time over is its own, whatever others are sent meanwhile', async () => {
  const { emulator, container } = await emulate();
  for (const pk of ['a', 'b']) {
    for (let n = 0; n < 5; n++) {
      const operations = Array.from({ length: 50 }, (_, i) => ({
        operationType: 'Create' as const,
        resourceBody: { id: `${n * 50 + i}`, pk, text: pk.repeat(9000) },
      }));
      await container.items.batch(operations, pk);
    }
  }
  const page = (pk: string) => ({ 'a-im': 'Incremental Feed', 'x-ms-max-item-count': '-1', ...keyHeader(pk) });
  // More than the system takes in between: the last of them wait in the server, by pages that were handed out already.
  const wanted = 8;
  const lines = Object.entries({ host: 'localhost', ...signedHeaders(emulator, 'GET'), ...page('a') });
  const slow = connect(Number(new URL(emulator.endpoint).port), '127.0.0.1').pause();
  for (let i = 0; i < wanted; i++) {
    slow.write(`GET ${DOCS} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`);
  }
  await expect.poll(() => emulator.stats().requests['change-feed']).toBe(wanted);
  for (let i = 0; i < 20; i++) await send(emulator, 'GET', DOCS, page('b'));
  const texts = new Set<string>();
  let got = Buffer.alloc(0);
  let left = wanted;
  for await (const chunk of slow) {
    got = Buffer.concat([got, chunk as Buffer]);
    for (let next = bodyOf(got); next; next = bodyOf(got)) {
      const { Documents } = JSON.parse(next.body) as { Documents: { text: string }[] };
      for (const { text } of Documents) texts.add(text);
      got = next.rest;
      left--;
    }
    if (left === 0) break;
  }
  expect(texts).toEqual(new Set(['a'.repeat(9000)]));
});

test('close does not wait for idle connections', async () => {
  const { emulator } = await emulate();
  const client = clientOf(emulator);
  await client.getDatabaseAccount();
  await emulator.close();
  await emulator.close();
  await expect(client.getDatabaseAccount()).rejects.toThrow('ECONNREFUSED');
  client.dispose();
});

test.each([
  [408, 0],
  [410, 1002],
  [410, 1007],
  [449, 0],
  [500, 0],
  [503, 0],
  [404, 1002],
  [403, 1014],
])('a rule makes %i/%i of a batch, without its effect or after it', async (status, substatus) => {
  const { emulator, container } = await emulate();
  const headers = { ...KEY, 'x-ms-cosmos-is-batch-request': 'true', 'x-ms-cosmos-batch-atomic': 'true' };
  for (const effect of ['before', 'after'] as const) {
    emulator.faults({ rules: [{ operation: 'batch', container: 'c', nth: 1, status, substatus, effect }] });
    const create = [{ operationType: 'Create', resourceBody: { id: effect, pk: 'a' } }];
    const answer = await send(emulator, 'POST', DOCS, headers, JSON.stringify(create));
    expect([answer.status, Number(answer.headers['x-ms-substatus'] ?? 0)]).toEqual([status, substatus]);
    expect(answer.body?.message).toBe(`Failed by rule with ${status}.`);
  }
  expect((await container.items.query('SELECT VALUE c.id FROM c').fetchAll()).resources).toEqual(['after']);
});

test('what is not offered is refused as such: scripts and users with 501, kinds of search with 400', async () => {
  const { container, database } = await emulate();
  await container.items.create({ id: '1', pk: 'a' });
  const code = { id: 's', body: 'function () {}' };
  const trigger = { ...code, triggerType: TriggerType.Pre, triggerOperation: TriggerOperation.All };
  for (const call of [
    () => container.scripts.storedProcedures.create(code),
    () => container.scripts.storedProcedure('s').execute('a'),
    () => container.scripts.triggers.create(trigger),
    () => container.scripts.userDefinedFunctions.create(code),
    () => database.users.create({ id: 'u' }),
    () => container.items.create({ id: '2', pk: 'a' }, { preTriggerInclude: ['t'] }),
    () => container.item('1', 'a').replace({ id: '1', pk: 'a' }, { postTriggerInclude: ['t'] }),
  ]) {
    expect(await refusal(call())).toMatchObject({ code: 501, message: expect.stringContaining('embedded server') });
  }
  for (const query of [
    "SELECT * FROM c WHERE FullTextContains(c.t, 'x')",
    "SELECT TOP 1 * FROM c ORDER BY RANK FullTextScore(c.t, 'x')",
    'SELECT TOP 1 * FROM c ORDER BY VectorDistance(c.v, [1, 2])',
    'SELECT * FROM c WHERE ST_DISTANCE(c.p, c.q) < 1',
    'SELECT VALUE udf.f(c) FROM c',
  ]) {
    const { code: status, message } = await refusal(container.items.query(query).fetchAll());
    expect([query, status, message]).toEqual([
      query,
      400,
      expect.stringMatching(/not offered here|not supported here/),
    ]);
  }
  expect((await container.items.readAll().fetchAll()).resources).toHaveLength(1);
});
