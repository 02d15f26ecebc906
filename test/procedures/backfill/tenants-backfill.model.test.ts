// Random histories: orders without a tenant, applications that write them while a backfill runs, dies at any request and is
// run again, beside a host that reacts to orders and derives from them. In the end every order has its tenant, and each
// write of an application is there. BACK-B1, BACK-B3, BACK-B4, BACK-B5, BACK-B6, BACK-B9.
import { expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { failureOf } from '../../../src/cosmos/failure.ts';
import { recompute, rowKey, visible } from '../../../src/pipeline/oracle/recompute.ts';
import { type Doc, projectionId } from '../../../src/pipeline/specs.ts';
import { ABANDONED_MS } from '../../../src/procedures/journal/lock.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import { dies } from '../../verbs/projections/dies.ts';
import { type Shop, addCustomers, openShop, order, run, stored } from './shop.ts';

const SEED = suiteSeed();
const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 2);
/** The last of them are notes, which no projection reads, and which are deleted now and then. */
const DOCUMENTS = 80;
const NOTES = 12;
/** A run sends about this many pieces. */
const PIECES = 150;
/** Now and then the answer to writes of the backfill is lost. */
const LOST = { operation: 'batch', container: 'Orders', status: 'reset', effect: 'after', probability: 0.1 } as const;
const KEY_PATHS: Readonly<Record<string, string>> = { Summaries: '/customerId', Days: '/storeId' };

/** What an application has written last, without system fields; null: it has deleted the document. */
interface Truth {
  readonly doc: Doc | null;
  /** When it expires, Unix seconds. */
  readonly until?: number;
}

class Application {
  readonly truth = new Map<string, Truth>();
  /** Every content that an application has ever written, by id and `cents`, which no two writes share. */
  readonly written = new Map<string, Doc>();
  readonly #shop: Shop;
  readonly #random: Random;
  #count = 0;

  constructor(shop: Shop, random: Random) {
    this.#shop = shop;
    this.#random = random;
  }

  async write(): Promise<void> {
    const n = this.#random.int(DOCUMENTS);
    const [id, customerId] = [`d${n}`, `c${n % 4}`];
    const cents = ++this.#count;
    const orders = this.#shop.container('Orders');
    const type = n < DOCUMENTS - NOTES ? 'order' : 'note';
    if (type === 'note' && this.#random.chance(0.3)) {
      await orders.item(id, customerId).delete().catch(ifGone);
      this.truth.set(id, { doc: null });
      return;
    }
    // Most read the order and write it back with everything in it, Millrace's mark included.
    const { resource: before } = this.#random.chance(0.6)
      ? await orders.item(id, customerId).read<Doc>()
      : { resource: undefined };
    const { _etag: etag, ...kept } = before ?? {};
    const given = this.#random.chance(0.2) ? { storeId: `own${n}` } : {};
    const life = this.#random.chance(0.3) ? { ttl: 5_000 + this.#random.int(5_000) } : {};
    const next = order(id, { type, customerId, ...kept, ...given, ...life, cents });
    try {
      const { resource } = etag
        ? await orders.item(id, customerId).replace(next, { accessCondition: { type: 'IfMatch', condition: etag } })
        : await orders.items.upsert(next);
      const { ttl, _ts } = resource as unknown as { ttl?: number; _ts: number };
      const doc = bare(next);
      this.truth.set(id, { doc, ...(ttl !== undefined && { until: _ts + ttl }) });
      this.written.set(`${id} ${cents}`, doc);
    } catch (error) {
      // The backfill came between. An application reads again; this one goes on.
      if (failureOf(error).kind !== 'precondition') throw error;
    }
  }

  async writeSome(count: number): Promise<void> {
    for (let n = 0; n < count; n++) await this.write();
  }
}

const ifGone = (error: unknown): void => {
  if (failureOf(error).kind !== 'not-found') throw error;
};
const bare = ({ _mr, _rid, _self, _etag, _attachments, _ts, ...doc }: Doc): Doc => doc;
const withoutLife = (doc: Doc): Doc => Object.fromEntries(Object.entries(doc).filter(([name]) => name !== 'ttl'));
/** Seconds by which the moment of expiry moved; infinite where a document has one that shouldn't, or lacks one. */
const moved = ({ _ts, ttl }: Doc, until: number | undefined): number =>
  until === undefined ? (ttl === undefined ? 0 : Infinity) : Math.abs(Number(_ts) + Number(ttl) - until);

it.each(Array.from({ length: HISTORIES }, (_, n) => SEED + n))(
  'every document has its tenant, no write is lost, and no reaction got a backfill (seed %i)',
  async (seed) => {
    const random = new Random(seed);
    await using shop = await openShop({ seed, faults: { rules: [LOST] } });
    await addCustomers(shop);
    const application = new Application(shop, random);
    await application.writeSome(2 * DOCUMENTS);
    // Slow, so that documents are written before it has read them.
    const app = await shop.host(1_000);
    let [kills, aheadMs] = [0, 0];
    const clock = { ...systemClock, now: () => Date.now() + aheadMs };
    for (let tries = 0; tries < 6; tries++) {
      // Documents grow older, by the service's clock.
      shop.emulator.advance(random.int(60_000));
      const writing = application.writeSome(random.int(DOCUMENTS));
      const died = await dies(shop, (of, signal) => run(of, { signal, clock, pageSize: 10 }), 1 + random.int(PIECES));
      await writing;
      if (!died) continue;
      kills += 1;
      // Its lock is taken over.
      aheadMs += ABANDONED_MS;
    }
    expect(await run(shop, { clock, pageSize: 10 })).toMatchObject({ left: 0 });
    await app.drained(AbortSignal.timeout(60_000));
    await app.stop();
    console.log(`killed ${kills} times, ${application.written.size} writes, ${shop.reactions.length} reactions`);

    const found = await stored(shop, 'Orders');
    const live = [...application.truth].filter(([, { doc }]) => doc !== null);
    expect(Object.keys(found).toSorted()).toEqual(live.map(([id]) => id).toSorted());
    for (const [id, { doc, until }] of live) {
      const is = found[id] ?? {};
      const storeId = doc?.['storeId'] ?? `s${Number(String(doc?.['customerId']).slice(1)) % 2}`;
      expect(withoutLife(bare(is))).toEqual(withoutLife({ ...doc, storeId }));
      expect(moved(is, until)).toBeLessThanOrEqual(1);
      if (doc?.['type'] === 'note') continue;
      // The last write of an application was an event.
      expect(shop.reactions.map(({ id: of, cents }) => `${String(of)} ${String(cents)}`)).toContain(
        `${id} ${String(doc?.['cents'])}`,
      );
    }
    // Every reaction got a content that an application has written.
    for (const got of shop.reactions)
      expect(got).toEqual(application.written.get(`${String(got['id'])} ${String(got['cents'])}`));

    for (const spec of shop.loaded.pipeline.projections) {
      const keyPaths = [KEY_PATHS[spec.into.container] ?? ''];
      const orders = Object.values(found).filter(({ type }) => type === 'order');
      const expected = recompute(spec, () => orders, shop.loaded.pipeline.sources, { keyPaths });
      const rows = Object.values(await stored(shop, spec.into.container)).filter(({ type }) => type === spec.into.type);
      const actual = new Map(rows.map((doc) => [rowKey(doc, keyPaths), visible(doc)]));
      expect({ of: projectionId(spec), actual }).toEqual({ of: projectionId(spec), actual: expected });
    }
  },
);
