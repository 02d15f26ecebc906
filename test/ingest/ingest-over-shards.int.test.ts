// An ingest whose documents are in the shards of a map.
import { setImmediate } from 'node:timers/promises';
import { ContainerClient } from '@azure/storage-blob';
import { BlobCheckpointStore } from '@azure/eventhubs-checkpointstore-blob';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { partOf } from '../../src/pipeline/places.ts';
import type { IngestEvent, IngestSpec } from '../../src/pipeline/specs.ts';
import { DeadLetters } from '../../src/engine/dead-letters/dead-letters.ts';
import { Ingestor } from '../../src/ingest/ingestor.ts';
import { targetOf } from '../../src/ingest/take.ts';
import { redrive } from '../../src/procedures/dead-letters/redrive.ts';
import { moveMapping } from '../../src/procedures/move/move.ts';
import { ingestSink } from '../../src/runtime/hosts/ingest-sink.ts';
import type { HubClients } from '../../src/access/hub-clients.ts';
import { openHubs } from '../emulator/hubs.ts';
import { orderOf } from '../runtime/application.ts';
import { assertExact, given } from '../runtime/spread-world.ts';
import { type Azurite, startAzurite } from '../support/azurite.ts';

const { signal } = new AbortController();

let azurite: Azurite;
beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(async () => {
  await azurite?.close();
});

interface Body {
  readonly store: string;
  readonly id: string;
  readonly cents: number;
}

const SPEC: IngestSpec = {
  kind: 'ingest',
  name: 'orders-in',
  version: 1,
  from: 'telemetry',
  consumerGroup: '$Default',
  format: 'json',
  into: { container: 'Orders', type: 'order' },
  map: ({ body }: IngestEvent) => {
    const { store, id, cents } = body as Body;
    return { ...orderOf(store, id, cents) };
  },
};

it('an event goes into the shard of its key, waits while the key is offline, and is there once after a move under way', async (context) => {
  const { stage, application, host } = await given(context, ['north', 'west']);
  const { map, services, settings } = stage;
  const shards = await map.shards();
  const shardOf = (name: string) => shards.find(({ location }) => location.database === name)!;
  await map.createMapping({ shard: shardOf('north'), key: 's0' });
  await map.createMapping({ shard: shardOf('west'), key: 's1' });

  const hubs = await openHubs();
  context.onTestFinished(() => hubs[Symbol.asyncDispose]());
  const container = new ContainerClient(azurite.connectionString, 'over-shards');
  await container.create();
  const store = new BlobCheckpointStore(container);
  const clients: HubClients = {
    producer: async (hub) => hubs.producer(hub),
    check: async () => undefined,
    positions: () => ({ assertFit: async () => undefined, forget: async () => [] }),
    consumer: async (hub, group) => ({ client: hubs.consumer(group, hub, store), store }),
  };
  const declared = { ...stage.loaded.pipeline, ingests: [SPEC] };
  const loaded = { ...stage.loaded, pipeline: partOf(declared, stage.loaded.model, 'global') };
  expect(loaded.pipeline.ingests).toEqual([SPEC]);
  const parts = { settings, services, loaded };
  const target = targetOf(SPEC, loaded.pipeline, loaded.model);
  const ingestor = new Ingestor({
    spec: SPEC,
    target,
    hubs: clients,
    sink: ingestSink(parts, SPEC, target),
    deadLetters: new DeadLetters(services.place.state),
    host: 'host',
  });
  await ingestor.start();
  context.onTestFinished(() => ingestor.stop());
  const caughtUp = async (): Promise<void> => {
    while (!(await ingestor.caughtUp())) await setImmediate();
  };
  const producer = hubs.producer();
  const send = async (...bodies: Body[]): Promise<void> => {
    await producer.sendBatch(
      bodies.map((body) => ({ body })),
      { partitionId: '0' },
    );
    for (const { store: of, id, cents } of bodies) application.add(orderOf(of, id, cents));
  };
  const there = async (shard: string, of: string): Promise<string[]> => {
    const query = 'SELECT VALUE c.id FROM c WHERE NOT IS_DEFINED(c._mr.moved.gone)';
    const { resources } = await stage.at(shard, 'Orders').items.query<string>(query, { partitionKey: of }).fetchAll();
    return resources.toSorted();
  };

  await send(
    { store: 's0', id: 'a', cents: 1 },
    { store: 's1', id: 'a', cents: 2 },
    { store: 's9', id: 'a', cents: 4 },
  );
  await send({ store: 's0', id: 'a', cents: 1 });
  await caughtUp();
  expect([await there('north', 's0'), await there('west', 's1')]).toEqual([['a'], ['a']]);
  // No shard has the key of s9.
  const letters = new DeadLetters(services.place.state);
  expect((await letters.list('orders-in@1')).map(({ message }) => message)).toEqual([
    expect.stringContaining('Create the mapping, then redrive'),
  ]);
  await map.createMapping({ shard: shardOf('west'), key: 's9' });
  const redriven = await redrive({ ...parts, signal, readLagMs: 0, only: 'orders-in@1' });
  expect(redriven.map(({ outcome }) => outcome)).toEqual(['applied']);
  expect([await there('west', 's9'), await letters.list('orders-in@1')]).toEqual([['a'], []]);

  // The move waits for events under way, and later ones go to the target.
  const app = await host();
  await app.drained(signal);
  let sent = 0;
  const ended = new AbortController();
  const moved = moveMapping(
    {
      map,
      maps: stage.at('maps', 'shardmaps'),
      connect: ({ database }) => stage.at(database, 'Orders').database,
      endpointOf: () => stage.emulator.endpoint,
      stateContainer: 'millrace',
      leases: services.global.leases,
      signal,
      readLagMs: 0,
      graceMs: 100,
      holdMs: 30_000,
    },
    await map.mapping('s0'),
    shardOf('west'),
  ).finally(() => ended.abort());
  while (!ended.signal.aborted) {
    await send({ store: 's0', id: `m${sent++}`, cents: 1 });
    await caughtUp();
  }
  expect(await moved).toMatchObject({ parked: [] });
  expect(sent).toBeGreaterThan(3);
  await send({ store: 's0', id: 'after', cents: 3 });
  await caughtUp();
  const all = ['a', 'after', ...Array.from({ length: sent }, (_, n) => `m${n}`)].toSorted();
  expect([await there('north', 's0'), await there('west', 's0')]).toEqual([[], all]);
  await app.drained(signal);
  await assertExact(stage, application);

  // While the key is offline its events wait, and those of other keys behind them.
  const offline = await map.markOffline(await map.mapping('s0'));
  await send({ store: 's0', id: 'late', cents: 5 });
  await map.markOnline(offline);
  await caughtUp();
  expect(await there('west', 's0')).toContain('late');
  expect(await letters.list('orders-in@1')).toEqual([]);
}, 400_000);
