// Random queries against a naive evaluator: ASM-E19 to ASM-E22.
import { expect, onTestFinished, test } from 'vitest';
import { seeded } from '../../src/emulator/random.ts';
import { prepareQuery } from '../../src/emulator/sql/prepare.ts';
import { suiteSeed } from '../support/seed.ts';
import { clientInside, emulate } from './emulate.ts';
import { comparable, query, randomDoc } from './naive-sql.ts';
import type { Pick } from './naive-sql.ts';

const QUERIES = Number(process.env['MILLRACE_HISTORIES'] ?? 2500);
const SERVED = Math.min(100, QUERIES);
const SEED = suiteSeed();

const pickOf = (seed: number): Pick => {
  const random = seeded(seed);
  return (n) => Math.floor(random() * n);
};

test(`${QUERIES} random queries mean to the engine what they mean to a naive evaluator`, () => {
  let hits = 0;
  for (let seed = SEED; seed < SEED + QUERIES; seed++) {
    const pick = pickOf(seed);
    const docs = Array.from({ length: 12 }, (_, i) => randomDoc(i, pick));
    const { sql, run, ordered } = query(pick);
    const readable = docs.map((doc) => ({ doc, text: JSON.stringify(doc) }));
    const found = [...prepareQuery(sql, new Map()).run(readable)].map((text) => JSON.parse(text) as unknown);
    const wanted = run(docs);
    expect(comparable(found, ordered), `MILLRACE_SEED=${seed}: ${sql}`).toEqual(comparable(wanted, ordered));
    if (wanted.length > 0) hits++;
  }
  // Most of them find something, or nothing would be compared.
  expect(QUERIES < 100 || hits > QUERIES / 2).toBe(true);
});

test(`${SERVED} random queries have one answer: naive, by the server with its indexes, and by the client's plan`, async () => {
  const { emulator } = await emulate({ throughput: 18_000 });
  const client = clientInside(emulator);
  onTestFinished(() => client.dispose());
  const container = client.database('d').container('c');
  const pick = pickOf(SEED);
  const docs = Array.from({ length: 1500 }, (_, i) => randomDoc(i, pick));
  await Promise.all(docs.map((doc) => container.items.create(doc)));
  for (let seed = SEED; seed < SEED + SERVED; seed++) {
    // Some are written between the queries, as an index has to follow.
    const changed = pick(docs.length);
    docs[changed] = { ...randomDoc(changed, pick), pk: docs[changed]!['pk'] };
    await container.items.upsert(docs[changed]);
    const { sql, run, ordered } = query(pickOf(seed));
    const wanted = comparable(run(docs), ordered);
    const direct = await container.items.query(sql, { maxItemCount: 400 }).fetchAll();
    expect(comparable(direct.resources as unknown[], ordered), `MILLRACE_SEED=${seed}: ${sql}`).toEqual(wanted);
    const planned = await container.items
      .query(sql, { maxItemCount: 400, forceQueryPlan: true })
      .fetchAll()
      .catch((error: Error) => {
        // The client has no order for null, so it can't take the MIN or MAX of partitions that answer with it.
        if (/\b(MIN|MAX)\(/.test(sql) && error.message === 'Tried to compare an object type') return undefined;
        throw error;
      });
    if (!planned) continue;
    // The client adds the partitions up: it passes over one that has no answer, and answers for the others.
    if (wanted.length === 0 && /\b(AVG|SUM|MIN|MAX)\(/.test(sql)) continue;
    // Its DISTINCT passes over whatever is falsy.
    const told = sql.includes('DISTINCT') ? wanted.filter((text) => Boolean(JSON.parse(text))) : wanted;
    expect(comparable(planned.resources as unknown[], ordered), `plan, MILLRACE_SEED=${seed}: ${sql}`).toEqual(told);
  }
});
