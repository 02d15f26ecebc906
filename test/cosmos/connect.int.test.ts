import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { UsageError } from '../../src/base/errors.ts';
import { checkAccount, connect } from '../../src/cosmos/connect.ts';
import { EMULATOR_KEY, startEmulator } from '../../src/emulator/index.ts';

async function check(endpoint: string, key = EMULATOR_KEY, setting?: string): Promise<void> {
  const client = connect({ kind: 'key', endpoint, key });
  onTestFinished(() => client.dispose());
  await checkAccount(client, endpoint, setting);
}

async function usageError(checking: Promise<void>): Promise<UsageError> {
  const error = await checking.catch((caught: unknown) => caught);
  if (error instanceof UsageError) return error;
  throw new Error('There was no UsageError', { cause: error });
}

/** An account's front door that says what the test wants it to. */
async function account(info: object): Promise<string> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(info));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const info = (multiple: boolean) => ({
  id: 'acc',
  writableLocations: [{ name: 'West Europe', databaseAccountEndpoint: 'http://127.0.0.1/' }],
  readableLocations: [{ name: 'West Europe', databaseAccountEndpoint: 'http://127.0.0.1/' }],
  enableMultipleWriteLocations: multiple,
  userConsistencyPolicy: { defaultConsistencyLevel: 'Session' },
});

describe('an account', () => {
  it('an account that answers is accepted', async () => {
    const emulator = await startEmulator();
    onTestFinished(() => emulator.close());
    await expect(check(emulator.endpoint)).resolves.toBeUndefined();
    await expect(check(await account(info(false)))).resolves.toBeUndefined();
  });

  it('an account that refuses our key is said to, with the setting to look at and without the key', async () => {
    const emulator = await startEmulator();
    onTestFinished(() => emulator.close());
    const wrong = Buffer.from('not the key').toString('base64');
    const error = await usageError(check(emulator.endpoint, wrong, 'LEASES'));
    expect(error).toMatchObject({ code: 'denied', hint: expect.stringContaining('LEASES') as string });
    expect(error.message).toContain(emulator.endpoint);
    expect(`${error.message}${error.hint}`).not.toContain(wrong);
    expect(error.message).not.toContain('\n');
  });

  it('an account that is not there is said to be unreachable', async () => {
    const emulator = await startEmulator();
    await emulator.close();
    const error = await usageError(check(emulator.endpoint));
    expect(error).toMatchObject({
      code: 'unreachable',
      hint: expect.stringMatching(/COSMOS.*`export` lines/) as string,
    });
    expect(error.message).toContain(emulator.endpoint);
  });

  it('an account whose name doesn’t exist is said to be unreachable as quickly', async () => {
    expect(await usageError(check('https://nowhere.invalid:443/'))).toMatchObject({ code: 'unreachable' });
  });

  it('an account with several write regions is refused', async () => {
    const endpoint = await account(info(true));
    expect(await usageError(check(endpoint))).toMatchObject({
      code: 'multi-region-writes',
      hint: expect.stringContaining('one write region') as string,
    });
  });
});

it('a client waits for nothing by itself: throttling comes through at once', async () => {
  const emulator = await startEmulator();
  const client = connect({ kind: 'key', endpoint: emulator.endpoint, key: EMULATOR_KEY });
  onTestFinished(async () => {
    client.dispose();
    await emulator.close();
  });
  const { database } = await client.databases.create({ id: 'd' });
  const { container } = await database.containers.create({ id: 'c', partitionKey: { paths: ['/pk'] } });
  emulator.faults({ throttle: 1 });
  await expect(container.items.create({ id: '1', pk: 'a' })).rejects.toMatchObject({ code: 429 });
  expect(emulator.stats().faults).toBe(1);
});

it('a client reads what it wrote, however far replicas lag', async () => {
  const emulator = await startEmulator({ faults: { replicaLagMs: 5_000 } });
  const client = connect({ kind: 'key', endpoint: emulator.endpoint, key: EMULATOR_KEY });
  onTestFinished(async () => {
    client.dispose();
    await emulator.close();
  });
  const { database } = await client.databases.create({ id: 'd' });
  const { container } = await database.containers.create({ id: 'c', partitionKey: { paths: ['/pk'] } });
  for (let n = 0; n < 30; n++) {
    await container.items.upsert({ id: '1', pk: 'a', n });
    expect((await container.item('1', 'a').read<{ n: number }>()).resource?.n).toBe(n);
  }
});
