// Writes orders of stores through a router, wherever the map has them, and knows what was acknowledged: node
// writer-process.ts WORK, as JSON. Each document has one writer, which also reads its last write from time to time.
import { setTimeout as delay } from 'node:timers/promises';
import { CosmosClient } from '@azure/cosmos';
import { type Router, openRouter } from '../../../../src/shards/routing/router.ts';
import { type Order, orderOf } from '../../../runtime/application.ts';
import { Random } from '../../../support/random.ts';

export interface WriterWork {
  readonly endpoint: string;
  readonly key: string;
  readonly name: string;
  readonly seed: number;
  /** Each store, with the writes a second that it gets. */
  readonly stores: Readonly<Record<string, number>>;
  /** Writers of a store, the documents of each, and how many of them a request writes. */
  readonly each: number;
  readonly documents: number;
  readonly batch: number;
}

export interface WriterReport {
  readonly writes: number;
  readonly reads: number;
  /** Reads that did not show the last acknowledged write. */
  readonly wrong: readonly string[];
  /** What a write was refused with, before it was sent again. */
  readonly refused: Readonly<Record<string, number>>;
  /** The longest wait for permission to write, milliseconds, by store. */
  readonly longestMs: Readonly<Record<string, number>>;
  /** Of the end alone: the last acknowledged version of each document. */
  readonly orders?: readonly Order[];
}

/** A writer that was held catches up with no more than this. */
const BEHIND_MS = 1_000;
const AGAIN_MS = 50;
const REPORT_MS = 500;
const READS = 0.1;

const work = JSON.parse(process.argv[2] ?? '') as WriterWork;
const stopping = new AbortController();
const orders = new Map<string, Order>();
const refused: Record<string, number> = {};
const longestMs: Record<string, number> = {};
const wrong: string[] = [];
let [writes, reads] = [0, 0];

const report = (): WriterReport => ({ writes, reads, wrong, refused, longestMs });

async function write(router: Router, storeId: string, at: number, everyMs: number): Promise<void> {
  const { name, seed, documents, batch } = work;
  const random = new Random(seed + at);
  const { signal } = stopping;
  let due = performance.now() + random.int(Math.ceil(everyMs));
  for (let n = 0; !signal.aborted; n += batch) {
    const versions = Array.from({ length: batch }, (_, k) =>
      orderOf(storeId, `${name}-${at}-${(n + k) % documents}`, n + k, {
        placedAt: `2026-01-0${1 + random.int(4)}T10:00:00.000Z`,
        ...(random.chance(0.1) && { cancelled: true as const }),
      }),
    );
    await untilWritten(router, storeId, versions);
    for (const order of versions) orders.set(`${storeId}-${order.id}`, order);
    writes += batch;
    if (random.chance(READS)) await readBack(router, random.pick(versions));
    due = Math.max(due + everyMs, performance.now() - BEHIND_MS);
    await delay(Math.max(0, due - performance.now()), undefined, { signal }).catch(() => undefined);
  }
}

/** The same versions until they are acknowledged: whether one that failed has arrived is not known. */
async function untilWritten(router: Router, storeId: string, versions: readonly Order[]): Promise<void> {
  const since = performance.now();
  for (;;) {
    try {
      using pass = await router.enter(storeId);
      longestMs[storeId] = Math.max(longestMs[storeId] ?? 0, performance.now() - since);
      const { items } = pass.container('Orders');
      const [first] = versions;
      if (versions.length === 1) await items.upsert(first!, { abortSignal: pass.signal });
      else {
        const operations = versions.map((order) => ({ operationType: 'Upsert' as const, resourceBody: { ...order } }));
        const { code } = await items.batch(operations, storeId, { abortSignal: pass.signal });
        if (code !== 200) throw Object.assign(new Error('The batch was refused'), { code });
      }
      return;
    } catch (error) {
      const { code, name } = error as { readonly code?: string | number; readonly name: string };
      const what = String(code ?? name);
      refused[what] = (refused[what] ?? 0) + 1;
      await delay(AGAIN_MS);
    }
  }
}

async function readBack(router: Router, { storeId, id, cents }: Order): Promise<void> {
  const found = await router.container<Order>(storeId, 'Orders').read(id);
  reads += 1;
  if (found?.cents !== cents) wrong.push(`${storeId}-${id} was ${found?.cents ?? 'absent'}, not ${cents}`);
}

async function main(): Promise<void> {
  const client = new CosmosClient({ endpoint: work.endpoint, key: work.key });
  const connect = ({ database }: { readonly database: string }) => client.database(database);
  await using router = await openRouter('tenants', { database: client.database('maps'), connect });
  const running = Object.entries(work.stores).flatMap(([store, perSecond], place) =>
    Array.from({ length: work.each }, (_, n) =>
      write(router, store, place * work.each + n, (1_000 * work.each * work.batch) / perSecond),
    ),
  );
  const reporting = setInterval(() => void process.send?.(report()), REPORT_MS);
  await Promise.all(running);
  clearInterval(reporting);
  process.send?.({ ...report(), orders: [...orders.values()] }, () => process.exit(0));
}

process.on('message', () => stopping.abort());
process.on('disconnect', () => process.exit(0));
await main();
