// Random queries, each run in worlds that differ only in the rows of other stores: no query with the verdict `safe` may differ.
import { sample } from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkStatement } from '../../src/sql-check/check.ts';
import { readDdl } from '../../src/sql-check/session.ts';
import { loadParser } from '../../src/sql-check/parser.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';
import { Judge } from './judge.ts';
import { schema } from './queries.ts';
import { randomQuery } from './random-queries.ts';

const QUERIES = Number(process.env['MILLRACE_HISTORIES'] ?? 120);
/** Queries that run on the same rows. */
const BATCH = 20;

let judge: Judge;
beforeAll(async () => {
  judge = await Judge.open();
});
afterAll(async () => judge.close());

describe('SQL-S1 the verdict safe', () => {
  it('the verdict safe is never given to a random query that shows or changes rows of another store', async () => {
    const parser = await loadParser();
    const { catalog } = readDdl(parser, { file: 'schema.sql', text: schema });
    const seed = suiteSeed();
    const counts = { safe: 0, leaks: 0, unknown: 0, elsewhere: 0, refused: 0, leaksTried: 0, leaksShown: 0 };
    const wrong: string[] = [];
    for (let at = 0; at < QUERIES; at += BATCH) {
      const random = new Random(seed + at);
      await judge.fill((below) => random.int(below));
      for (const sql of sample(randomQuery, { numRuns: Math.min(BATCH, QUERIES - at), seed: seed + at })) {
        const [statement] = parser.parse(sql, 'random');
        const { rows } = checkStatement(catalog, statement!.node);
        counts[rows.verdict]++;
        // The judge's store is store 1.
        const elsewhere = (rows.tenants ?? []).length > 0 && !rows.tenants?.some((of) => /^\$?1$/.test(of));
        if (elsewhere) counts.elsewhere++;
        // Of those that leak a part is tried, for the figure alone.
        const tried = rows.verdict === 'safe' ? !elsewhere : rows.verdict === 'leaks' && at % (4 * BATCH) === 0;
        const judged = tried ? await judge.judge(sql) : undefined;
        if (judged?.kind === 'refused') counts.refused++;
        else if (rows.verdict === 'leaks' && judged) {
          counts.leaksTried++;
          if (judged.kind === 'differs') counts.leaksShown++;
        } else if (judged?.kind === 'differs')
          wrong.push(`seed ${seed + at}: ${sql}\n  ${judged.world}: ${judged.what}`);
      }
    }
    console.log(`random queries from seed ${seed}: ${JSON.stringify(counts)}`);
    expect(wrong).toEqual([]);
    // A checker that never says safe would pass.
    expect(counts.safe).toBeGreaterThan(QUERIES / 20);
  });
});
