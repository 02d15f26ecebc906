// Effects under random histories in which somebody else writes into the same documents, late, twice and out of order:
// ECHO-R1 to ECHO-R4, judged by what the effects were, and by nothing of the records.
import { type Entry, custom, publish, react, send } from 'millrace';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { EventHubProducerClient } from '@azure/event-hubs';
import type { Doc, Effect } from '../../../src/pipeline/specs.ts';
import { EventHubSink } from '../../../src/access/event-hub.ts';
import type { Change } from '../../../src/feed/reading/change.ts';
import { EffectRecords } from '../../../src/kinds/effects/records.ts';
import { publishRunner } from '../../../src/kinds/publish/publish-runner.ts';
import { reactRunner } from '../../../src/kinds/react/react-runner.ts';
import { Poison, type Runner } from '../../../src/kinds/runner.ts';
import { sendRunner } from '../../../src/kinds/send/send-runner.ts';
import { openHubs } from '../../emulator/hubs.ts';
import type { Random } from '../../support/random.ts';
import { CONCERNS, type Made, type Order, type Outside, m, useExact } from '../effects.ts';
import { SEED, type World } from '../world.ts';

const holdExact = useExact();

/** `n` counts the application's changes of a document, for the judge; like the enricher's `v` it is no change itself. */
interface Enriched extends Order {
  readonly n: number;
  readonly v?: number;
}
const IGNORE = ['/n', '/v'];
/** Few, so that content comes back: one that is left out, one that is refused at first. */
const CONTENTS = [9, 10, 11, 14];

/** The application's writes of a tenant, and those of an enricher beside it. */
function writes(tenant: string, world: World) {
  const last = new Map<string, Enriched>();
  const late: { readonly id: string; readonly v: number }[] = [];
  const store = async (doc: Enriched): Promise<void> => {
    last.set(doc.id, doc);
    await world.write('Orders', tenant, [{ ...doc }]);
  };
  return async (random: Random): Promise<void> => {
    const [due] = late.length > 0 && random.chance(0.5) ? late.splice(random.int(late.length), 1) : [];
    const enriched = due && last.get(due.id);
    if (due && enriched) return store({ ...enriched, v: due.v });
    const id = `d${random.int(3)}`;
    const before = last.get(id);
    const cents = random.pick(CONTENTS.filter((one) => one !== before?.cents));
    const { n, v } = { n: (before?.n ?? 0) + 1, v: before?.v };
    await store({ id, tenant, type: 'order', cents, n, ...(v !== undefined && { v }) });
    for (let times = random.int(3); times > 0; times--) late.push({ id, v: random.int(1_000) });
  };
}

interface Fired {
  readonly key: string;
  readonly id: string;
  readonly n: number;
  readonly cents: number;
}

/** A runner that is watched: in the end, each change that it was done with has had its effect, under one key. */
function judged(fired: () => readonly Fired[], inOrder: boolean, make: () => Runner): Made {
  const shown: (Enriched & { readonly overtaken: boolean })[] = [];
  const begun = new Map<string, number>();
  /** They wait for a redrive, or give way to a newer change. */
  const parked = new Set<string>();
  const runner = (): Runner => {
    const inner = make();
    return {
      ...inner,
      apply: async (changes, access) => {
        const docs = changes.map(({ doc }) => doc as unknown as Enriched);
        for (const { id, n } of docs) begun.set(id, Math.max(n, begun.get(id) ?? 0));
        await inner.apply(changes, access).catch((error: unknown) => {
          if (error instanceof Poison)
            for (const { change } of error.refusals) parked.add(`${change.id} ${String(change.doc?.['n'])}`);
          throw error;
        });
        for (const doc of docs) shown.push({ ...doc, overtaken: !inOrder && (begun.get(doc.id) ?? 0) > doc.n });
      },
    };
  };
  const missing: Made['missing'] = (present) => {
    const keys = new Map<string, string>();
    const fires = new Map<string, Map<number, Fired>>();
    for (const one of fired()) {
      const { id, n, key } = one;
      expect(keys.get(`${id} ${n}`) ?? key, `the key of change ${n} of ${id}`).toBe(key);
      keys.set(`${id} ${n}`, key);
      fires.set(id, (fires.get(id) ?? new Map<number, Fired>()).set(n, one));
    }
    for (const [key, some] of Map.groupBy(fired(), (one) => one.key)) {
      const ns = some.map(({ n }) => n);
      const [least, most] = [Math.min(...ns), Math.max(...ns)];
      const between = [...(fires.get(some[0]?.id ?? '') ?? [])].filter(([n]) => n > least && n < most);
      for (const [, { cents }] of between) expect(cents, `between two effects under ${key}`).toBe(some[0]?.cents);
    }
    const isHad = ({ id, n, cents }: Pick<Enriched, 'id' | 'n' | 'cents'>): boolean => {
      const newest = Math.max(-1, ...[...(fires.get(id)?.keys() ?? [])].filter((at) => at <= n));
      return fires.get(id)?.get(newest)?.cents === cents;
    };
    for (const one of shown.filter((doc) => CONCERNS(doc) && !doc.overtaken && !parked.has(`${doc.id} ${doc.n}`)))
      expect(isHad(one), `change ${one.n} of ${one.id} (${one.cents}), which was shown, has had its effect`).toBe(true);
    return present.flatMap(({ id, doc }) => (!CONCERNS(doc) || isHad(doc as Enriched) ? [] : [id]));
  };
  return { runner, missing };
}

