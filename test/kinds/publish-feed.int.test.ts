import { join } from 'node:path';
import { ChangeFeedPolicy, ChangeFeedRetentionTimeSpan, type OperationInput } from '@azure/cosmos';
import { expect, it } from 'vitest';
import { MillraceError } from '../../src/base/errors.ts';
import type { PublishSpec } from '../../src/pipeline/specs.ts';
import type { PublishedEvent } from '../../src/emulator/eventhubs/index.ts';
import { eventHubs } from '../../src/runtime/event-hubs.ts';
import { compose } from '../../src/runtime/hosts/processor-host.ts';
import { EventHubSink } from '../../src/access/event-hub.ts';
import { openHubs } from '../emulator/hubs.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';
import { openStage } from '../support/stage.ts';

const FOLDER = join(import.meta.dirname, '../../examples/telemetry');
/** Writes, times MILLRACE_HISTORIES. One in twenty replaces a document, maybe before it was read. */
const CHANGES = 22_000 * Number(process.env['MILLRACE_HISTORIES'] ?? 1);
const BATCH = 100;
const TENANTS = 7;
const KEYS = CHANGES / 275;

const SPEC: PublishSpec = {
  kind: 'publish',
  name: 'out',
  version: 1,
  from: { container: 'Readings', type: 'reading' },
  to: 'telemetry',
  format: 'cloudevents',
  order: 'partitionKey',
  images: false,
};

interface Said {
  readonly id: string;
  readonly subject: string;
  readonly partitionkey: string;
  readonly sequence: string;
  /** `n` counts a key's writes, `t` its transactions. */
  readonly data: { readonly n: number; readonly t: number };
}

const seed = suiteSeed();

// Documents under three-level keys, through the real feed with its leases, splits included, to the broker.
it(`a publish publishes ${CHANGES} changes while links break at random: all there, each key in order (seed ${seed})`, async () => {
  const random = new Random(seed);
  await using hubs = await openHubs({ seed, hubs: { telemetry: { partitions: 4 } } });
  await using stage = await openStage({ seed }, FOLDER);
  // As a host's: a producer that an aborted connection left hanging is replaced.
  const clients = eventHubs({
    eventHubs: { account: { kind: 'key', connectionString: hubs.hubs.connectionString }, checkpoints: 'none' },
  });
  let cut = 0;
  let underway = 0;
  let most = 0;
  // As a host that dies between a send and its checkpoint: the page comes again.
  class CutOff extends EventHubSink {
    override async publish(...call: Parameters<EventHubSink['publish']>) {
      most = Math.max(most, (underway += 1));
      const oversized = await super.publish(...call).finally(() => (underway -= 1));
      if (cut >= 20 || !random.chance(0.2 / TENANTS)) return oversized;
      cut += 1;
      throw new MillraceError('cut-off', 'The host was cut off', { retryable: true });
    }
  }
  const app = await compose({
    ...stage,
    services: { ...stage.services, hubs: { ...stage.services.hubs, check: async () => undefined } },
    host: 'publisher',
    readLagMs: 0,
    timings: { pollMs: 20, acquireMs: 100 },
    loaded: {
      ...stage.loaded,
      pipeline: { ...stage.loaded.pipeline, projections: [], archives: [], publishes: [SPEC], ingests: [] },
    },
    instead: { hub: () => new CutOff(SPEC.to, (instead) => clients.producer(SPEC.to, instead), { attemptMs: 400 }) },
  });
  await app.start();
  hubs.hubs.faults({ failBefore: 0.02, failAfterEffect: 0.02 });

  const readings = stage.container('Readings');
  /** By subject, what the document says at the end. */
  const wanted = new Map<string, number>();
  const keys = Array.from({ length: KEYS }, (_, k) => ({
    key: [`t${k % TENANTS}`, `s${k % 31}`, `d${k}`],
    n: 0,
    t: 0,
  }));
  const splits = [0.3, 0.6].map((share) => share * CHANGES);
  for (let done = 0, size = 0; done < CHANGES; done += size) {
    const of = random.pick(keys);
    const { key } = of;
    const [tenantId = '', siteId = '', deviceId = ''] = key;
    size = Math.min(1 + random.int(BATCH), CHANGES - done);
    of.t += 1;
    const operations = Array.from({ length: size }, (): OperationInput => {
      of.n += 1;
      // One in twenty changes a document of an earlier transaction.
      const id = `r${of.n > BATCH && random.chance(0.05) ? 1 + random.int(of.n - BATCH) : of.n}`;
      wanted.set(JSON.stringify([...key, id]), of.n);
      const resourceBody = { id, type: 'reading', tenantId, siteId, deviceId, n: of.n, t: of.t };
      return { operationType: 'Upsert', resourceBody };
    });
    const { result = [] } = await readings.items.batch(operations, key);
    expect(result.every(({ statusCode }) => statusCode < 300)).toBe(true);
    if (random.chance(0.02)) hubs.hubs.dropLinks();
    if (random.chance(0.02)) hubs.hubs.dropConnections();
    // Away for a while, in which all that is written waits.
    if (random.chance(0.005)) await hubs.hubs.suspend();
    else if (random.chance(0.1)) await hubs.hubs.resume();
    if (done >= (splits[0] ?? Infinity)) {
      splits.shift();
      stage.emulator.split('shop/Readings');
    }
  }
  await hubs.hubs.resume();
  await app.drained(AbortSignal.timeout(480_000));
  // However much waits, it waits in the feed: a part of each tenant, or of several small ones, is all that a range sends.
  expect(most).toBeLessThanOrEqual(TENANTS * (app.sources()[0]?.known ?? 0));
  await app.stop();
  await clients.close();

  const events = hubs.hubs.events('telemetry');
  const first = new Map<string, string>();
  const last = new Map<string, number>();
  const order = new Map<string, number>();
  const partitions = new Map<string, string>();
  /** Subject and write: two ids of one version would make one more event of it than there is. */
  const versions = new Set<string>();
  const wrong: unknown[] = [];
  for (const event of events) {
    const { body, said } = read(event);
    const before = first.get(said.id);
    if (before !== undefined) {
      if (before !== body) wrong.push(['two under one id', before, body]);
      continue;
    }
    first.set(said.id, body);
    versions.add(`${said.subject} ${said.data.n}`);
    const { subject, partitionkey, data } = said;
    const lane = partitions.get(partitionkey) ?? event.partition;
    partitions.set(partitionkey, lane);
    if (lane !== event.partition || event.partitionKey !== partitionkey) wrong.push(['elsewhere', event]);
    // What one transaction wrote has one place in the feed, in no order of its own.
    if ((order.get(partitionkey) ?? 0) > data.t) wrong.push(['out of order', partitionkey, data.t]);
    order.set(partitionkey, data.t);
    last.set(subject, data.n);
  }
  expect(wrong).toEqual([]);
  expect(last).toEqual(wanted);
  expect(wanted.size).toBeGreaterThan(0.9 * CHANGES);
  expect(versions.size).toBe(first.size);
  // The trouble was had: something came twice.
  expect(events.length).toBeGreaterThan(first.size);
  expect(app.stats()).toMatchObject([{ id: 'out@1', parked: 0 }]);
}, 600_000);

