// Readers of the latest-version feed under random writes, splits and faults: ASM-A2, ASM-E9 and ASM-E10.
import assert from 'node:assert/strict';
import { ChangeFeedStartFrom } from '@azure/cosmos';
import type { ChangeFeedIteratorResponse, Container, FeedRange, OperationInput } from '@azure/cosmos';
import { expect, test } from 'vitest';
import { seeded } from '../../src/emulator/random.ts';
import { ADVERSE, startEmulator } from '../../src/emulator/index.ts';
import { suiteSeed } from '../support/seed.ts';
import { clientInside, HASH_KEY, insist, remove } from './emulate.ts';

const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 12);
const SEED = suiteSeed();
/** Ends a hang, and nothing that is merely slow. */
const TIMEOUT_MS = 60_000 + HISTORIES * 20_000;
const STEPS = 120;

interface Doc {
  readonly id: string;
  readonly pk: string;
  readonly v: number;
  readonly _lsn: number;
}

/** One reader of one range: what it has been told, and how far it is. */
class Reader {
  readonly seen = new Map<string, Doc>();
  #token: string | undefined;
  #lastLsn = 0;
  readonly #range: FeedRange;

  constructor(range: FeedRange) {
    this.#range = range;
  }

  /** Reads one page with a new iterator from the stored token, as after a restart. */
  async page(container: Container, size: number): Promise<boolean> {
    const start =
      this.#token === undefined
        ? ChangeFeedStartFrom.Beginning(this.#range)
        : ChangeFeedStartFrom.Continuation(this.#token);
    const page: ChangeFeedIteratorResponse<Doc[]> = await insist(() =>
      container.items.getChangeFeedIterator<Doc>({ changeFeedStartFrom: start, maxItemCount: size }).readNext(),
    );
    this.#token = page.continuationToken;
    let first = true;
    const inPage = new Set<string>();
    for (const doc of page.result) {
      // A page starts above everything read before, so no lsn is in two pages, and goes up inside.
      assert(
        doc._lsn > this.#lastLsn || (!first && doc._lsn === this.#lastLsn),
        `lsn ${doc._lsn} after ${this.#lastLsn}`,
      );
      first = false;
      this.#lastLsn = doc._lsn;
      const name = `${doc.pk}/${doc.id}`;
      assert(!inPage.has(name), `${name} twice in a page`);
      inPage.add(name);
      const known = this.seen.get(name);
      assert(!known || doc._lsn > known._lsn, `${name} went back`);
      this.seen.set(name, doc);
    }
    return page.statusCode !== 304;
  }
}

test(
  `readers of the feed end at the live items, over ${HISTORIES} random histories on a bad day`,
  { timeout: TIMEOUT_MS },
  async () => {
    const emulator = await startEmulator({ seed: SEED });
    const client = clientInside(emulator);
    const { database } = await client.databases.create({ id: 'd' });
    try {
      for (let seed = SEED; seed < SEED + HISTORIES; seed++) {
        const { container } = await database.containers.create({
          id: `c${seed}`,
          partitionKey: HASH_KEY,
          throughput: 400 + (seed % 3) * 6000,
        });
        emulator.faults(ADVERSE);
        const told = `MILLRACE_SEED=${seed} MILLRACE_HISTORIES=1`;
        const { seen, live, found } = await history(container, seeded(seed)).catch((error: unknown) => {
          throw new Error(told, { cause: error });
        });
        emulator.faults({});
        expect(found, `seed ${seed}`).toEqual(live);
        for (const all of seen) expect(all, `seed ${seed}`).toMatchObject(Object.fromEntries(live));
      }
      // The day was a bad one.
      expect(emulator.stats().faults).toBeGreaterThan(HISTORIES);
    } finally {
      client.dispose();
      await emulator.close();
    }
  },
);

interface Ending {
  /** Names to values: what is alive, and what a query finds. */
  readonly live: ReadonlyMap<string, number>;
  readonly found: ReadonlyMap<string, number>;
  /** What each set of readers has seen last of every item, deleted ones included. */
  readonly seen: readonly Record<string, number>[];
}

async function history(container: Container, random: () => number): Promise<Ending> {
  const pick = (n: number): number => Math.floor(random() * n);
  const live = new Map<string, number>();
  const written = new Set<string>();
  const ranges = await insist(async () => (await container.getFeedRanges()) as FeedRange[]);
  const readers = [...ranges, ...ranges].map((range) => new Reader(range));
  let v = 0;
  for (let step = 0; step < STEPS; step++) {
    const pk = `k${pick(6)}`;
    const id = `i${pick(5)}`;
    const name = `${pk}/${id}`;
    const action = random();
    if (action < 0.3) {
      v++;
      await insist(() => container.items.upsert({ id, pk, v }));
      live.set(name, v);
      written.add(`${name}/${v}`);
    } else if (action < 0.4 && live.has(name)) {
      v++;
      await insist(() => container.item(id, pk).patch([{ op: 'set', path: '/v', value: v }]));
      live.set(name, v);
      written.add(`${name}/${v}`);
    } else if (action < 0.5 && live.has(name)) {
      await remove(container, id, pk);
      live.delete(name);
    } else if (action < 0.7) {
      await batch(container, pk, pick, live, written, () => ++v);
    } else {
      await readers[pick(readers.length)]!.page(container, 1 + pick(8));
    }
  }
  for (const reader of readers) while (await reader.page(container, 1 + pick(5)));
  const seen = [readers.slice(0, ranges.length), readers.slice(ranges.length)].map((half) => {
    const all = half.flatMap((reader) => [...reader.seen]);
    for (const [name, doc] of all) assert(written.has(`${name}/${doc.v}`), `${name}/${doc.v} was never written`);
    return Object.fromEntries(all.map(([name, doc]) => [name, doc.v]));
  });
  const { resources } = await insist(() =>
    container.items.query<Doc>('SELECT * FROM c', { maxItemCount: 7 }).fetchAll(),
  );
  return { live, found: new Map(resources.map((doc) => [`${doc.pk}/${doc.id}`, doc.v])), seen };
}

async function batch(
  container: Container,
  pk: string,
  pick: (n: number) => number,
  live: Map<string, number>,
  written: Set<string>,
  next: () => number,
): Promise<void> {
  const state = new Map<string, number | undefined>();
  const texts = new Set<string>();
  const operations: OperationInput[] = Array.from({ length: 1 + pick(6) }, () => {
    const id = `i${pick(5)}`;
    if (pick(4) === 0) {
      state.set(`${pk}/${id}`, undefined);
      return { operationType: 'Delete', id };
    }
    const v = next();
    state.set(`${pk}/${id}`, v);
    texts.add(`${pk}/${id}/${v}`);
    return { operationType: pick(5) === 0 ? 'Create' : 'Upsert', resourceBody: { id, pk, v } };
  });
  // Can be created once: where it is there already, the batch was done and its answer got lost.
  const mark = { id: `mark${next()}`, pk, v: next() };
  state.set(`${pk}/${mark.id}`, mark.v);
  texts.add(`${pk}/${mark.id}/${mark.v}`);
  operations.unshift({ operationType: 'Create', resourceBody: mark });
  const done = await insist(async (attempt) => {
    const { code, result } = await container.items.batch(operations, pk);
    return code === 200 || (attempt > 1 && result?.[0]?.statusCode === 409);
  });
  if (!done) return;
  for (const text of texts) written.add(text);
  for (const [name, v] of state) {
    if (v === undefined) live.delete(name);
    else live.set(name, v);
  }
}
