// The expected verdicts of the queries, against what PostgreSQL shows. Nothing of the checker is here.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Judge } from './judge.ts';
import { expectedQueries } from './queries.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';

const ROUNDS = 8;
/** A leak that no data showed gets more of it: the rows of a store may be like those of all others by chance. */
const MOST_ROUNDS = 300;
const queries = expectedQueries();
const differs = new Map<string, string>();
const refused = new Map<string, string>();
let judge: Judge;

beforeAll(async () => {
  judge = await Judge.open();
  const random = new Random(suiteSeed());
  const unseen = () => queries.filter(({ sql, rows }) => rows === 'leaks' && !differs.has(sql));
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const asked = round < ROUNDS ? queries : unseen();
    if (asked.length === 0) break;
    await judge.fill((below) => random.int(below));
    for (const { sql } of asked) {
      const found = await judge.judge(sql);
      if (found.kind === 'differs') differs.set(sql, `${found.world}: ${found.what}`);
      if (found.kind === 'refused') refused.set(sql, found.why);
    }
  }
}, 600_000);
afterAll(async () => judge.close());

describe('the expected verdicts of the queries', () => {
  it('the expected verdicts of the queries are at least 80, right and wrong ones', () => {
    expect(queries.length).toBeGreaterThanOrEqual(80);
    expect(queries.filter(({ rows }) => rows === 'leaks').length).toBeGreaterThan(40);
  });
  it.each(queries)('$file:$line $rows', ({ sql, rows, runs }) => {
    const seen = {
      shows: differs.has(sql) ? 'leaks' : 'safe',
      refused: runs === 'refused' ? undefined : refused.get(sql),
    };
    expect({ ...seen, by: seen.shows === rows ? undefined : differs.get(sql) }).toEqual({
      shows: rows,
      refused: undefined,
      by: undefined,
    });
  });
});
