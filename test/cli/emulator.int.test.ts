import { CosmosClient } from '@azure/cosmos';
import { expect, onTestFinished, test } from 'vitest';
import { startEmulator } from '../../src/emulator/index.ts';
import { cli } from './cli.ts';

test('a running embedded server is commanded from the command line', async () => {
  const emulator = await startEmulator({ seed: 1, faults: { historyMs: 600_000 } });
  const client = new CosmosClient(emulator.clientOptions);
  onTestFinished(async () => {
    client.dispose();
    await emulator.close();
  });
  const run = async (...args: string[]): Promise<unknown> => {
    const { code, stdout, stderr } = await cli(['emulator', ...args, '--endpoint', emulator.endpoint, '--json']);
    const value: unknown = stdout === '' ? stderr : JSON.parse(stdout);
    return code === 0 ? value : { code, value };
  };
  for (const id of ['shop', 'copy']) {
    const { database } = await client.databases.create({ id });
    const { container } = await database.containers.create({ id: 'orders', partitionKey: '/pk' });
    for (let n = 0; n < 3; n++) await container.items.create({ id: `${n}`, pk: `k${n}` });
  }
  const orders = client.database('shop').container('orders');
  await orders.item('0', 'k0').delete();
  expect(await run('failover', 'shop/orders', '--loss', '60')).toEqual({ items: 3 });
  expect(await run('restore', 'copy/orders')).toEqual({ items: 3 });
  expect(await run('restore', '--ago', '3600')).toMatchObject({ code: 2 });
  expect(await run('stall', '--seconds', '0')).toEqual({ seconds: 0 });
  expect(await run('faults', '{"rules": [{"operation": "account", "status": 503}]}')).toMatchObject({ faults: {} });
  expect(emulator.stats().faults).toBe(0);
  expect(await run('faults', 'adverse')).toEqual({ faults: { preset: 'adverse' } });
  expect(await run('faults', 'none')).toEqual({ faults: {} });
  expect(await run('faults', '{"latency": 1}')).toMatchObject({ code: 2, value: { error: { message: /latency/ } } });
});
