// Publishing under random histories, to hubs whose links break: judged by what the hubs hold against what the feeds show.
// PUB-P1 to PUB-P3.
import { publish } from 'millrace';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { EventHubProducerClient } from '@azure/event-hubs';
import { canonical } from '../../src/base/json.ts';
import type { Change } from '../../src/feed/reading/change.ts';
import { publishRunner } from '../../src/kinds/publish/publish-runner.ts';
import { EventHubSink } from '../../src/access/event-hub.ts';
import { openHubs } from '../emulator/hubs.ts';
import { CONCERNS, type Made, type Order, type Outside, type Shown, useExact, m } from './effects.ts';
import { SEED } from './world.ts';

const holdExact = useExact();

const ORDERS = ['partitionKey', 'document'] as const;
/** For each order as many as histories take place at once, so that each finds its events among few. */
const SHARES = 60;
const HUBS = ORDERS.flatMap((order) => Array.from({ length: SHARES }, (_, n) => `${order}-${n}`));

let hubs: Awaited<ReturnType<typeof openHubs>>;
const producers = new Map<string, EventHubProducerClient>();
beforeAll(async () => {
  hubs = await openHubs({
    seed: SEED,
    hubs: Object.fromEntries(HUBS.map((name) => [name, { partitions: 2 }])),
    faults: { failBefore: 0.02, failAfterEffect: 0.02 },
  });
});
afterAll(() => hubs[Symbol.asyncDispose]());

const producerOf = async (hub: string, instead?: EventHubProducerClient): Promise<EventHubProducerClient> => {
  const known = producers.get(hub);
  if (known && known !== instead) return known;
  const opened = hubs.producer(hub);
  producers.set(hub, opened);
  return opened;
};

interface Said {
  readonly id: string;
  readonly subject: string;
  readonly sequence: string;
  readonly op: string;
  readonly data: { readonly cents: number } | null;
}

/** What tells a version of a document: which one, where in the feed, and whether it is its end. */
const versionOf = (id: string, lsn: number, gone: boolean): string => canonical([id, lsn, gone]);

/** A hub that one history publishes to, and what it must hold. */
function published(outside: Outside, tenant: string, order: (typeof ORDERS)[number]) {
  const hub = `${order}-${Number(tenant.slice(1)) % SHARES}`;
  const { findings: _, ...spec } = publish(`out-${tenant}`, {
    from: m.Orders.order,
    to: hub,
    order,
    where: CONCERNS,
    map: (doc) => {
      if (outside.refused(doc)) throw new Error('refused');
      return { cents: doc.cents };
    },
  });
  const runner = () => {
    const sink = new EventHubSink(hub, (instead) => producerOf(hub, instead), { attemptMs: 300 });
    return publishRunner(spec, { sink });
  };
  /** The first event of each version, in their order. Two ids of one version, or two contents of one id, are faults. */
  const firsts = (): { version: string; lsn: number; said: Said }[] => {
    const bodies = new Map<string, string>();
    const versions = new Map<string, { version: string; lsn: number; said: Said }>();
    for (const { body, partition, partitionKey } of hubs.hubs.events(hub)) {
      const said = body as Said;
      const [key, id = ''] = JSON.parse(said.subject) as string[];
      if (key !== tenant) continue;
      const lsn = Number(said.sequence.split('-')[1]);
      const version = versionOf(id, lsn, said.data === null);
      const whole = canonical([partition, partitionKey, said]);
      expect(bodies.get(said.id) ?? whole, 'under one id').toBe(whole);
      bodies.set(said.id, whole);
      expect(versions.get(version)?.said.id ?? said.id, 'of one version').toBe(said.id);
      if (!versions.has(version)) versions.set(version, { version, lsn, said });
    }
    return [...versions.values()];
  };
  const missing = (shown: readonly Shown[]): string[] => {
    const said = new Map(firsts().map((first) => [first.version, first.said.data]));
    return shown
      .filter(({ doc }) => CONCERNS(doc))
      .filter(({ id, lsn, doc }) => said.get(versionOf(id, lsn, false))?.cents !== doc.cents)
      .map(({ id }) => id);
  };
  return { runner, firsts, missing };
}

it(`after any history a hub has every document's present version, each key in its order (seed ${SEED})`, () =>
  holdExact(
    (outside, tenant) => {
      const { runner, firsts, missing } = published(outside, tenant, 'partitionKey');
      const inOrder: Made['missing'] = (shown) => {
        const lsns = firsts().map(({ lsn }) => lsn);
        expect(lsns, 'of first events').toEqual(lsns.toSorted((a, b) => a - b));
        return missing(shown);
      };
      return { runner, missing: inOrder };
    },
    { serial: true },
  ));

it(`read by all versions, hard deletes and expiry among them, a hub has an event of every one (seed ${SEED})`, () =>
  holdExact(
    (outside, tenant) => {
      // A version that is refused gives way to the next one of its document.
      outside.refuses = false;
      const { runner, firsts, missing } = published(outside, tenant, 'document');
      const skipped = (versions: readonly Change[]): unknown[] => {
        const wanted = versions
          .filter(({ doc }) => doc === undefined || CONCERNS(doc as unknown as Order))
          .map(({ id, version, doc }) => [versionOf(id, version.lsn, doc === undefined), doc?.['cents'] ?? null]);
        const said = new Map<unknown, unknown>(
          firsts().map(({ version, said: { data } }) => [version, data?.cents ?? null]),
        );
        expect(new Set(said.keys()), 'events of versions that were').toEqual(
          new Set(wanted.map(([version]) => version)),
        );
        return wanted.filter(([version, cents]) => said.get(version) !== cents);
      };
      return { runner, missing, skipped };
    },
    { feed: 'all-versions' },
  ));
