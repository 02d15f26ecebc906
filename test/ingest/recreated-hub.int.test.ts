// An event hub that was deleted and made again under its name begins again: positions of the earlier one are not read.
import { EventHubProducerClient } from '@azure/event-hubs';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type EventHubs, startEventHubs } from '../../src/emulator/eventhubs/index.ts';
import { cli } from '../cli/cli.ts';
import { type Azurite, startAzurite } from '../support/azurite.ts';
import { openStage } from '../support/stage.ts';

const TELEMETRY = new URL('../../examples/telemetry', import.meta.url).pathname;
let azurite: Azurite;
beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await azurite.close();
});

async function send(hubs: EventHubs, prefix: string, count: number): Promise<void> {
  const producer = new EventHubProducerClient(hubs.connectionString, 'device-readings');
  const bodies = Array.from({ length: count }, (_, n) => ({
    body: {
      tenant: 't',
      site: 's',
      device: prefix,
      at: `2026-06-03T12:00:${String(n).padStart(2, '0')}Z`,
      celsius: n,
      battery: 90,
    },
  }));
  await producer.sendBatch(bodies, { partitionId: '0' });
  await producer.close();
}

it.each([
  ['fewer', 3],
  ['more', 9],
])(
  'events of a hub that was made again with %s events than its position are not skipped in silence',
  async (name, count) => {
    const create = (port = 0) =>
      startEventHubs({ port, hubs: { 'device-readings': { partitions: 1 }, 'device-hours': { partitions: 1 } } });
    await using stage = await openStage({}, TELEMETRY, { connectionString: azurite.connectionString, container: name });
    for (const [setting, value] of Object.entries({ ...stage.env, CHECKPOINTS_CONTAINER: `positions-${name}` }))
      vi.stubEnv(setting, value);
    const millrace = (...args: string[]) => cli([...args, '--pipeline', TELEMETRY]);
    const once = () => millrace('run', '--once', '--poll-delay', '50');
    const readings = async (): Promise<number> =>
      (
        await stage
          .container('Readings')
          .items.query<number>("SELECT VALUE COUNT(1) FROM c WHERE c.type = 'reading'")
          .fetchAll()
      ).resources[0] ?? 0;

    const first = await create();
    vi.stubEnv('EVENTHUBS', first.connectionString);
    await send(first, 'before', 5);
    expect(await once()).toMatchObject({ code: 0 });
    expect(await readings()).toBe(5);
    expect((await millrace('doctor')).stdout).toContain('device-readings answers, and this identity may read');
    await first.close();

    const second = await create(first.port);
    try {
      vi.stubEnv('EVENTHUBS', second.connectionString);
      await send(second, 'after', count);
      const refused = await once();
      expect(refused.code).toBe(2);
      expect(refused.stderr).toContain('are of an earlier hub');
      expect(refused.stderr).toContain('millrace leases rewind device-readings --to beginning');
      for (const verb of ['doctor', 'status']) {
        const { stdout } = await millrace(verb);
        expect(stdout).toContain('are of an earlier hub');
        expect(stdout).toContain('leases rewind device-readings --to beginning');
      }
      expect(await readings()).toBe(5);
      const rewound = await millrace('leases', 'rewind', 'device-readings', '--to', 'beginning');
      expect(rewound).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('device-readings ($Default) 0: 4 → beginning') as string,
      });
      expect(await once()).toMatchObject({ code: 0 });
      expect(await readings()).toBe(5 + count);
      expect((await millrace('doctor')).stdout).not.toContain('an earlier hub');
    } finally {
      await second.close();
    }
  },
);
