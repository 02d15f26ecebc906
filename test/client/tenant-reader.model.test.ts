// Random queries of random tenants against a filter over all documents, on a server where a prefix of a key filters
// nothing, every query that needs a plan gets one, and some requests fail: ASM-E72 to ASM-E75, ASM-E79, ASM-E82.
import type { Container } from '@azure/cosmos';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Tenant, forTenant } from '../../src/client.ts';
import { type Doc, type Pick, comparable, query, randomDoc } from '../emulator/naive-sql.ts';
import type { World } from '../patterns/world.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';
import { KEYS, TENANTS, UNHELPFUL, openTenants, scatter, several } from './tenants.ts';

const SEED = suiteSeed();
const QUERIES = Number(process.env['MILLRACE_HISTORIES'] ?? 300);

interface Stored extends Doc {
  readonly id: string;
  readonly tenant: Tenant;
  readonly user: string;
  readonly day: number;
}

let world: World;
const containers: { readonly paths: readonly string[]; readonly container: Container; readonly docs: Stored[] }[] = [];

const pickOf = (seed: number): Pick => {
  const random = new Random(seed);
  return (n) => random.int(n);
};

beforeAll(async () => {
  world = await openTenants(SEED);
  const pick = pickOf(SEED);
  for (const [at, paths] of KEYS.entries()) {
    const container = await several(world, `c${at}`, paths);
    const docs = Array.from({ length: 240 }, (_, n): Stored => {
      const tenant = TENANTS[pick(TENANTS.length)] ?? 1;
      return { ...randomDoc(n, pick), id: `${n}`, tenant, user: `u${pick(9)}`, day: pick(5) };
    });
    await Promise.all(docs.map((doc) => container.items.create(doc)));
    // Before the first query: the client doesn't notice later splits (ASM-E81).
    scatter(world.emulator, `c${at}`, pick(8));
    containers.push({ paths, container, docs });
  }
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

/** What the client's own plan gets wrong, wherever it comes from (ASM-E36 and the tests of the server's plans). */
function isBeyondPlans(sql: string, wanted: readonly string[]): boolean {
  return (
    /\b(MIN|MAX)\(/.test(sql) ||
    (wanted.length === 0 && /\b(AVG|SUM)\(/.test(sql)) ||
    (sql.includes('DISTINCT') && wanted.some((text) => !JSON.parse(text)))
  );
}

it(`${QUERIES} random queries find what a filter over all documents finds (seed ${SEED})`, async () => {
  let [found, compared] = [0, 0];
  for (let seed = SEED; seed < SEED + QUERIES; seed++) {
    const pick = pickOf(seed);
    const { paths, container, docs } = containers[pick(containers.length)]!;
    const tenant = TENANTS[pick(TENANTS.length)]!;
    const some = docs.filter((doc) => doc.tenant === tenant);
    const sample = some[pick(some.length)]!;
    const levels = paths.slice(1).map((path) => sample[path.slice(1)] as string | number);
    const within = levels.slice(0, pick(levels.length + 1));
    const mine = some.filter((doc) => within.every((level, at) => doc[paths[at + 1]!.slice(1)] === level));
    const { sql, run, ordered } = query(pick);
    const wanted = comparable(run(mine), ordered);
    const isWhole = within.length === levels.length;
    if (!isWhole && isBeyondPlans(sql, wanted)) continue;
    const of = `${tenant} within ${JSON.stringify(within)} of ${paths.join()}`;
    const options = { within, maxItemCount: 1 + pick(20) };
    // Of every third query one request fails.
    const rule = { operation: 'query', nth: 1 + pick(6), status: pick(2) === 0 ? 408 : 449 };
    world.emulator.faults({ ...UNHELPFUL, rules: pick(3) === 0 ? [rule] : [] });
    const all = await forTenant(container, tenant).query<unknown>(sql, options).all();
    expect(comparable(all, ordered), `MILLRACE_SEED=${seed}: ${sql} of ${of}`).toEqual(wanted);
    compared += 1;
    if (wanted.length > 0) found += 1;
  }
  // Most are compared, and many find something, or nothing would be shown.
  if (QUERIES < 100) return;
  expect(compared).toBeGreaterThan(QUERIES / 2);
  expect(found).toBeGreaterThan(compared / 3);
});

it('whole documents and point reads are the tenant’s alone', async () => {
  for (const { container, docs, paths } of containers)
    for (const tenant of TENANTS) {
      const mine = docs.filter((doc) => doc.tenant === tenant);
      const reader = forTenant<Stored>(container, tenant);
      const all = await reader.query('SELECT * FROM c').all();
      expect(all.map(({ id }) => id).toSorted()).toEqual(mine.map(({ id }) => id).toSorted());
      for (const doc of docs.slice(0, 40)) {
        const rest = paths.slice(1).map((path) => doc[path.slice(1)] as string);
        expect((await reader.read(doc.id, ...rest))?.tenant).toBe(doc.tenant === tenant ? tenant : undefined);
      }
    }
});
