// Handlers that block their process one after the other, for three times the lease's expiration in all, while another
// host waits for the lease.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ChangeFeedProcessor } from 'millrace/feed';
import { expect, it, onTestFinished, vi } from 'vitest';
import { emulate } from '../../emulator/emulate.ts';

const TIMINGS = { acquireMs: 100, expirationMs: 4_000, renewMs: 500, pollMs: 50 };
const CHANGES = 40;
const BLOCK_MS = (3 * TIMINGS.expirationMs) / CHANGES;

it('handlers that compute, begun time after time, keep their lease', async () => {
  const { emulator, database, container } = await emulate();
  const { container: leases } = await database.containers.create({ id: 'leases', partitionKey: '/id', defaultTtl: -1 });
  const ids = Array.from({ length: CHANGES }, (_, n) => `d${n}`);
  for (const id of ids) await container.items.create({ id, pk: id });
  const child = fork(
    join(import.meta.dirname, 'busy-process.ts'),
    [emulator.connectionString, JSON.stringify(TIMINGS), String(BLOCK_MS)],
    { execArgv: ['--conditions=millrace-source'] },
  );
  const handled: string[] = [];
  child.on('message', (some: string[]) => handled.push(...some));
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  await once(child, 'message');
  const others: string[] = [];
  const waiting = new ChangeFeedProcessor({
    source: container,
    leases,
    name: 'P',
    instance: 'waiting',
    start: 'beginning',
    timings: TIMINGS,
    handler: (changes) => void others.push(...changes.map(({ id }) => id)),
  });
  onTestFinished(() => waiting.stop());
  await waiting.start();
  await vi.waitUntil(() => handled.length + others.length >= CHANGES, { timeout: 90_000, interval: 50 });
  expect(others).toEqual([]);
  expect(handled.toSorted()).toEqual(ids.toSorted());
}, 120_000);
