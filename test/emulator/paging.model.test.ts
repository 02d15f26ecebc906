// Random queries, page by page while documents change: ASM-E52.
import assert from 'node:assert/strict';
import type { Container } from '@azure/cosmos';
import { expect, onTestFinished, test } from 'vitest';
import { startEmulator } from '../../src/emulator/index.ts';
import type { Emulator } from '../../src/emulator/index.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';
import { clientInside, HASH_KEY } from './emulate.ts';

// Pages of a query while documents are written and deleted. What a page has to hold is told by the documents of that
// moment, sorted again, and the row at which the page before it ended: whatever lies behind that row, and nothing else.

const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 40);
const SEED = suiteSeed();
/** Ends a hang, and nothing that is merely slow. */
const TIMEOUT_MS = 60_000 + HISTORIES * 20_000;

interface Doc {
  readonly id: string;
  readonly pk: string;
  readonly n?: number;
  readonly tags: readonly string[];
}

/** A document and when its identity came to be. */
interface Kept {
  readonly doc: Doc;
  readonly born: number;
}

/** One result, and where it stands. */
interface Row {
  readonly rank: number;
  readonly born: number;
  readonly nth: number;
  readonly result: unknown;
}

interface Query {
  readonly sql: string;
  readonly rows: (kept: Kept) => unknown[];
  /** What it is ordered by; all alike where it isn't. */
  readonly rank?: (doc: Doc) => number;
  readonly pk?: string;
  readonly offset?: number;
  readonly limit?: number;
}

const idOf = ({ doc }: Kept): unknown[] => [doc.id];
/** A document without the property comes first. */
const byN = ({ n = -1 }: Doc): number => n;

const QUERIES: readonly Query[] = [
  { sql: 'SELECT VALUE c.id FROM c', rows: idOf },
  { sql: 'SELECT VALUE c.id FROM c', rows: idOf, pk: 'k1' },
  { sql: 'SELECT VALUE c.id FROM c WHERE c.n >= 2', rows: (kept) => ((kept.doc.n ?? -1) >= 2 ? idOf(kept) : []) },
  { sql: 'SELECT VALUE [c.id, t] FROM c JOIN t IN c.tags', rows: ({ doc }) => doc.tags.map((tag) => [doc.id, tag]) },
  { sql: 'SELECT TOP 9 VALUE c.id FROM c', rows: idOf, limit: 9 },
  { sql: 'SELECT VALUE c.id FROM c OFFSET 3 LIMIT 8', rows: idOf, offset: 3, limit: 8 },
  { sql: 'SELECT VALUE c.id FROM c ORDER BY c.n', rows: idOf, rank: byN },
  { sql: 'SELECT VALUE c.id FROM c ORDER BY c.n DESC', rows: idOf, rank: (doc) => -byN(doc) },
  { sql: 'SELECT VALUE c.id FROM c ORDER BY c.n OFFSET 2 LIMIT 9', rows: idOf, rank: byN, offset: 2, limit: 9 },
  {
    sql: 'SELECT VALUE [c.id, t] FROM c JOIN t IN c.tags ORDER BY c.n',
    rows: ({ doc }) => doc.tags.map((tag) => [doc.id, tag]),
    rank: byN,
  },
];

class World {
  readonly kept = new Map<string, Kept>();
  readonly #container: Container;
  readonly #random: Random;
  #count = 0;

  constructor(container: Container, random: Random) {
    this.#container = container;
    this.#random = random;
  }

  async write(): Promise<void> {
    const random = this.#random;
    const id = `${random.int(30)}`;
    const pk = `k${random.int(3)}`;
    const name = `${pk}/${id}`;
    const standing = this.kept.get(name);
    if (standing && random.chance(0.4)) {
      await this.#container.item(id, pk).delete();
      this.kept.delete(name);
      return;
    }
    const tags = ['a', 'b', 'c'].slice(0, random.int(4));
    const doc: Doc = { id, pk, tags, ...(random.chance(0.8) ? { n: random.int(5) } : {}) };
    await this.#container.items.upsert(doc);
    this.kept.set(name, { doc, born: standing?.born ?? this.#count++ });
  }

  rowsOf({ rows, rank = () => 0, pk }: Query): Row[] {
    return [...this.kept.values()]
      .filter(({ doc }) => pk === undefined || doc.pk === pk)
      .flatMap((kept) => rows(kept).map((result, nth): Row => ({ rank: rank(kept.doc), born: kept.born, nth, result })))
      .toSorted(compare);
  }
}

const compare = (a: Row, b: Row): number => a.rank - b.rank || a.born - b.born || a.nth - b.nth;

/** Reads all pages of one query under writes; returns how many there were. */
async function history(emulator: Emulator, container: Container, random: Random): Promise<number> {
  const world = new World(container, random);
  for (let i = 0; i < 25; i++) await world.write();
  const query = random.pick(QUERIES);
  const { sql, pk, offset = 0, limit = Infinity } = query;
  const size = 1 + random.int(6);
  let token: string | undefined;
  let last: Row | undefined;
  let delivered = 0;
  for (let pages = 1; ; pages++) {
    const behind = world.rowsOf(query).filter((row) => !last || compare(row, last) > 0);
    const wanted = behind.slice(last ? 0 : offset).slice(0, Math.min(size, limit - delivered));
    const read = async () =>
      container.items
        .query(sql, {
          maxItemCount: size,
          ...(token === undefined ? {} : { continuationToken: token }),
          ...(pk === undefined ? {} : { partitionKey: pk }),
        })
        .fetchNext();
    // The same token twice, as after a lost answer, is the same page.
    if (random.chance(0.2)) await read();
    const page = await read();
    const results = wanted.map(({ result }) => result);
    expect({ sql, pages, size, results: page.resources }).toEqual({ sql, pages, size, results });
    last = wanted.at(-1) ?? last;
    delivered += wanted.length;
    token = page.continuationToken;
    if (token === undefined) {
      assert(delivered === limit || behind.length - (pages === 1 ? offset : 0) <= wanted.length, `${sql} ended early`);
      return pages;
    }
    const writes = random.int(4);
    for (let i = 0; i < writes; i++) await world.write();
    if (pages === 2 && random.chance(0.3)) emulator.split('d/c');
    // What the server kept for the next page is gone then.
    if (random.chance(0.05)) await emulator.restart();
  }
}

test(
  `pages go on behind the row where the one before ended, over ${HISTORIES} random histories`,
  { timeout: TIMEOUT_MS },
  async () => {
    const emulator = await startEmulator({ seed: SEED });
    const client = clientInside(emulator);
    onTestFinished(async () => {
      client.dispose();
      await emulator.close();
    });
    let pages = 0;
    const { database } = await client.databases.create({ id: 'd' });
    for (let seed = SEED; seed < SEED + HISTORIES; seed++) {
      const { container } = await database.containers.create({ id: 'c', partitionKey: HASH_KEY });
      try {
        pages += await history(emulator, container, new Random(seed));
      } catch (cause) {
        throw new Error(`MILLRACE_SEED=${seed} MILLRACE_HISTORIES=1`, { cause });
      }
      await container.delete();
    }
    expect(pages).toBeGreaterThan(HISTORIES);
  },
);
