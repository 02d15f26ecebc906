// Random queries over random shards while keys move between them, against the same queries worked out on a plain list of
// all documents. Requests fail and are slow, shards are left out, containers and mappings are split, readings are resumed
// by their continuations. ROUTE-Q1 to ROUTE-Q6.
import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { KeyTypeName } from '../../src/shards/index.ts';
import { ShardMapManager } from '../../src/shards/index.ts';
import { type Case, type Doc, type Pick, comparable, condition, query } from '../emulator/naive-sql.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';
import { QueryWorld } from './query-world.ts';
import { type Around, ShardStage } from './shard-stage.ts';

const SEED = suiteSeed();
const QUERIES = Number(process.env['MILLRACE_HISTORIES'] ?? 75);
/** A world serves so many queries. */
const OF_A_WORLD = 75;
const TYPES: readonly KeyTypeName[] = ['int64', 'text', 'int32', 'duration', 'guid'];
/** The client executes queries over several physical partitions by a plan (ASM-E74). */
const PLANS = { demandPlans: true };

const pickOf = (seed: number): Pick => {
  const random = new Random(seed);
  return (n) => random.int(n);
};

let stage: ShardStage;
let manager: ShardMapManager;
beforeAll(async () => {
  stage = await ShardStage.open();
  manager = await ShardMapManager.create(await stage.options());
});
afterAll(() => stage[Symbol.asyncDispose]());

let maps = 0;
async function worldOf(seed: number, around: Around = (_, send) => send()): Promise<QueryWorld> {
  stage.emulator.faults(PLANS);
  const pick = pickOf(seed);
  const keyType = TYPES[pick(TYPES.length)]!;
  const facts = { keyType, schema: { sharded: { Orders: '/tenantId' } } };
  const map = await manager[keyType === 'text' ? 'createListMap' : 'createRangeMap'](`m${(maps += 1)}`, facts);
  const slow: Around = async (request, send) => {
    for (let turns = pick(4); turns > 0; turns--) await turn();
    return around(request, send);
  };
  const options = { keyType, shards: 1 + pick(5), documents: 60, partitions: 3, around: slow };
  return QueryWorld.open(stage, map, options, pick);
}

