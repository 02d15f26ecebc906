// What a unique value's functions answer is true for clients whose reads are as old as replicas may be: a client made by
// `new CosmosClient(…)` alone sends no session token. docs/SPEC-reservations.md, RES-U8.
import { type Container, CosmosClient } from '@azure/cosmos';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Unique, uniqueAcross, uniqueWithin } from '../../src/patterns/index.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';
import { type World, openWorld } from './world.ts';

const SEED = suiteSeed();
const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 4);
const STEPS = 25;
const CLIENTS = 4;
/** Reads are up to this old, far more than a history takes: each sees any state that there has been. */
const LAG_MS = 60_000;
const FAULTS = { replicaLagMs: LAG_MS, failAfterEffect: 0.1, failBefore: 0.03, throttle: 0.02 };

let world: World;
beforeAll(async () => {
  world = await openWorld(SEED);
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

const normalize = (value: string): string => value.toLowerCase();
const MODES = [
  ['across partitions', true],
  ['within one', false],
] as const;

interface Scene {
  readonly users: Container;
  readonly tenantOf: (id: string) => string;
  /** By clients of their own, as processes would have them. */
  readonly clients: readonly Unique[];
}

async function scene(name: string, across: boolean): Promise<Scene> {
  const users = await world.create(`users-${name}`, ['/tenant']);
  if (across) await world.create(`held-${name}`, ['/id'], { defaultTtl: -1 });
  const clients = Array.from({ length: CLIENTS }, () => {
    const own = world.client();
    const rule = { name: 'email', path: '/email', normalize, container: own(`users-${name}`) };
    return across ? uniqueAcross({ ...rule, reservations: own(`held-${name}`) }) : uniqueWithin(rule);
  });
  return { users, clients, tenantOf: (id) => (across ? `t${Number(id) % 3}` : 't') };
}

const answerOf = (asked: Promise<void>): Promise<string> =>
  asked.then(
    () => 'done',
    (error: unknown) => {
      const { code, retryable } = error as { readonly code?: unknown; readonly retryable?: unknown };
      if (typeof code !== 'string') throw error;
      return retryable === true ? `${code}, ask again` : code;
    },
  );

interface Totals {
  done: number;
  refused: number;
}

/** One operation after the other, each by any of the clients: then its one right answer is known. */
async function history(seed: number, across: boolean, totals: Totals): Promise<void> {
  const random = new Random(seed);
  const { users, clients, tenantOf } = await scene(String(seed), across);
  const truth = new Map<string, string>();
  const ownerOf = (value: string): string | undefined =>
    [...truth].find(([, email]) => normalize(email) === normalize(value))?.[0];
  world.emulator.faults(FAULTS);
  for (let step = 0; step < STEPS; step++) {
    const unique = random.pick(clients);
    const id = random.pick(['1', '2', '3', '4']);
    const email = random.pick(['a', 'b', 'B', 'c', 'é"\\x']);
    const owner = ownerOf(email);
    const act = random.unit();
    let asked: Promise<void>;
    let right: string[];
    if (act < 0.45) {
      asked = unique.create({ id, tenant: tenantOf(id), email });
      right =
        owner !== undefined && (across || !truth.has(id)) ? ['value-taken'] : truth.has(id) ? ['exists'] : ['done'];
      if (right[0] === 'done') truth.set(id, email);
    } else if (act < 0.75) {
      asked = unique.change(id, tenantOf(id), email);
      right = !truth.has(id) ? ['not-found'] : owner !== undefined && owner !== id ? ['value-taken'] : ['done'];
      if (right[0] === 'done') truth.set(id, email);
    } else {
      asked = unique.delete(id, tenantOf(id));
      // It is gone: whether it went meanwhile, or was gone before, its own read can't tell.
      right = truth.has(id) ? ['done'] : ['not-found', 'done'];
      truth.delete(id);
    }
    const said = `seed ${seed}, step ${step}: ${act < 0.45 ? 'create' : act < 0.75 ? 'change' : 'delete'} ${id} ${email}`;
    const answer = await answerOf(asked);
    expect(right, `${said}: ${answer}`).toContain(answer);
    totals[answer === 'done' ? 'done' : 'refused'] += 1;
  }
  world.emulator.faults({});
  const query = 'SELECT c.id, c.email, c.uniqueness FROM c WHERE IS_DEFINED(c.email)';
  const { resources } = await users.items
    .query<{ id: string; email: string; uniqueness: { email: { pending?: unknown } } }>(query)
    .fetchAll();
  expect(new Map(resources.map(({ id, email }) => [id, email])), `seed ${seed}`).toEqual(truth);
  expect(resources.filter(({ uniqueness }) => uniqueness.email.pending !== undefined)).toEqual([]);
}

describe(`answers under stale reads (seed ${SEED})`, () => {
  it.each(MODES)('answers under stale reads are those of one request after the other, %s', async (_, across) => {
    const totals = { done: 0, refused: 0 };
    for (let n = 0; n < HISTORIES; n++) await history(SEED + n + (across ? 0 : HISTORIES), across, totals);
    expect(totals.done).toBeGreaterThan(HISTORIES);
    expect(totals.refused).toBeGreaterThan(HISTORIES);
  });

  it.each(MODES)('answers under stale reads refuse none of 300 documents created at once, %s', async (name, across) => {
    const { users, clients, tenantOf } = await scene(`many-${name.replaceAll(' ', '-')}`, across);
    world.emulator.faults(FAULTS);
    const answers = await Promise.all(
      Array.from({ length: 300 }, async (_none, n) => {
        const id = String(n);
        return answerOf(clients[n % CLIENTS]!.create({ id, tenant: tenantOf(id), email: `${n}@example.com` }));
      }),
    );
    world.emulator.faults({});
    expect(answers.filter((answer) => answer !== 'done')).toEqual([]);
    const { resources } = await users.items.query('SELECT VALUE COUNT(1) FROM c WHERE IS_DEFINED(c.email)').fetchAll();
    expect(resources).toEqual([300]);
  });

  it.each(MODES)('name one owner where several want one value at once, %s', async (name, across) => {
    const { users, clients, tenantOf } = await scene(`one-${name.replaceAll(' ', '-')}`, across);
    world.emulator.faults(FAULTS);
    for (let round = 0; round < 10; round++) {
      const ids = Array.from({ length: CLIENTS }, (_none, n) => String(round * CLIENTS + n));
      const email = `${round}@example.com`;
      const answers = await Promise.all(
        ids.map((id, n) => answerOf(clients[n]!.create({ id, tenant: tenantOf(id), email }))),
      );
      const query = {
        query: 'SELECT VALUE c.id FROM c WHERE c.email = @email',
        parameters: [{ name: '@email', value: email }],
      };
      world.emulator.faults({});
      const { resources } = await users.items.query<string>(query).fetchAll();
      expect(resources, `answered: ${answers.join(' | ')}`).toEqual(ids.filter((_id, n) => answers[n] === 'done'));
      expect(resources).toHaveLength(1);
      for (const answer of answers) expect(answer).toMatch(/^(done|value-taken)/);
      world.emulator.faults(FAULTS);
    }
    world.emulator.faults({});
  });

  it.each(['Prefer', 'prefer'])(
    'answers under stale reads need the content of no answer that the client asks for by itself (%s)',
    async (header) => {
      const made = await scene(`minimal-${header}`, true);
      const defaultHeaders = { [header]: 'return=minimal' };
      const client = new CosmosClient({ ...world.emulator.clientOptions, defaultHeaders });
      onTestFinished(() => client.dispose());
      const container = (id: string): Container => client.database('patterns').container(`${id}-minimal-${header}`);
      const rule = { name: 'email', path: '/email', normalize, container: container('users') };
      const unique = uniqueAcross({ ...rule, reservations: container('held') });
      await unique.create({ id: '1', tenant: 't1', email: 'a' });
      expect(await answerOf(unique.create({ id: '2', tenant: 't2', email: 'A' }))).toBe('value-taken');
      world.emulator.faults({ replicaLagMs: LAG_MS });
      expect(await answerOf(unique.change('1', 't1', 'b'))).toBe('done');
      expect(await answerOf(unique.delete('1', 't1'))).toBe('done');
      world.emulator.faults({});
      expect((await made.users.items.readAll().fetchAll()).resources).toEqual([]);
    },
  );
});
