// `archive as-of` by the command line, on Azurite, with a host that keeps the log.
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BlobServiceClient } from '@azure/storage-blob';
import { expect, it, onTestFinished, vi } from 'vitest';
import { compose } from '../../../src/runtime/processor-host.ts';
import { cli } from '../../cli/cli.ts';
import { startAzurite } from '../../support/azurite.ts';
import { changesOf, openBacklog } from '../../engine/backlog/set-aside.ts';
import { COLD, openStage } from '../../support/stage.ts';

it('a host keeps the log, and the verb writes a file and a container, or says why it cannot', async () => {
  const azurite = await startAzurite();
  onTestFinished(() => azurite.close());
  const { connectionString } = azurite;
  const pipeline = join(COLD, '../cold-log');
  await using stage = await openStage({}, pipeline, { connectionString, container: 'log' });
  for (const [name, value] of Object.entries({ ...stage.env, MILLRACE_PIPELINE: pipeline })) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  const blobs = BlobServiceClient.fromConnectionString(connectionString).getContainerClient('log');
  const order = (id: string, cents: number) => ({
    id,
    type: 'order',
    storeId: 's1',
    customerId: 'c1',
    placedAt: '2026-01-05T10:00:00.000Z',
    cents,
  });
  const orders = stage.container('Orders');
  for (const id of ['a', 'b']) await orders.items.create(order(id, 1));
  const app = await compose({ ...stage, host: 'test', readLagMs: 0, timings: { pollMs: 40 } });
  await app.start();
  await app.drained(AbortSignal.timeout(30_000));
  await app.stop();
  const file = join(tmpdir(), `as-of-${process.pid}.jsonl`);
  onTestFinished(() => rm(file, { force: true }));
  const now = new Date().toISOString();
  const ask = (time: string, into: string, ...more: string[]) =>
    cli(['archive', 'as-of', time, '--into', into, ...more, '--json']);
  expect(await ask(now, file)).toMatchObject({ code: 2, stderr: expect.stringContaining('has not begun') });
  const doctor = async (): Promise<string> => (await cli(['doctor'])).stdout;
  expect(await doctor()).toContain('that of orders-cold has not begun');
  // Too short a slice to begin it in one.
  expect((await cli(['archive', 'sweep', '--within', '0.001'])).code).toBe(0);
  expect(await ask(now, file)).toMatchObject({ code: 2, stderr: expect.stringContaining('has not begun') });
  expect((await cli(['archive', 'sweep', '--within', '100'])).code).toBe(0);
  expect(await doctor()).toContain('that of orders-cold is whole from');
  expect(await ask(now, file)).toMatchObject({ code: 2, stderr: expect.stringContaining('is before') });
  // The sweep has listed what the host wrote.
  expect((await cli(['archive', 'verify'])).stdout).toMatch(
    /The version log of orders-cold@1 is whole from \S+ on: 4 versions in \d blobs?, \S+ \w+\./,
  );
  expect(await ask('2999-01-01', file)).toMatchObject({ code: 2, stderr: expect.stringContaining('in the future') });
  // As if the log had begun long ago: the host has kept the log since the beginning of the container.
  const begin = JSON.stringify({ format: 1, from: 0 });
  await blobs.getBlockBlobClient('log~orders-cold@1/begin.json').upload(begin, begin.length);
  const { code, stdout } = await ask(now, file);
  expect({ code, value: JSON.parse(stdout) as unknown }).toMatchObject({
    code: 0,
    value: { documents: 2, differ: 0, exact: false },
  });
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
  const docs = lines.map((line) => JSON.parse(line) as { id: string });
  expect(docs.toSorted((one, other) => (one.id < other.id ? -1 : 1))).toEqual([order('a', 1), order('b', 1)]);
  for (let run = 0; run < 2; run++) expect((await ask(now, 'Customers', '--tenant', 's1')).code).toBe(0);
  expect((await stage.container('Customers').item('a', 's1').read()).resource).toMatchObject(order('a', 1));
  expect((await ask('2020-01-01', 'Customers')).stdout).toContain('"documents": 0');
  const aside = async (at: number) =>
    (await openBacklog(stage.services.place.state, 'cold', 'Orders')).setAside('s1', changesOf('Orders', 's1', 1, at));
  await aside(Date.now() + 600_000);
  expect((await ask(now, 'Customers', '--tenant', 's1')).code).toBe(0);
  await aside(1_000);
  expect(await ask(now, 'Customers')).toMatchObject({ code: 1, stderr: expect.stringContaining('are set aside') });
  // No host has read this one.
  await orders.items.upsert(order('a', 2));
  expect(await ask(new Date(Date.now()).toISOString(), 'Customers')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('have not read range'),
  });
});