/** A query of the plain evaluator that has no aggregate. */
function mergeable(pick: Pick): Case {
  for (;;) {
    const plain = query(pick);
    if (!/\b(COUNT|SUM|AVG|MIN|MAX)\(|GROUP BY|DISTINCT/.test(plain.sql)) return plain;
  }
}

/** Queries with an order of several paths, with TOP, beside those of the plain evaluator. */
function caseOf(pick: Pick): Case {
  if (pick(4) > 0) return mergeable(pick);
  const where = condition(pick);
  const [skip, most] = [pick(4), 1 + pick(9)];
  const found = (docs: readonly Doc[]): Doc[] => docs.filter((doc) => where.of(doc) === true);
  const text = (a: unknown, b: unknown): number => ((a as string) < (b as string) ? -1 : a === b ? 0 : 1);
  const byNumber = (a: Doc, b: Doc): number => (b['n'] as number) - (a['n'] as number) || text(a['id'], b['id']);
  switch (pick(3)) {
    case 0:
      return {
        sql: `SELECT c.id, c["s"] AS text FROM c WHERE ${where.sql} ORDER BY c.s, c.n DESC, c.id OFFSET ${skip} LIMIT ${most}`,
        ordered: true,
        run: (docs) =>
          found(docs)
            .toSorted((a, b) => text(a['s'], b['s']) || byNumber(a, b))
            .slice(skip, skip + most)
            .map(({ id, s }) => ({ id, text: s })),
      };
    case 1:
      return {
        sql: `SELECT TOP ${most} * FROM root r WHERE ${where.sql.replaceAll(/\bc\./g, 'r.')} ORDER BY r.n DESC, r.id ASC`,
        ordered: true,
        run: (docs) => found(docs).toSorted(byNumber).slice(0, most),
      };
    default:
      return {
        sql: `SELECT TOP ${most} VALUE c.b.x FROM c WHERE ${where.sql} ORDER BY c.n DESC, c.id`,
        ordered: true,
        run: (docs) =>
          found(docs)
            .toSorted(byNumber)
            .flatMap(({ b }) => (typeof b === 'object' && b !== null ? [(b as Doc)['x']] : []))
            .slice(0, most),
      };
  }
}

/** Reads a query page by page, and resumes it by each continuation, with pages of another size. */
async function resumed(world: QueryWorld, sql: string, pick: Pick): Promise<unknown[]> {
  const found: unknown[] = [];
  for (let continuation: string | undefined; ;) {
    const pageSize = 1 + pick(20);
    for await (const page of world.query(sql, { pageSize }).pages(continuation)) {
      found.push(...page.items);
      ({ continuation } = page);
      if (page.done) return found;
      if (continuation !== undefined) break;
    }
  }
}

/** Reads a query while keys move. */
async function disturbed(world: QueryWorld, sql: string, pageSize: number, pick: Pick): Promise<unknown[]> {
  const found: unknown[] = [];
  const moving = [world.step(true)];
  try {
    for await (const { items } of world.query(sql, { pageSize }).pages()) {
      found.push(...items);
      if (pick(3) === 0) await Promise.all(moving);
      if (pick(3) === 0) await Promise.all(moving).then(() => world.step(true));
    }
    return found;
  } finally {
    await Promise.all(moving);
  }
}

/** Ends that a disturbed or failing query may have. */
const ENDS: Readonly<Record<string, string | undefined>> = {
  'shard-query-moved': 'moved',
  'shard-query-failed': 'failed',
};

interface Counts {
  found: number;
  moved: number;
  failed: number;
}

/** One query, and what is wrong with its answer. */
async function one(world: QueryWorld, seed: number, counts: Counts): Promise<string | undefined> {
  const pick = pickOf(seed);
  if (pick(2) === 0) await world.step();
  if (pick(40) === 0) world.splitPartition();
  const { sql, run, ordered } = caseOf(pick);
  const pageSize = 1 + pick(20);
  const mode = pick(5);
  const without = mode === 4 && world.shards.length > 1 ? [world.shards[pick(world.shards.length)]!] : [];
  const hidden = new Set((await Promise.all(without.map((shard) => world.documentsOf(shard)))).flat());
  const wanted = run(world.docs.filter((doc) => !hidden.has(doc)));
  // Of some queries one request fails, which the client takes for the end (ASM-E82).
  const rule = { operation: 'query', nth: 1 + pick(6), status: pick(2) === 0 ? 408 : 449 };
  stage.emulator.faults({ ...PLANS, rules: mode === 3 ? [rule] : [] });
  try {
    const partial = { pageSize, onFailure: without.length > 0 ? ('partial' as const) : ('complete' as const) };
    const items =
      mode === 1
        ? await resumed(world, sql, pick)
        : mode === 2
          ? await disturbed(world, sql, pageSize, pick)
          : (await world.query(sql, partial, without).all()).items;
    if (items.length > 0) counts.found += 1;
    const [got, expected] = [comparable(items, ordered), comparable(wanted, ordered)];
    return got.join('\n') === expected.join('\n') ? undefined : `${sql}: ${got.join()} instead of ${expected.join()}`;
  } catch (error) {
    const end = ENDS[(error as { code?: string }).code ?? ''];
    if (end === 'moved' && mode === 2) counts.moved += 1;
    else if (end === 'failed' && mode === 3) counts.failed += 1;
    else return `${sql}: ${String(error)}`;
    return undefined;
  } finally {
    stage.emulator.faults(PLANS);
  }
}

it(`${QUERIES} random queries find each document once, also while keys move (seed ${SEED})`, async () => {
  let world!: QueryWorld;
  const counts = { found: 0, moved: 0, failed: 0 };
  for (let n = 0; n < QUERIES; n++) {
    if (n % OF_A_WORLD === 0) world = await worldOf(SEED + n);
    const wrong = await one(world, SEED + n, counts);
    // A world is repeated from its first query on.
    expect(wrong, `MILLRACE_SEED=${SEED + n - (n % OF_A_WORLD)}, query ${n % OF_A_WORLD}`).toBeUndefined();
  }
  expect(counts.found).toBeGreaterThan(QUERIES / 3);
  expect(counts.moved + counts.failed).toBeLessThan(QUERIES / 3);
});

it('the model of queries over shards is seen to fail where strays are not left out', async () => {
  const forgetful: Around = async (request, send) => {
    const answer = await send();
    if (!request.url.endsWith('/colls/shardmap/docs/header') || answer.status !== 200) return answer;
    const { strays: _, ...header } = JSON.parse(answer.bodyAsText ?? '{}') as Record<string, unknown>;
    return { ...answer, bodyAsText: JSON.stringify(header) };
  };
  const counts = { found: 0, moved: 0, failed: 0 };
  let wrong: string | undefined;
  let world!: QueryWorld;
  for (let n = 0; wrong === undefined; n++) {
    if (n % OF_A_WORLD === 0) world = await worldOf(SEED + n, forgetful);
    wrong = await one(world, SEED + n, counts);
  }
  expect(wrong).toContain(' instead of ');
});
