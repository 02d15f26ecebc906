import { EventHubConsumerClient, EventHubProducerClient } from '@azure/event-hubs';
import { expect, it } from 'vitest';
import { cli } from '../../../cli/cli.ts';
import { millrace } from '../../../support/process.ts';

it('the start of the emulator starts event hubs beside the server, says how to reach them, and stops them with it', async () => {
  await using emulator = millrace([
    'emulator',
    'start',
    '--port=0',
    '--event-hubs',
    '--event-hubs-port=0',
    '--hubs=orders,readings:billing+audit',
  ]);
  const [, connection = ''] = await emulator.until(/export EVENTHUBS='([^']+)'/);
  await emulator.until(/Event Hubs listens at 127\.0\.0\.1:\d+: orders, readings\./);
  await emulator.until(/Ctrl-C stops the server/);
  const producer = new EventHubProducerClient(connection, 'orders');
  await producer.sendBatch([{ body: 'hello' }]);
  await producer.close();
  const reader = new EventHubConsumerClient('audit', connection, 'readings');
  expect(await reader.getPartitionIds()).toHaveLength(4);
  await reader.close();
  emulator.kill('SIGINT');
  expect(await emulator.ended).toMatchObject({ code: 130 });
  const late = new EventHubProducerClient(connection, 'orders', { retryOptions: { maxRetries: 0 } });
  await expect(late.getPartitionIds()).rejects.toMatchObject({ name: expect.stringMatching(/Error$/) });
  await late.close();
});

it.each([
  [['--hubs=orders'], /Add --event-hubs/],
  [['--event-hubs', '--hubs=a b'], /names the event hub "a b"/],
  [['--event-hubs', '--hubs=a:b c'], /names the consumer group "b c"/],
])('the start of the emulator refuses %j', async (flags, why) => {
  const { code, stderr } = await cli(['emulator', 'start', '--port=0', ...flags]);
  expect(code).toBe(2);
  expect(stderr).toMatch(why);
});
