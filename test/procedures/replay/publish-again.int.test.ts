// A publish gets its history again, to its own hub or to another one.
import { expect, it } from 'vitest';
import type { EventDataBatch, EventHubProducerClient, SendBatchOptions } from '@azure/event-hubs';
import type { Doc, PublishSpec } from '../../../src/pipeline/specs.ts';
import type { PublishedEvent } from '../../../src/emulator/eventhubs/index.ts';
import { replay } from '../../../src/procedures/replay/replay.ts';
import { compose } from '../../../src/runtime/hosts/processor-host.ts';
import { openHubs } from '../../emulator/hubs.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import { type Stage, openStage } from '../../support/stage.ts';
import { declaring } from '../../verbs/projections/shelves.ts';
import { VERSIONS, fast, writeAny } from '../../verbs/projections/versions.ts';

const SEED = suiteSeed();
const { signal } = new AbortController();
const out: PublishSpec = {
  kind: 'publish',
  name: 'out',
  version: 1,
  from: { container: 'Orders', type: 'order' },
  to: 'telemetry',
  format: 'cloudevents',
  order: 'partitionKey',
  images: false,
  start: 'beginning',
};
/** As `--to backfill` makes it. */
const aside: PublishSpec = { ...out, name: 'out-side', to: 'backfill', idsOf: { name: 'out', version: 1 } };

type Body = { readonly id: string; readonly subject: string; readonly partitionkey: string; readonly sequence: string };
const bodies = (events: readonly PublishedEvent[]): Body[] => events.map(({ body }) => body as Body);

const openBoth = () => openHubs({ hubs: { telemetry: { partitions: 2 }, backfill: { partitions: 3 } } });

const partsOf = (
  stage: Stage,
  producer: (hub: string) => EventHubProducerClient,
  more: Parameters<typeof declaring>[1] = {},
) => ({
  settings: stage.settings,
  services: {
    ...stage.services,
    hubs: { ...stage.services.hubs, producer: async (hub: string) => producer(hub), check: async () => {} },
  },
  loaded: declaring(stage, { publishes: [out], ...more }),
  ...fast,
  timings: { ...fast.timings, stopMs: 300 },
});

it(`a publish again to another hub has the ids that were published, each key in order, after an interruption too (seed ${SEED})`, async () => {
  await using stage = await openStage({ seed: SEED }, VERSIONS);
  await using hubs = await openBoth();
  const random = new Random(SEED);
  const opened = new Map<string, EventHubProducerClient>();
  const producer = (hub: string) => opened.get(hub) ?? opened.set(hub, hubs.producer(hub)).get(hub)!;
  for (let n = 0; n < 150; n++) await writeAny(stage, random);
  const app = await compose({ ...partsOf(stage, producer), host: 'live' });
  await app.start();
  await app.drained(signal);
  await app.stop();
  const live = bodies(hubs.hubs.events('telemetry'));
  const options = { ...partsOf(stage, producer), spec: aside, from: 'beginning', cold: true };
  const dying = new AbortController();
  /** Its events arrive, and it dies before it knows that. */
  const cut = (hub: string): EventHubProducerClient => {
    const real = producer(hub);
    const sendBatch = async (...given: [EventDataBatch, SendBatchOptions?]): Promise<void> => {
      await real.sendBatch(...given);
      dying.abort(new Error('It died'));
      throw new Error('It died');
    };
    return Object.assign(Object.create(real) as EventHubProducerClient, { sendBatch });
  };
  await expect(replay({ ...options, ...partsOf(stage, cut), signal: dying.signal })).rejects.toThrow(/abort|died/);
  const begun = hubs.hubs.events('backfill').length;
  expect(begun).toBeGreaterThan(0);
  const { changes, parked, container } = await replay({ ...options, signal });
  expect({ parked, container }).toEqual({ parked: 0, container: 'event hub backfill' });
  const again = bodies(hubs.hubs.events('backfill'));
  const { resources } = await stage.container('Orders').items.query<Doc>('SELECT c.id, c.storeId FROM c').fetchAll();
  expect(changes).toBeGreaterThan(0);
  expect(new Set(again.map(({ subject }) => subject))).toEqual(
    new Set(resources.map(({ id, storeId }) => JSON.stringify([storeId, id]))),
  );
  // The feed showed the newest version to the live publish as well, so its id is known.
  const known = new Set(live.map(({ id }) => id));
  expect(again.filter(({ id }) => !known.has(id))).toEqual([]);
  for (const [, events] of Map.groupBy(hubs.hubs.events('backfill'), (event) => (event.body as Body).partitionkey)) {
    expect(new Set(events.map(({ partition }) => partition)).size).toBe(1);
    const first = [...new Set(bodies(events).map(({ sequence }) => sequence))];
    expect(first).toEqual(first.toSorted());
  }
  expect(bodies(hubs.hubs.events('telemetry'))).toEqual(live);
});

it('a publish again has the id that its content was published under, though a projection has written into the document since', async () => {
  await using stage = await openStage({}, VERSIONS);
  await using hubs = await openBoth();
  const opened = new Map<string, EventHubProducerClient>();
  const producer = (hub: string) => opened.get(hub) ?? opened.set(hub, hubs.producer(hub)).get(hub)!;
  // Some embed writes into orders, so their writes may be echoes.
  const echoing = {
    publishes: [out],
    embeds: [
      {
        kind: 'embed' as const,
        name: 'names',
        version: 1,
        from: { container: 'Customers', type: 'customer' },
        into: { container: 'Orders', type: 'order' },
        on: { storeId: 'storeId', id: 'customerId' },
        onDelete: 'keep' as const,
        set: {},
      },
    ],
  };
  const parts = partsOf(stage, producer, echoing);
  const order = { id: 'o1', type: 'order', storeId: 's1', customerId: 'c1', placedAt: '2026-01-01', cents: 5 };
  const apply = async () => {
    const app = await compose({ ...parts, host: 'live' });
    await app.start();
    await app.drained(signal);
    await app.stop();
  };
  await stage.container('Orders').items.upsert(order);
  await apply();
  // Only Millrace's own mark changes.
  await stage.container('Orders').items.upsert({ ...order, _mr: { rev: 1 } });
  await apply();
  const live = bodies(hubs.hubs.events('telemetry'));
  expect(live).toHaveLength(1);
  const published = async () =>
    (await stage.services.place.state.items.query("SELECT * FROM c WHERE c.type = 'millrace.published'").fetchAll())
      .resources;
  const before = await published();
  expect(before).toHaveLength(1);
  await replay({ ...parts, spec: aside, from: 'beginning', cold: true, signal });
  await replay({ ...parts, spec: out, from: 'beginning', cold: true, signal });
  const [aside1] = bodies(hubs.hubs.events('backfill'));
  expect(aside1).toMatchObject({ id: live[0]?.id, sequence: live[0]?.sequence });
  const [, again] = bodies(hubs.hubs.events('telemetry'));
  expect(again).toMatchObject({ id: live[0]?.id, sequence: live[0]?.sequence });
  expect(await published()).toEqual(before);
});
