// What works outside of the account, under random histories by the engine with its dead letters: reactions, sinks and
// runners of one's own. Each is judged by what it left there against what the feed shows in the end.
import { custom, model, react, send } from 'millrace';
import { expect, it } from 'vitest';
import { setImmediate as turn } from 'node:timers/promises';
import { MillraceError } from '../../src/base/errors.ts';
import { canonical } from '../../src/base/json.ts';
import { type Entry, SinkRefusal } from '../../src/index.ts';
import { type Doc, type Effect, projectionId } from '../../src/definition/kinds.ts';
import { recomputeRows } from '../../src/definition/recompute-rows.ts';
import { Meter } from '../../src/cosmos/meter.ts';
import { DeadLetters } from '../../src/engine/dead-letters.ts';
import { Engine } from '../../src/engine/engine.ts';
import { redrive } from '../../src/engine/redrive.ts';
import type { Change } from '../../src/feed/change.ts';
import type { SourceContainer } from '../../src/feed/change-mapper.ts';
import { reactRunner } from '../../src/projections/react/runner.ts';
import { Poison, type Runner } from '../../src/projections/runner.ts';
import { sendRunner } from '../../src/projections/send/runner.ts';
import { CosmosSession } from '../../src/sinks/cosmos-session.ts';
import { Random } from '../support/random.ts';
import { runHistoryBy } from './all-versions.ts';
import { UNFENCED, changeOf } from './history.ts';
import { READ_LAG_MS, SEED, type World, historiesOr, useHistories } from './world.ts';

interface Order {
  id: string;
  tenant: string;
  type: 'order';
  cents: number;
  deletedAt?: string;
}
const m = model<{ Orders: { order: Order } }>('./m.md');
const deleted = (doc: Doc): boolean => doc['deletedAt'] !== undefined;
const RULES = [{ container: 'Orders', type: 'order', deleted }];
const ORDERS: SourceContainer = { name: 'Orders', keyPaths: [['tenant']], types: new Map([['order', { deleted }]]) };

const VERSIONS: SourceContainer = { ...ORDERS, feed: 'all-versions' };

const each = useHistories({ Orders: '/tenant', Tickets: '/tenant' });

/** The other side: takes its time, fails now and then before or after the effect, and refuses some until it is mended. */
class Outside {
  refuses = true;
  readonly #random: Random;
  constructor(random: Random) {
    this.#random = random;
  }