const recordsOf = (name: string): EffectRecords =>
  new EffectRecords({ stateContainer: 'millrace', projection: `${name}@1`, ignored: () => IGNORE });

function reacting(outside: Outside, tenant: string, inOrder: boolean): Made {
  const name = `told-${tenant}`;
  const fired: Fired[] = [];
  const run = async (doc: Order, { key }: Effect): Promise<void> => {
    if (outside.refused(doc)) throw new Error('refused');
    await outside.call(() => fired.push({ ...(doc as Enriched), key }));
  };
  const spec = react(name, { from: m.Orders.order, when: CONCERNS, attempts: 2, run });
  return judged(
    () => fired,
    inOrder,
    () => reactRunner(spec, { records: recordsOf(name), pauseMs: 0 }),
  );
}

/** The sink keeps the newest row of each id; which were written, and under which versions, is what is judged. */
function sending(outside: Outside, tenant: string, inOrder: boolean): Made {
  const name = `rows-${tenant}`;
  const fired: Fired[] = [];
  const write = async (entries: readonly Entry[]): Promise<void> => {
    for (const { version, row } of entries)
      if (row !== null) await outside.call(() => fired.push({ ...(row as Enriched), key: version }));
  };
  const spec = send(name, { from: m.Orders.order, to: { write }, where: CONCERNS, map: (doc) => ({ ...doc }) });
  return judged(
    () => fired,
    inOrder,
    () => recordsOf(name).guard(sendRunner(spec)),
  );
}

function ofOnesOwn(outside: Outside, tenant: string, inOrder: boolean): Made {
  const name = `own-${tenant}`;
  const fired: Fired[] = [];
  const apply = async (changes: readonly Change[]): Promise<void> => {
    for (const change of changes) {
      const doc = change.doc as unknown as Enriched;
      if (outside.refused(doc)) throw new Poison([{ change, error: new Error('refused') as never }]);
      await outside.call(() => fired.push({ ...doc, key: change.version.etag }));
    }
  };
  const spec = custom(name, { sources: [m.Orders.order], echoes: false, apply });
  const runner: Runner = { id: `${name}@1`, order: 'document', sources: spec.sources, apply };
  return judged(
    () => fired,
    inOrder,
    () => recordsOf(name).guard(runner),
  );
}

/** For each feed as many as histories take place at once, so that each finds its events among few. */
const HUBS = 60;
let hubs: Awaited<ReturnType<typeof openHubs>>;
const producers = new Map<string, EventHubProducerClient>();
beforeAll(async () => {
  const names = ['latest', 'all'].flatMap((feed) => Array.from({ length: HUBS }, (_, n) => `${feed}-${n}`));
  const named = names.map((name) => [name, { partitions: 2 }] as const);
  hubs = await openHubs({
    seed: SEED,
    hubs: Object.fromEntries(named),
    faults: { failBefore: 0.02, failAfterEffect: 0.02 },
  });
});
afterAll(() => hubs[Symbol.asyncDispose]());

function publishing(outside: Outside, tenant: string, inOrder: boolean): Made {
  const hub = `${inOrder ? 'all' : 'latest'}-${Number(tenant.slice(1)) % HUBS}`;
  const producer = async (instead?: EventHubProducerClient): Promise<EventHubProducerClient> => {
    const known = producers.get(hub);
    if (known && known !== instead) return known;
    const opened = hubs.producer(hub);
    producers.set(hub, opened);
    return opened;
  };
  const name = `out-${tenant}`;
  const map = (doc: Order): Doc => {
    if (outside.refused(doc)) throw new Error('refused');
    return { ...doc };
  };
  const { findings: _, ...spec } = publish(name, {
    from: m.Orders.order,
    to: hub,
    order: 'document',
    where: CONCERNS,
    map,
  });
  const fired = (): Fired[] =>
    hubs.hubs.events(hub).flatMap(({ body }) => {
      const { id: key, data } = body as { readonly id: string; readonly data: Enriched };
      return data.tenant === tenant ? [{ ...data, key }] : [];
    });
  return judged(fired, inOrder, () => {
    const sink = new EventHubSink(hub, producer, { attemptMs: 300 });
    return publishRunner(spec, { sink, records: recordsOf(name) });
  });
}

it.each([
  ['a reaction', reacting],
  ['a sink', sending],
  ['a runner of one’s own', ofOnesOwn],
  ['a publish', publishing],
] as const)('beside an enricher %s has one effect for each change that was shown (seed ' + SEED + ')', (_, make) =>
  holdExact((outside, tenant) => make(outside, tenant, false), { writes }),
);

it.each([
  ['a reaction', reacting],
  ['a sink', sending],
  ['a runner of one’s own', ofOnesOwn],
  ['a publish', publishing],
] as const)(
  'beside an enricher, read by all versions, %s has one effect for each change (seed ' + SEED + ')',
  (_, make) => holdExact((outside, tenant) => make(outside, tenant, true), { writes, feed: 'all-versions' }),
);
