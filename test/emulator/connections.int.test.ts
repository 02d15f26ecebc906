import { chmod, mkdtemp, rm, stat } from 'node:fs/promises';
import { get } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { newAccount } from '../../src/emulator/cosmos/storage/account.ts';
import { hostNames } from '../../src/emulator/cosmos/server/host-names.ts';
import { CosmosServer } from '../../src/emulator/cosmos/server/http-server.ts';
import { Service } from '../../src/emulator/cosmos/server/service.ts';
import { EMULATOR_KEY, startEmulator, startEventHubs } from '../../src/emulator/index.ts';
import type { EmulatorOptions } from '../../src/emulator/index.ts';

/** What a request with this Host header is answered. */
async function asked(host: string, options: EmulatorOptions = {}): Promise<{ status: number; text: string }> {
  const emulator = await startEmulator(options);
  const { port } = new URL(emulator.endpoint);
  try {
    return await new Promise((resolve, reject) => {
      get({ host: '127.0.0.1', port, path: '/', headers: { host: `${host}:${port}` } }, (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => (text += chunk.toString()));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      }).on('error', reject);
    });
  } finally {
    await emulator.close();
  }
}

test('a name that this server does not have is refused, and the answer says how to add it', async () => {
  const { status, text } = await asked('rebound.example');
  expect([status, text]).toEqual([421, expect.stringContaining('is not a name of this server')]);
});

test('a name that was configured is taken', async () => {
  expect((await asked('cosmos', { names: ['cosmos'] })).status).toBe(401);
});

test.each<[string, readonly string[], string | undefined, boolean]>([
  ['127.0.0.1', [], 'localhost:8081', true],
  ['127.0.0.1', [], 'LOCALHOST', true],
  ['127.0.0.1', [], '127.0.0.1:8081', true],
  ['127.0.0.1', [], '127.8.9.1', true],
  ['127.0.0.1', [], '[::1]:8081', true],
  ['127.0.0.1', [], 'shop.localhost', true],
  ['127.0.0.1', [], '127.0.0.1.example', false],
  ['127.0.0.1', [], 'localhost.example', false],
  ['127.0.0.1', [], 'user@localhost', false],
  ['127.0.0.1', [], '192.168.0.7', false],
  ['127.0.0.1', [], '', false],
  ['127.0.0.1', [], undefined, false],
  ['cosmos.lan', [], 'cosmos.lan:8081', true],
  ['0.0.0.0', [], '192.168.0.7:8081', true],
  ['0.0.0.0', [], 'cosmos:8081', false],
  ['0.0.0.0', ['Cosmos'], 'cosmos:8081', true],
])('on %s, called %j, the Host %j is taken: %j', (listening, names, header, taken) => {
  expect(hostNames(listening, names)(header)).toBe(taken);
});

/** A server that waits for no one for long. */
async function impatient(connections: number): Promise<{ open: () => Socket }> {
  const refused = (): Promise<never> => Promise.reject(new Error('No commands are expected here.'));
  const service = new Service(newAccount(undefined, 0, Math.random, {}), EMULATOR_KEY, refused);
  const limits = { headersTimeout: 50, requestTimeout: 100, idleTimeout: 300_000, checkInterval: 20, connections };
  const server = new CosmosServer(service, { isOwn: () => true, limits });
  const port = await server.listen(0, '127.0.0.1');
  onTestFinished(() => server.close());
  return { open: () => connect(port, '127.0.0.1') };
}

const closed = (socket: Socket): Promise<string> =>
  new Promise((resolve) => {
    let answer = '';
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(answer));
  });

test.each<[string, string, string]>([
  ['says nothing', '', ''],
  ['never ends its head', 'GET / HTTP/1.1\r\nhost: localhost\r\nx-slow: ', 'HTTP/1.1 408'],
  ['never ends its body', 'POST /dbs HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{', 'HTTP/1.1 408'],
])('a connection that %s is closed', async (_, text, answer) => {
  const socket = (await impatient(10)).open();
  const end = closed(socket);
  socket.write(text);
  expect((await end).slice(0, answer.length)).toBe(answer);
});

test('connections beyond the limit are closed at once', async () => {
  const { open } = await impatient(1);
  const first = open();
  await new Promise((resolve) => first.once('connect', resolve));
  expect(await closed(open())).toBe('');
  first.destroy();
});

const modeOf = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8);

test.skipIf(process.platform === 'win32')('what is kept is readable for this user alone, older files too', async () => {
  const root = await mkdtemp(join(tmpdir(), 'millrace-private-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const data = join(root, 'kept');
  for (const _ of ['new', 'older']) {
    const emulator = await startEmulator({ data });
    expect(await modeOf(data)).toBe('700');
    expect(await modeOf(join(data, 'cosmos.db'))).toBe('600');
    expect(await modeOf(join(data, 'cosmos.db-wal'))).toBe('600');
    await emulator.close();
    await chmod(join(data, 'cosmos.db'), 0o644);
  }
  const hubs = await startEventHubs({ data: join(root, 'hubs'), hubs: { orders: {} } });
  expect(await modeOf(join(root, 'hubs'))).toBe('700');
  await hubs.close();
});