it('a publish publishes every version with what was before, where the feed has all of them', async () => {
  await using hubs = await openHubs();
  await using stage = await openStage({ previousImages: true }, FOLDER);
  const readings = stage.container('Readings');
  const { resource } = await readings.read();
  await readings.delete();
  const changeFeedPolicy = new ChangeFeedPolicy(ChangeFeedRetentionTimeSpan.fromMinutes(10));
  await stage.services.place.database.containers.create({ ...resource, changeFeedPolicy });
  const producer = hubs.producer();
  const spec: PublishSpec = { ...SPEC, images: true, map: ({ celsius }) => celsius };
  const sources = [{ ...SPEC.from, feed: 'all-versions' as const }];
  const app = await compose({
    ...stage,
    services: {
      ...stage.services,
      hubs: { ...stage.services.hubs, check: async () => undefined, producer: async () => producer },
    },
    host: 'publisher',
    readLagMs: 0,
    timings: { pollMs: 5, acquireMs: 20 },
    loaded: {
      ...stage.loaded,
      pipeline: { ...stage.loaded.pipeline, projections: [], archives: [], publishes: [spec], ingests: [], sources },
    },
  });
  await app.start();
  try {
    // The all-versions feed begins now.
    await app.drained(AbortSignal.timeout(60_000));
    const reading = { type: 'reading', tenantId: 't', siteId: 's', deviceId: 'd', id: 'r' };
    await readings.items.create({ ...reading, celsius: 1 });
    await readings.items.upsert({ ...reading, celsius: 2 });
    await readings.items.upsert({ ...reading, celsius: 3 });
    await readings.item('r', ['t', 's', 'd']).delete();
    await app.drained(AbortSignal.timeout(60_000));
  } finally {
    await app.stop();
  }
  expect(hubs.hubs.events('telemetry').map(({ body }) => body)).toMatchObject([
    { op: 'create', subject: '["t","s","d","r"]', data: { after: 1 } },
    { op: 'replace', data: { before: 1, after: 2 } },
    { op: 'replace', data: { before: 2, after: 3 } },
    { op: 'delete', subject: '["t","s","d","r"]', data: { before: 3, after: null } },
  ]);
});

const read = ({ body }: PublishedEvent): { body: string; said: Said } => ({
  body: JSON.stringify(body),
  said: body as Said,
});
