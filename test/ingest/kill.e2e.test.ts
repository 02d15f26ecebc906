import { setTimeout as delay } from 'node:timers/promises';
import { EventHubProducerClient } from '@azure/event-hubs';
import { expect, it } from 'vitest';
import { load } from '../../examples/telemetry/workload.ts';
import { startEventHubs } from '../../src/emulator/eventhubs/index.ts';
import { verify } from '../../src/procedures/verify/verify.ts';
import { startAzurite } from '../support/azurite.ts';
import { millrace } from '../support/process.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';
import { openStage } from '../support/stage.ts';

const FOLDER = new URL('../../examples/telemetry', import.meta.url).pathname;
/** MILLRACE_HISTORIES: how many times the process is killed. */
const KILLS = Number(process.env['MILLRACE_HISTORIES'] ?? 3);
const EVENTS = Math.min(10_000, 1_000 * KILLS);

const seed = suiteSeed();

it(
  `an ingest that is killed ${KILLS} times and started again has every event once (seed ${seed})`,
  async () => {
    const random = new Random(seed);
    const azurite = await startAzurite();
    const hubs = await startEventHubs({ hubs: { 'device-readings': {}, 'device-hours': {} } });
    const stage = await openStage({}, FOLDER, { connectionString: azurite.connectionString, container: 'archive' });
    const env = { ...stage.env, EVENTHUBS: hubs.connectionString };
    const start = (...more: string[]) =>
      millrace(
        ['run', '--pipeline', FOLDER, '--host', 'worker', '--lease-expiration', '2000', '--poll-delay', '50', ...more],
        {
          env,
        },
      );
    const readings = stage.container('Readings');
    const count = async (): Promise<number> =>
      (await readings.items.query<number>("SELECT VALUE COUNT(1) FROM c WHERE c.type = 'reading'").fetchAll())
        .resources[0] ?? 0;
    const beyond = async (goal: number): Promise<void> => {
      while ((await count()) < goal) await delay(5);
    };
    try {
      const expected = new Set<string>();
      let nonsense = 0;
      const sending = async (): Promise<void> => {
        const producer = new EventHubProducerClient(hubs.connectionString, 'device-readings');
        let batch = await producer.createBatch();
        let sent = 0;
        for await (const step of load({ seed })) {
          if (!('hub' in step) || sent++ === EVENTS) break;
          const { tenant, site, device, at, celsius } = step.send.body as Record<string, unknown>;
          if (typeof celsius === 'number') expected.add(JSON.stringify([tenant, site, device, at]));
          else nonsense += 1;
          if (batch.count === 100 || !batch.tryAdd({ body: step.send.body })) {
            await producer.sendBatch(batch);
            batch = await producer.createBatch();
            if (!batch.tryAdd({ body: step.send.body })) throw new Error('an event that no batch takes');
          }
        }
        await producer.sendBatch(batch);
        await producer.close();
      };
      const sent = sending();
      let before = 0;
      for (let kills = 0; kills < KILLS; kills++) {
        await using worker = start();
        // Each time it gets a little further, and is killed somewhere in what it does next.
        const goal = Math.min(before + 1 + random.int(EVENTS / KILLS), EVENTS / 2);
        await Promise.race([worker.ended, beyond(goal)]);
        await delay(random.int(before < EVENTS / 2 ? 40 : 2_000));
        before = await count();
        worker.kill('SIGKILL');
        expect((await worker.ended).signal).toBe('SIGKILL');
      }
      await sent;
      await using last = start('--once');
      // Nonsense is parked, and needs a person. One seed of ten has none.
      expect([(await last.ended).code, last.stderr]).toEqual([nonsense > 0 ? 1 : 0, expect.anything()]);
      const { resources } = await readings.items
        .query<string[]>("SELECT VALUE [c.tenantId, c.siteId, c.deviceId, c.id] FROM c WHERE c.type = 'reading'")
        .fetchAll();
      expect(resources).toHaveLength(expected.size);
      expect(new Set(resources.map((place) => JSON.stringify(place)))).toEqual(expected);
      const { signal } = new AbortController();
      const screen = { live: false, line: () => {}, draw: () => {}, progress: () => {} };
      const verification = await verify(stage.loaded, stage.services, { signal, screen, readLagMs: 0 });
      expect(verification.different).toBe(0);
    } finally {
      await stage[Symbol.asyncDispose]();
      await hubs.close();
      await azurite.close();
    }
  },
  300_000 + 30_000 * KILLS,
);
