import { expect, test } from 'vitest';
import { startEmulator } from '../../src/emulator/index.ts';
import { emulate } from './emulate.ts';

test('commands come over HTTP, with the key', async () => {
  const { emulator } = await emulate();
  const command = async (name: string, body: unknown, key = emulator.key) => {
    const response = await fetch(new URL(`_millrace/${name}`, emulator.endpoint), {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify(body),
    });
    return [response.status, await response.json()] as const;
  };
  expect(await command('split', { container: 'd/c' })).toEqual([200, { ranges: ['1', '2'] }]);
  expect(await command('merge', { container: 'd/c', ranges: ['1', '2'] })).toEqual([200, { ranges: ['3'] }]);
  expect((await command('clock', { advanceMs: 1000, freeze: true, purge: true }))[0]).toBe(200);
  expect((await command('throttle', { container: 'd/c', ruPerSecond: 1 }))[0]).toBe(200);
  expect((await command('throttle', { container: 'd/c', ruPerSecond: null }))[0]).toBe(200);
  expect((await command('failover', { container: 'd/c', lossMs: 0 }))[0]).toBe(200);
  expect((await command('stall', { ms: 0 }))[0]).toBe(200);

  expect(await command('restore', { container: 'd/c' })).toEqual([200, { items: 0 }]);
  expect(await command('restore', { agoMs: 1 })).toMatchObject([400, { message: /historyMs/ }]);
  expect(await command('faults', { latencyMs: 1, rules: [{ status: 503, operation: 'read' }] })).toEqual([200, {}]);
  expect(await command('faults', { preset: 'adverse' })).toEqual([200, {}]);
  expect(await command('faults', { latency: 1 })).toMatchObject([400, { message: /latency/ }]);
  expect((await command('faults', {}))[0]).toBe(200);
  expect(await command('stats', {})).toMatchObject([200, { requests: {}, faults: 0 }]);

  expect((await command('split', { container: 'd/c' }, 'x'))[0]).toBe(401);
  expect((await command('nonsense', {}))[0]).toBe(404);
  expect((await command('constructor', {}))[0]).toBe(404);
  expect(await command('split', { container: 'd/c', what: 1 })).toMatchObject([400, { message: /what/ }]);
  expect(await command('split', { container: 'd/x' })).toMatchObject([400, { message: /Name one of: d\/c/ }]);
  expect(await command('throttle', { container: 'd/c', ruPerSecond: 0 })).toMatchObject([400, {}]);
});

test('other machines are let in only where that was asked for', async () => {
  await expect(startEmulator({ host: '0.0.0.0' })).rejects.toThrow('Other machines could reach the server');
});
