import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { UsageError } from '../../src/base/errors.ts';
import { startEmulator } from '../../src/emulator/index.ts';
import { emulate, refusal } from './emulate.ts';

test('databases and containers are created, listed, queried and dropped', async () => {
  const { client, database } = await emulate();
  await client.databases.createIfNotExists({ id: 'übel 2' });
  await client.databases.createIfNotExists({ id: 'übel 2' });
  expect(await refusal(client.databases.create({ id: 'd' }))).toMatchObject({ code: 409 });
  expect((await client.databases.readAll().fetchAll()).resources.map(({ id }) => id)).toEqual(['d', 'übel 2']);
  const query = { query: 'SELECT * FROM root r WHERE r.id = @id', parameters: [{ name: '@id', value: 'd' }] };
  expect((await client.databases.query<{ id: string }>(query).fetchAll()).resources.map(({ id }) => id)).toEqual(['d']);
  expect((await database.containers.readAll().fetchAll()).resources.map(({ id }) => id)).toEqual(['c']);
  const { container } = await client
    .database('übel 2')
    .containers.createIfNotExists({ id: 'c d', partitionKey: '/pk' });
  await container.items.create({ id: 'i j', pk: 'é' });
  expect((await container.item('i j', 'é').read()).statusCode).toBe(200);
  await container.delete();
  expect(await refusal(container.read())).toMatchObject({ code: 404 });
  expect(await refusal(container.items.create({ id: '1', pk: 'a' }))).toMatchObject({ code: 404 });
  await client.database('übel 2').delete();
  expect(await refusal(client.database('übel 2').read())).toMatchObject({ code: 404 });
});

test('a definition comes back with defaults, and what cannot change is refused', async () => {
  const { container } = await emulate({ defaultTtl: 100 });
  const { resource } = await container.read();
  expect(resource).toMatchObject({
    id: 'c',
    defaultTtl: 100,
    partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 },
  });
  expect(resource?.indexingPolicy?.includedPaths).toEqual([{ path: '/*' }]);
  const { defaultTtl: _dropped, ...rest } = resource!;
  expect((await container.replace(rest as never)).resource).not.toHaveProperty('defaultTtl');
  expect(await refusal(container.replace({ ...rest, partitionKey: { paths: ['/other'] } }))).toMatchObject({
    code: 400,
  });
  expect(await refusal(container.replace({ ...rest, defaultTtl: 0 }))).toMatchObject({ code: 400 });
});

test('key paths are names of letters, digits and _, or quoted', async () => {
  const { database } = await emulate();
  const create = (path: string) =>
    database.containers.create({ id: `c${path.length}`, partitionKey: { paths: [path] } });
  for (const path of ['id', '/id ds', '/a-b', '/a/', '/*', '/', '//a']) {
    const { code, message } = await refusal(create(path));
    expect([path, code]).toEqual([path, 400]);
    expect(message).toContain(`path '${path}' could not be accepted`);
  }
  for (const path of ['/a_1', '/größe/x', '/"a-b"/"c d"']) expect((await create(path)).statusCode).toBe(201);
});

test('throughput decides how many ranges a container starts with', async () => {
  const { container, database } = await emulate({ throughput: 20_000 });
  const { resources: ranges } = await container.readPartitionKeyRanges().fetchAll();
  expect(ranges.map(({ id }) => id)).toEqual(['0', '1', '2', '3']);
  expect(ranges[0]!.minInclusive).toBe('');
  expect(ranges.at(-1)!.maxExclusive).toBe('FF');
  for (let i = 1; i < 4; i++) expect(ranges[i]!.minInclusive).toBe(ranges[i - 1]!.maxExclusive);
  const { resource: offer, offer: handle } = await container.readOffer();
  expect(offer?.content?.offerThroughput).toBe(20_000);
  const content = { offerThroughput: 500, offerIsRUPerMinuteThroughputEnabled: false };
  await handle?.replace({ ...offer, content });
  expect((await container.readOffer()).resource?.content?.offerThroughput).toBe(500);
  const auto = await database.containers.create({ id: 'auto', partitionKey: '/pk', maxThroughput: 10_000 });
  expect((await auto.container.readOffer()).resource?.content?.offerAutopilotSettings?.maxThroughput).toBe(10_000);
  expect((await auto.container.readPartitionKeyRanges().fetchAll()).resources).toHaveLength(2);
  expect(await refusal(database.containers.create({ id: 'odd', partitionKey: '/pk', throughput: 399 }))).toMatchObject({
    code: 400,
  });
});

test('the account is asked for once', async () => {
  const { container, emulator } = await emulate();
  for (let i = 0; i < 5; i++) await container.items.create({ id: String(i), pk: 'a' });
  const { requests, charge } = emulator.stats();
  expect(requests.account).toBe(1);
  expect(requests.create).toBe(5);
  expect(charge).toBeGreaterThan(27);
});

test('a bad start says what to do', async () => {
  const emulator = await startEmulator();
  const port = Number(new URL(emulator.endpoint).port);
  await expect(startEmulator({ port })).rejects.toMatchObject({
    code: 'cannot-listen',
    hint: expect.any(String) as string,
  });
  await emulator.close();
  const folder = await mkdtemp(join(tmpdir(), 'millrace-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const first = await startEmulator({ data: folder });
  await expect(startEmulator({ data: folder })).rejects.toMatchObject({ code: 'unwritable' });
  await first.close();
  await (await startEmulator({ data: folder })).close();
  await expect(startEmulator({ data: '/dev/null/x' })).rejects.toBeInstanceOf(UsageError);
  await expect(startEmulator({ key: 'not base64!' })).rejects.toBeInstanceOf(UsageError);
});
