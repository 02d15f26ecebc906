import { expect, it } from 'vitest';
import type { Settings } from '../../src/base/settings.ts';
import { eventHubs } from '../../src/runtime/event-hubs.ts';
import { checkGroup } from '../../src/access/consumer-group.ts';
import { openHubs } from '../emulator/hubs.ts';

it('the opening of hubs asks for hubs and consumer groups before anything starts', async () => {
  const listener = { name: 'listener', key: 'bGlzdGVu', rights: ['Listen'] as const };
  const sender = { name: 'sender', key: 'c2VuZA==', rights: ['Send'] as const };
  await using hubs = await openHubs({ keys: [listener, sender] });
  const account = { kind: 'key' as const, connectionString: hubs.hubs.connectionString };
  const cosmos = { kind: 'key' as const, endpoint: 'https://localhost/', key: 'a2V5' };
  const settings: Settings = {
    cosmos,
    database: 'd',
    leases: { account: cosmos, database: 'd', container: 'leases' },
    stateContainer: 'millrace',
    preferredRegions: [],
    eventHubs: { account, checkpoints: 'checkpoints' },
  };
  const clients = eventHubs(settings);
  await using _closed = { [Symbol.asyncDispose]: () => clients.close() };
  await clients.check('telemetry');
  await clients.check('telemetry', 'second');
  await hubs.producer().sendBatch([{ body: 1 }]);
  await clients.check('telemetry', '$Default');
  await expect(clients.check('none')).rejects.toMatchObject({ name: 'UsageError', code: 'missing' });
  await expect(clients.check('telemetry', 'nobody')).rejects.toMatchObject({
    name: 'UsageError',
    code: 'missing',
    message: expect.stringContaining('telemetry (consumer group nobody)'),
  });
  const as = (key: typeof listener | typeof sender) =>
    eventHubs({
      eventHubs: { account: { kind: 'key', connectionString: hubs.hubs.connectionStringOf(key) }, checkpoints: 'c' },
    });
  const [listening, sending] = [as(listener), as(sender)];
  await using _both = {
    [Symbol.asyncDispose]: async () => void (await Promise.all([listening.close(), sending.close()])),
  };
  await listening.check('telemetry', '$Default');
  await sending.check('telemetry');
  const denied = { name: 'UsageError', code: 'denied', hint: expect.stringContaining('Data Sender') };
  await expect(listening.check('telemetry')).rejects.toMatchObject(denied);
  await expect(sending.check('telemetry', '$Default')).rejects.toMatchObject(denied);
});

it('the opening of hubs takes five readers beside it for an answer: the group is there', async () => {
  await using hubs = await openHubs();
  const readers = Array.from({ length: 5 }, () => hubs.read(hubs.consumer(), '0', { offset: '-1' }));
  await hubs.producer().sendBatch([{ body: 1 }], { partitionId: '0' });
  await Promise.all(readers.map(({ until }) => until(1)));
  await checkGroup(hubs.consumer(), '0');
});
