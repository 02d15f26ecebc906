import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CosmosClient } from '@azure/cosmos';
import { expect, onTestFinished, test } from 'vitest';
import { startEmulator } from '../../src/emulator/index.ts';
import { cli } from './cli.ts';

test('a running embedded server is commanded from the command line', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-'));
  const emulator = await startEmulator({ seed: 1, faults: { historyMs: 600_000 } });
  const client = new CosmosClient(emulator.clientOptions);
  onTestFinished(async () => {
    client.dispose();
    await emulator.close();
    rmSync(folder, { recursive: true });
  });
  const run = async (...args: string[]): Promise<unknown> => {
    const { code, stdout, stderr } = await cli(['emulator', ...args, '--endpoint', emulator.endpoint, '--json']);
    const value: unknown = stdout === '' ? stderr : JSON.parse(stdout);
    return code === 0 ? value : { code, value };
  };
  const file = join(folder, 'in.jsonl');
  const lines = [
    { database: { id: 'shop' } },
    { container: { id: 'orders', partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 } }, throughput: 400 },
    // More than one request's worth.
    ...Array.from({ length: 1500 }, (_, n) => ({ item: { id: `${n}`, pk: `k${n % 7}`, pad: 'x'.repeat(1000) } })),
  ];
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  expect(await run('import', file)).toEqual({ items: 1500 });
  const out = join(folder, 'out.jsonl');
  expect(await run('export', out)).toEqual({ file: out, lines: 1502 });
  expect(readFileSync(out, 'utf8').split('\n')).toContain(JSON.stringify(lines.at(-1)));

  writeFileSync(file, `${readFileSync(out, 'utf8').replaceAll('"shop"', '"copy"')}{"item":{"pk":"a"}}\n`);
  expect(await run('import', file)).toMatchObject({ code: 2, value: { error: { message: /^line 1503: / } } });
  const copied = await client
    .database('copy')
    .container('orders')
    .items.query('SELECT VALUE COUNT(1) FROM c')
    .fetchAll();
  expect(copied.resources).toEqual([1500]);

  const orders = client.database('shop').container('orders');
  await orders.item('0', 'k0').delete();
  expect(await run('failover', 'shop/orders', '--loss', '60')).toEqual({ items: 1500 });
  expect(await run('restore', 'copy/orders')).toEqual({ items: 1500 });
  expect(await run('restore', '--ago', '3600')).toMatchObject({ code: 2 });
  const foreign = ['foreign-host', 'copy/orders', '--leases', 'copy/leases', '--steps'];
  expect(await run(...foreign, 'acquire')).toMatchObject({ code: 2, value: { error: { message: /copy\/leases/ } } });
  await client.database('copy').containers.create({ id: 'leases', partitionKey: '/id' });
  expect(await run(...foreign, 'acquire,work', '--start', 'beginning')).toMatchObject({
    read: 100,
    held: { 0: expect.stringMatching(/^"\d+"$/) },
  });
  expect(await run(...foreign, 'work')).toMatchObject({ read: 100 });
  expect(await run(...foreign, 'rest')).toMatchObject({ code: 2, value: { error: { message: /no step 'rest'/ } } });
  expect(await run(...foreign, 'crash')).toMatchObject({ owner: null });
  expect(await run('stall', '--seconds', '0')).toEqual({ seconds: 0 });
  expect(await run('faults', '{"rules": [{"operation": "account", "status": 503}]}')).toMatchObject({ faults: {} });
  expect(emulator.stats().faults).toBe(0);
  expect(await run('faults', 'adverse')).toEqual({ faults: { preset: 'adverse' } });
  expect(await run('faults', 'none')).toEqual({ faults: {} });
  expect(await run('faults', '{"latency": 1}')).toMatchObject({ code: 2, value: { error: { message: /latency/ } } });
  expect(await run('crash')).toEqual({ down: 0 });
  await expect
    .poll(() =>
      client.databases
        .readAll()
        .fetchAll()
        .then(
          ({ resources }) => resources.length,
          () => 0,
        ),
    )
    .toBe(2);
});
