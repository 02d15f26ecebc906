// Uniqueness across partitions after any history: processes that die between any two requests, answers that are lost,
// reads that lag, reservations that expire while their process sleeps, several at once on few values.
// RES-U1 to RES-U7 and RES-U9.
import type { Container } from '@azure/cosmos';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Unique, uniqueAcross, uniqueWithin } from '../../src/patterns/index.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';
import { type World, openWorld } from './world.ts';

const SEED = suiteSeed();
const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 12);
const VALUES = ['a', 'b', 'B', 'c'];
const IDS = ['1', '2', '3', '4', '5'];
const STEPS = 14;

interface User {
  readonly id: string;
  readonly tenant: string;
  readonly email: string;
  readonly uniqueness?: { readonly email: { readonly token: string; readonly pending?: unknown } };
}

let world: World;
beforeAll(async () => {
  world = await openWorld(SEED);
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

const same = (value: string): string => value.toLowerCase();
const rule = { name: 'email', path: '/email', normalize: same };
class Killed extends Error {}

/** Answers that are no failure of ours: somebody else has the value, or the document is another by now. */
const EXPECTED = new Set(['value-taken', 'exists', 'not-found', 'contended']);

interface Totals {
  done: number;
  killed: number;
  refused: number;
  expired: number;
}

async function history(seed: number, totals: Totals, across: boolean): Promise<void> {
  const random = new Random(seed);
  const { emulator } = world;
  const users = await world.create(`users${seed}`, ['/tenant']);
  if (across) await world.create(`held${seed}`, ['/id'], { defaultTtl: -1 });
  const tenantOf = (id: string): string => (across ? `t${Number(id) % 3}` : 't');
  const open = (client: (container: string) => Container): Unique =>
    across
      ? uniqueAcross({
          ...rule,
          container: client(`users${seed}`),
          reservations: client(`held${seed}`),
          holdSeconds: 10,
        })
      : uniqueWithin({ ...rule, container: client(`users${seed}`) });

  /** Somebody's operation; he may die before any of its requests, or sleep while others go on and his hold expires. */
  const one = async (): Promise<void> => {
    const die = random.chance(0.4) ? random.int(9) : Infinity;
    const doze = across && random.chance(0.2) ? random.int(9) : Infinity;
    let requests = 0;
    const unique = open(
      world.client(() => {
        if (requests === doze) {
          emulator.advance(11_000);
          totals.expired += 1;
        }
        if (requests++ >= die) throw new Killed();
      }),
    );
    const id = random.pick(IDS);
    const email = random.pick(VALUES);
    try {
      const act = random.unit();
      if (act < 0.5) await unique.create({ id, tenant: tenantOf(id), email });
      else if (act < 0.8) await unique.change(id, tenantOf(id), email);
      else await unique.delete(id, tenantOf(id));
      totals.done += 1;
    } catch (error) {
      if (error instanceof Killed || (error instanceof Error && error.cause instanceof Killed)) totals.killed += 1;
      else if (EXPECTED.has(String((error as { code?: unknown }).code))) totals.refused += 1;
      else throw error;
    }
  };

  for (let step = 0; step < STEPS; step++) {
    emulator.faults({ failAfterEffect: 0.06, failBefore: 0.04, throttle: 0.02, replicaLagMs: 60_000 });
    await Promise.all(Array.from({ length: 1 + random.int(3) }, one));
    emulator.faults({});
    unambiguous(await all(users), seed);
  }
  if (across) await settled(users, seed);
  // Every value that no document has can be had, and no other.
  const left = unambiguous(await all(users), seed);
  const fresh = open(world.client());
  for (const value of new Set(VALUES.map(same))) {
    const asked = fresh.create({ id: `fresh-${value}`, tenant: tenantOf('0'), email: value });
    const outcome = await asked.then(
      () => 'created',
      (error: unknown) => (error as { code?: unknown }).code,
    );
    expect(outcome, `seed ${seed}: ${value}`).toBe(left.has(value) ? 'value-taken' : 'created');
  }
}

/** Whoever is left finishes everything, and then nothing is stuck. */
async function settled(users: Container, seed: number): Promise<void> {
  world.emulator.advance(11_000);
  const survivor = uniqueAcross({ ...rule, container: users, reservations: world.client()(`held${seed}`) });
  await survivor.settleAll();
  expect(await survivor.settleAll(), `seed ${seed}: still pending`).toBe(0);
  const left = unambiguous(await all(users), seed);
  for (const value of VALUES)
    expect((await survivor.ownerOf(value))?.id, `seed ${seed}: owner of ${value}`).toBe(left.get(same(value)));
}

const all = async (users: Container): Promise<User[]> =>
  (await users.items.query<User>('SELECT * FROM c WHERE IS_DEFINED(c.email)').fetchAll()).resources;

/** No two settled documents have one value; returns who has what. */
function unambiguous(users: readonly User[], seed: number): Map<string, string> {
  const owners = new Map<string, string>();
  for (const { id, email, uniqueness } of users) {
    if (uniqueness?.email.pending !== undefined) continue;
    expect(owners.get(same(email)), `seed ${seed}: ${email} of ${id}, too`).toBeUndefined();
    owners.set(same(email), id);
  }
  return owners;
}

describe(`a unique value (seed ${SEED})`, () => {
  it.each([
    ['across partitions', true],
    ['within one', false],
  ])('a unique value has one owner %s after any history, and comes free again', async (_, across) => {
    const totals = { done: 0, killed: 0, refused: 0, expired: 0 };
    for (let n = 0; n < HISTORIES; n++) await history(SEED + n + (across ? 0 : HISTORIES), totals, across);
    expect(totals.done).toBeGreaterThan(HISTORIES);
    expect(totals.killed).toBeGreaterThan(HISTORIES / 2);
    expect(totals.refused).toBeGreaterThan(HISTORIES);
    expect(totals.expired).toBeGreaterThanOrEqual(across ? HISTORIES / 4 : 0);
  });
});
