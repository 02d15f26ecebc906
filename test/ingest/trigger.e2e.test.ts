import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { EventHubProducerClient, type EventData } from '@azure/event-hubs';
import { expect, it } from 'vitest';
import { load } from '../../examples/telemetry/workload.ts';
import { visible } from '../../src/pipeline/oracle/recompute.ts';
import { startEventHubs } from '../../src/emulator/eventhubs/index.ts';
import { DeadLetters } from '../../src/engine/dead-letters/dead-letters.ts';
import { startAzurite } from '../support/azurite.ts';
import { SOURCES, millrace } from '../support/process.ts';
import { suiteSeed } from '../support/seed.ts';
import { type Stage, openStage } from '../support/stage.ts';

const ROOT = join(import.meta.dirname, '../..');
const FOLDER = join(ROOT, 'examples/telemetry');
const EVENTS = 1_200;
const seed = suiteSeed();

it(`the trigger takes what the processor takes, stopped in the middle and started again (seed ${seed})`, async () => {
  // The app of this repository, from its sources.
  const app = mkdtempSync(join(tmpdir(), 'millrace-app-'));
  writeFileSync(join(app, 'host.json'), '{ "version": "2.0" }');
  writeFileSync(
    join(app, 'package.json'),
    JSON.stringify({ type: 'module', main: relative(app, join(ROOT, 'functions/index.ts')) }),
  );
  const azurite = await startAzurite();
  const hubs = await startEventHubs({ hubs: { 'device-readings': {}, 'device-hours': {} } });
  const byProcessor = await openStage({}, FOLDER, { connectionString: azurite.connectionString, container: 'archive' });
  const byTrigger = await openStage({}, FOLDER);
  try {
    await send(hubs.connectionString);
    await using once = millrace(['run', '--pipeline', FOLDER, '--once', '--poll-delay', '50'], {
      env: { ...byProcessor.env, EVENTHUBS: hubs.connectionString },
    });
    // The nonsense is parked, and needs a person.
    expect([(await once.ended).code, once.stderr]).toEqual([1, expect.anything()]);
    const wanted = await found(byProcessor);
    expect(wanted.readings.length).toBeGreaterThan(EVENTS * 0.9);
    expect(wanted.letters.length).toBeGreaterThanOrEqual(2);

    const start = () =>
      millrace(['functions', 'start', '--app', app, '--port', '0'], {
        bin: SOURCES,
        env: {
          ...byTrigger.env,
          EVENTHUBS: hubs.connectionString,
          AzureWebJobsStorage: azurite.connectionString,
          MILLRACE_PIPELINE: FOLDER,
          // Without the archive's storage its timer can take nothing away from under this test.
          STORAGE: '',
          JOBS_URL: '',
        },
      });
    {
      await using first = start();
      await first.until(/ingest-readings-in: eventHubTrigger\n/);
      await first.until(/ingest-readings-in: \d+ events, \d+ ms/);
      first.kill('SIGTERM');
      await first.ended;
    }
    await using second = start();
    const counts = ({ readings, letters }: typeof wanted): number[] => [readings.length, letters.length];
    await expect
      .poll(async () => counts(await found(byTrigger)), { timeout: 240_000, interval: 500 })
      .toEqual(counts(wanted));
    expect(await found(byTrigger)).toEqual(wanted);
    second.kill('SIGTERM');
    await second.ended;
  } finally {
    await byTrigger[Symbol.asyncDispose]();
    await byProcessor[Symbol.asyncDispose]();
    await hubs.close();
    await azurite.close();
    rmSync(app, { recursive: true });
  }
}, 600_000);

/** Devices' readings by their keys, some of them twice, some nonsense, some no JSON. */
async function send(connectionString: string): Promise<void> {
  const producer = new EventHubProducerClient(connectionString, 'device-readings');
  const byKey = new Map<string, EventData[]>();
  let count = 0;
  for await (const { send: event } of load({ seed })) {
    if (count++ === EVENTS) break;
    const { body, partitionKey } = event;
    byKey.set(partitionKey, [...(byKey.get(partitionKey) ?? []), { body, properties: { Source: 'test' } }]);
  }
  byKey.set('nobody', [{ body: Buffer.from('{ no json') }, { body: { tenant: 1 } }]);
  for (const [partitionKey, events] of byKey) await producer.sendBatch(events, { partitionKey });
  await producer.close();
}

/** What an ingest has made of its hub, dead letters by what they say of the event and not by when. */
async function found(stage: Stage) {
  const { resources } = await stage
    .container('Readings')
    .items.query<Record<string, unknown>>("SELECT * FROM c WHERE c.type = 'reading'")
    .fetchAll();
  const place = ({ deviceId, siteId, id }: Record<string, unknown>): string => JSON.stringify([siteId, deviceId, id]);
  const letters = await new DeadLetters(stage.services.place.state).list('readings-in@1');
  return {
    readings: resources.map(visible).toSorted((a, b) => (place(a) < place(b) ? -1 : 1)),
    letters: letters
      .map(({ key, id, code, message, version }) => ({ key, id, code, message, version }))
      .toSorted((a, b) => (JSON.stringify([a.key, a.id]) < JSON.stringify([b.key, b.id]) ? -1 : 1)),
  };
}