  async call(effect: () => void): Promise<void> {
    for (let turns = this.#random.int(4); turns > 0; turns--) await turn();
    if (this.#random.chance(0.05)) throw new MillraceError('away', 'It was away', { retryable: true });
    effect();
    if (this.#random.chance(0.05)) throw new MillraceError('lost', 'The answer was lost', { retryable: true });
    for (let turns = this.#random.int(4); turns > 0; turns--) await turn();
  }

  refused = ({ cents }: { readonly cents: number }): boolean => this.refuses && cents % 7 === 0;
}

/** A document as the feed shows it in the end. */
interface Shown {
  readonly id: string;
  readonly lsn: number;
  readonly doc: Order;
}

/** What a projection has done by now for the documents' present versions, as `id` of each that is not as it should be. */
type Missing = (shown: readonly Shown[], world: World) => Promise<string[]> | string[];

interface Made {
  readonly runner: () => Runner;
  readonly missing: Missing;
  /** Of all versions there ever were, as the feed that has them shows them, those that something was left undone for. */
  readonly skipped?: (versions: readonly Change[]) => Change[];
}

/**
 * Runs histories of one runner. In the end each document is as it should be, or its present version is parked; and once
 * the other side has been mended and the letters redriven, every one is, with no letter left.
 */
const holdExact = (
  make: (outside: Outside, tenant: string) => Made,
  { serial = false, feed }: { readonly serial?: boolean; readonly feed?: SourceContainer['feed'] } = {},
): Promise<void> =>
  each(historiesOr(100), async (world, seed) => {
    const random = new Random(seed);
    const outside = new Outside(random);
    const tenant = `t${seed}`;
    const { runner, missing, skipped } = make(outside, tenant);
    const from = (await world.feed(VERSIONS, tenant, '*', 1)).next;
    const hosts = serial ? world.hosts.slice(0, 1) : world.hosts;
    const engines = hosts.map(({ database }) => {
      const deadLetters = new DeadLetters(database.container('millrace'));
      return { deadLetters, database, runner: runner() };
    });
    const write = (of: Random, to: World): Promise<void> => writeOrder(of, tenant, to);
    const options = {
      random,
      tenant,
      hosts,
      serial,
      feed: world.feed,
      runners: engines.map((engine) => byEngine(engine)),
      readLagMs: READ_LAG_MS,
      sources: [ORDERS],
    };
    await runHistoryBy(feed, options, write, world);
    return async () => {
      const { documents } = await world.feed(ORDERS, tenant, '', 1_000);
      if (skipped) {
        const all = (await world.feed(VERSIONS, tenant, from, 10_000)).documents;
        expect(skipped(all.map((raw) => changeOf(VERSIONS, raw)).filter((change) => change !== undefined))).toEqual([]);
      }
      const shown = (documents as (Order & { readonly _lsn: number })[]).map((doc) => ({
        id: doc.id,
        lsn: doc._lsn,
        doc,
      }));
      const deadLetters = new DeadLetters(world.database.container('millrace'));
      const own = runner();
      const letters = (await deadLetters.list(own.id)).filter(({ key }) => key[0] === tenant);
      const parked = new Set(letters.map(({ id }) => id));
      expect((await missing(shown, world)).filter((id) => !parked.has(id))).toEqual([]);
      outside.refuses = false;
      const engine = new Engine({ database: world.database, runners: [own], deadLetters });
      const signal = UNFENCED.signal;
      for (let left = letters, tries = 0; left.length > 0; tries++) {
        if (tries === 20) throw new Error(`${left.length} letters are left: ${JSON.stringify(left)}`);
        await redrive(left, {
          engine,
          deadLetters,
          sources: new Map([['Orders', ORDERS]]),
          session: new CosmosSession(world.database, UNFENCED, new Meter()),
          cold: async () => undefined,
          readLagMs: 0,
          signal,
          fence: () => UNFENCED,
        }).catch((error: unknown) => {
          if (!(error instanceof MillraceError && error.retryable)) throw error;
        });
        left = (await deadLetters.list(own.id)).filter(({ key }) => key[0] === tenant);
      }
      expect(await missing(shown, world)).toEqual([]);
    };
  });

/** Each delivery is a tenure of its own, as a batch is under Functions: what another host parked is looked up. */
function byEngine({
  database,
  deadLetters,
  runner,
}: {
  readonly database: World['database'];
  readonly deadLetters: DeadLetters;
  readonly runner: Runner;
}): Runner {
  return {
    ...runner,
    apply: async (changes, session) => {
      const injected: Runner = { ...runner, apply: (some) => runner.apply(some, session) };
      const engine = new Engine({ database, runners: [injected], deadLetters });
      await engine.consume({ changes, charge: 0, readAt: performance.now() }, session.fence);
    },
  };
}

async function writeOrder(random: Random, tenant: string, world: World): Promise<void> {
  const one = (): Doc => ({
    id: `d${random.int(4)}`,
    tenant,
    type: 'order',
    cents: random.int(50),
    ...(random.chance(0.15) ? { deletedAt: 'now' } : {}),
  });
  const [order, twin] = [one(), one()];
  await world.write('Orders', tenant, random.chance(0.2) && twin['id'] !== order['id'] ? [order, twin] : [order]);
}

const CONCERNS = (order: { readonly cents: number }): boolean => order.cents >= 10;

/** A receiver of reactions: what it has by its idempotency keys, and the order in which keys came first. */
function receiver(outside: Outside, tenant: string, order: 'document' | 'partitionKey') {
  const received = new Map<string, string>();
  /** Runs that failed to the end: parked, and forgotten once a newer version of the document was dealt with. */
  const failed = new Set<string>();
  const name = `told-${tenant}`;
  const run = async (doc: Order, { key, attempt }: Effect): Promise<void> => {
    if (!CONCERNS(doc) || deleted({ ...doc })) throw new Error(`${doc.id} is none of its business`);
    expect(attempt).toBeLessThanOrEqual(3);
    if (attempt === 3) failed.add(key);
    if (outside.refused(doc)) throw new Error('refused');
    await outside.call(() => {
      const content = canonical(doc);
      if ((received.get(key) ?? content) !== content) throw new Error(`Two contents came under ${key}`);
      received.set(key, content);
    });
  };
  const spec = react(name, { from: m.Orders.order, when: CONCERNS, order, attempts: 3, run });
  const keyOf = (id: string, lsn: number): string =>
    ['Orders', JSON.stringify([tenant]), id, '1', String(lsn), `${name}@1`].map(encodeURIComponent).join('/');
  return {
    received,
    runner: () => reactRunner(spec, { stateContainer: 'millrace', embeds: [], pauseMs: 0 }),
    missing: (shown: readonly Shown[]) =>
      shown
        .filter(({ doc }) => CONCERNS(doc) && !deleted({ ...doc }))
        .filter(({ id, lsn }) => !received.has(keyOf(id, lsn)))
        .map(({ id }) => id),
    skipped: (versions: readonly Change[]) =>
      versions.filter(({ id, op, doc, version: { lsn } }) => {
        const concerned = op === 'upsert' && CONCERNS(doc as unknown as Order);
        return concerned && !received.has(keyOf(id, lsn)) && !failed.has(keyOf(id, lsn));
      }),
  };
}

it(`after any history a reaction has run for every document's present version (seed ${SEED})`, () =>
  holdExact((outside, tenant) => {
    const { runner, missing } = receiver(outside, tenant, 'document');
    return { runner, missing };
  }));

it(`read by all versions, hard deletes and expiry among them, every version has had its reaction (seed ${SEED})`, () =>
  holdExact((outside, tenant) => receiver(outside, tenant, 'document'), { feed: 'all-versions' }));

it(`after any history a reaction by key has run in the order of each key (seed ${SEED})`, () =>
  holdExact(
    (outside, tenant) => {
      const { received, runner, missing } = receiver(outside, tenant, 'partitionKey');
      const inOrder: Missing = (shown) => {
        const lsns = [...received.keys()].map((key) => Number(key.split('/')[4]));
        expect(lsns, 'of first runs').toEqual(lsns.toSorted((a, b) => a - b));
        return missing(shown);
      };
      return { runner, missing: inOrder };
    },
    { serial: true },
  ));

/** Rows in a sink of one's own, against the oracle. */
function sent(outside: Outside, tenant: string): Made {
  const rows = new Map<string, Entry>();
  const write = async (entries: readonly Entry[]): Promise<void> => {
    const bad = entries.filter(({ row }) => row !== null && outside.refused(row as Order));
    // One by one, so that what fails in the middle leaves half of them behind.
    for (const entry of entries) {
      if (bad.includes(entry)) continue;
      await outside.call(() => {
        const before = rows.get(entry.id);
        if (!before || before.version < entry.version) rows.set(entry.id, entry);
      });
    }
    if (bad.length > 0) throw new SinkRefusal(new Map(bad.map(({ id }) => [id, 'refused'])));
  };
  const spec = send(`rows-${tenant}`, {
    from: m.Orders.order,
    to: { write },
    where: CONCERNS,
    map: ({ id, cents }) => ({ id, cents }),
  });
  return {
    runner: () => sendRunner(spec),
    missing: (shown) => {
      const documents = shown.map(({ doc }): Doc => ({ ...doc }));
      const wanted = recomputeRows(spec, documents, RULES, {
        keyPaths: ['/tenant'],
        refused: (_doc, cause) => {
          throw cause;
        },
      });
      const found = new Map([...rows].flatMap(([id, { row }]) => (row === null ? [] : [[id, row] as const])));
      return differing(wanted, found).map((id) => id.split('|')[1] ?? id);
    },
  };
}

it(`after any history a sink of one's own has the rows that the oracle says (seed ${SEED})`, () => holdExact(sent));

it(`read by all versions, hard deletes and expiry among them, a sink has the rows that the oracle says (seed ${SEED})`, () =>
  holdExact(sent, { feed: 'all-versions' }));

it(`after any history a runner of one's own has left what the oracle says (seed ${SEED})`, () =>
  holdExact((outside, tenant) => {
    const spec = custom(`tickets-${tenant}`, {
      sources: [m.Orders.order],
      apply: async (changes, session) => {
        for (const change of changes) {
          const { id, key, version, op, doc } = change;
          const [found] = await session.read('Tickets', key, [id]);
          if (found && Number(found['lsn']) >= version.lsn) continue;
          const order = doc as unknown as Order | undefined;
          if (order && outside.refused(order))
            throw new Poison([{ change, error: new MillraceError('ticket-refused', 'refused') }]);
          const body = {
            id,
            type: 'ticket',
            tenant: key[0],
            lsn: version.lsn,
            cents: op === 'delete' ? null : order?.cents,
          };
          const result = await session.commit('Tickets', key, [
            found ? { op: 'replace', id, body, ifMatch: found._etag } : { op: 'create', id, body },
          ]);
          if (result.kind === 'conflict') throw new MillraceError('changed', `${id} changed`, { retryable: true });
        }
      },
    });
    return {
      runner: () => ({
        id: projectionId(spec),
        order: 'document',
        sources: spec.sources,
        apply: (changes, session) => spec.apply(changes, session),
      }),
      missing: async (shown, world) => {
        const tickets = await world.documents('Tickets', 'true', tenant);
        return differing(
          new Map(shown.map(({ id, lsn, doc }) => [id, { lsn, cents: deleted({ ...doc }) ? null : doc.cents }])),
          new Map(tickets.map((ticket) => [String(ticket['id']), { lsn: ticket['lsn'], cents: ticket['cents'] }])),
        );
      },
    };
  }));

/** The ids at which two sides differ. */
function differing(a: ReadonlyMap<string, unknown>, b: ReadonlyMap<string, unknown>): string[] {
  const shown = (value: unknown): string => (value === undefined ? 'nothing' : canonical(value));
  return [...new Set([...a.keys(), ...b.keys()])].filter((id) => shown(a.get(id)) !== shown(b.get(id)));
}
