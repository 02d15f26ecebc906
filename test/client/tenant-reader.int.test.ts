import { type Container, CosmosClient, type FeedOptions, type SqlQuerySpec } from '@azure/cosmos';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { forTenant } from '../../src/client.ts';
import type { World } from '../patterns/world.ts';
import { LONG, TENANTS, UNHELPFUL, openTenants, scatter, several } from './tenants.ts';
import { namesOf } from '../support/names-of.ts';

interface Note {
  readonly id: string;
  readonly tenant: string | number;
  readonly user: string;
  readonly n: number;
  readonly tags: readonly string[];
}

let world: World;
let notes: Container;
let plain: Container;
const USERS = Array.from({ length: 12 }, (_, user) => `u${user}`);

beforeAll(async () => {
  world = await openTenants(5);
  [notes, plain] = [await several(world, 'notes', ['/tenant', '/user']), await several(world, 'plain', ['/tenant'])];
  let n = 0;
  for (const tenant of TENANTS)
    for (const user of USERS) {
      const note = { id: user, tenant, user, n: n++, tags: ['a', `${tenant}`.slice(0, 4)] };
      await Promise.all([notes.items.create(note), plain.items.create(note)]);
    }
  scatter(world.emulator, 'notes', 5);
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

const mine = (tenant: string | number): number[] =>
  USERS.map((_, user) => TENANTS.indexOf(tenant) * USERS.length + user);
const sorted = (numbers: readonly number[]): number[] => numbers.toSorted((a, b) => a - b);
const refused = (code: string) => expect.objectContaining({ code });

describe('a tenant’s documents', () => {
  it.each(TENANTS.entries().toArray())(
    'a tenant’s documents are all that a query finds, tenant %i',
    async (_, tenant) => {
      for (const container of [notes, plain]) {
        const reader = forTenant<Note>(container, tenant);
        const all = await reader.query('SELECT * FROM c').all();
        expect(sorted(all.map(({ n }) => n))).toEqual(mine(tenant));
        const spec = {
          query: 'SELECT VALUE c.n FROM c WHERE c.n < @n OR true',
          parameters: [{ name: '@n', value: 3 }],
        };
        expect(sorted(await reader.query<number>(spec).all())).toEqual(mine(tenant));
        expect(await reader.query<number>('SELECT VALUE c.n FROM c ORDER BY c.n').all()).toEqual(mine(tenant));
        expect(await reader.query<number>('SELECT TOP 3 VALUE c.n FROM c ORDER BY c.n DESC').all()).toEqual(
          mine(tenant).toReversed().slice(0, 3),
        );
        expect(await reader.query<number>('SELECT VALUE COUNT(1) FROM c').all()).toEqual([USERS.length]);
        expect(await reader.query<number>('SELECT VALUE COUNT(1) FROM c JOIN t IN c.tags').all()).toEqual([24]);
        expect(await reader.query('SELECT c.tenant, SUM(c.n) AS n FROM c GROUP BY c.tenant').all()).toEqual([
          { tenant, n: mine(tenant).reduce((a, b) => a + b) },
        ]);
        expect(await reader.query<number>('SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 5 LIMIT 3').all()).toEqual(
          mine(tenant).slice(5, 8),
        );
      }
    },
  );

  it('a tenant’s documents lie in several physical partitions, where neither the client nor the server keeps them apart', async () => {
    // What forTenant has to make up for: ASM-E72 and ASM-E73.
    const alone = await notes.items.query<Note>('SELECT * FROM c', { partitionKey: ['acme'] }).fetchAll();
    expect(new Set(alone.resources.map(({ tenant }) => tenant)).size).toBeGreaterThan(1);
    const planned = { partitionKey: ['acme'], forceQueryPlan: true };
    const { resources } = await plain.items.query<Note>('SELECT * FROM c', planned).fetchAll();
    expect(new Set(resources.map(({ tenant }) => tenant)).size).toBe(TENANTS.length);
  });

  it('a tenant’s documents are read by id', async () => {
    const [reader, single] = [forTenant<Note>(notes, 'acme'), forTenant<Note>(plain, 1)];
    expect(await reader.read('u3', 'u3')).toMatchObject({ tenant: 'acme', user: 'u3' });
    expect(await reader.read('u3', 'u4')).toBeUndefined();
    expect(await single.read('u3')).toMatchObject({ tenant: 1 });
    expect(await forTenant(plain, LONG).read('u3')).toBeUndefined();
    await expect(reader.read('u3')).rejects.toEqual(refused('option-invalid'));
    await expect(single.read('u3', 'u3')).rejects.toEqual(refused('option-invalid'));
  });

  it('a tenant’s documents are not read by what is no id', async () => {
    const reader = forTenant(plain, 1);
    const ids = ['', ' ', '.', '..', '..?a', '/u3', 'u3/', '../plain/docs/u3', 'u3\\', 'u#3'];
    expect(await Promise.all(ids.map((id) => reader.read(id)))).toEqual(ids.map(() => undefined));
  });

  it('a tenant’s documents may have their id as the last level of the key', async () => {
    const byId = await several(world, 'byId', ['/tenant', '/id']);
    await byId.items.create({ id: 'a', tenant: 't' });
    const reader = forTenant(byId, 't');
    expect(await reader.read('a')).toMatchObject({ id: 'a' });
    expect(await reader.read('a', 'a')).toMatchObject({ id: 'a' });
    expect(await reader.read('a', 'b')).toBeUndefined();
  });

  it('a tenant’s documents may have their tenant inside an object', async () => {
    const nested = await several(world, 'nested', ['/owner/tenant', '/user']);
    for (const tenant of ['a', 'b']) await nested.items.create({ id: tenant, owner: { tenant }, user: 'u' });
    const reader = forTenant(nested, 'a', { field: '/owner/tenant' });
    expect(await reader.query('SELECT * FROM c').all()).toMatchObject([{ id: 'a' }]);
  });

  it('a tenant’s documents are narrowed by further levels of the key', async () => {
    const reader = forTenant<Note>(notes, 'Acme');
    const one = reader.query('SELECT * FROM c', { within: ['u7'] });
    expect(await one.all()).toMatchObject([{ tenant: 'Acme', user: 'u7' }]);
    const tooMany = reader.query('SELECT * FROM c', { within: ['u7', 'x'] });
    await expect(tooMany.all()).rejects.toEqual(refused('option-invalid'));
  });

  it('a tenant’s documents are those of a key that lacks its last level, and not those where it is null', async () => {
    const gaps = await several(world, 'gaps', ['/tenant', '/user']);
    for (const user of [{}, { user: null }, { user: 'u' }]) await gaps.items.create({ id: 'x', tenant: 'a', ...user });
    const reader = forTenant(gaps, 'a');
    const lacking = { id: 'x', tenant: 'a' };
    expect(await reader.query('SELECT c.id, c.tenant, c.user FROM c', { within: [{}] }).all()).toEqual([lacking]);
    expect(await reader.read('x', {})).not.toHaveProperty('user');
    expect(await reader.read('x', null)).toMatchObject({ user: null });
  });

  it('a tenant’s documents have the type of the model', async () => {
    const shop = namesOf<{ Notes: { note: Note } }>();
    const reader = forTenant(notes, 'acme', { of: shop.Notes.note });
    const users: string[] = [];
    for await (const { user } of reader.query('SELECT * FROM c WHERE c.n > 0', { within: ['u1'] })) users.push(user);
    expect(users).toEqual(['u1']);
  });
});

describe('pages', () => {
  const read = async (reader: ReturnType<typeof forTenant>, query: string, between: () => void): Promise<number[]> => {
    const found: number[] = [];
    let continuation: string | undefined;
    do {
      const page = await reader.query<number>(query, { maxItemCount: 5 }).page(continuation);
      expect(page.items.length).toBeLessThanOrEqual(5);
      found.push(...page.items);
      continuation = page.continuation;
      between();
    } while (continuation !== undefined);
    return found;
  };

  it('pages of a whole key come in order, by requests of their own', async () => {
    const found = await read(forTenant(plain, 'acme'), 'SELECT VALUE c.n FROM c ORDER BY c.n DESC', () => undefined);
    expect(found).toEqual(mine('acme').toReversed());
  });

  it('pages go on after a split in their middle', async () => {
    for (const [id, paths] of [
      ['splits1', ['/tenant']],
      ['splits2', ['/tenant', '/user']],
    ] as const) {
      const container = await several(world, id, paths);
      for (const [n, user] of USERS.entries())
        for (const tenant of ['a', 'A']) await container.items.create({ id: user, tenant, user, n });
      let splits = 0;
      const split = (): void => {
        if (splits++ < 2) scatter(world.emulator, id, 1);
      };
      const found = await read(forTenant(container, 'a'), 'SELECT VALUE c.n FROM c', split);
      expect(sorted(found)).toEqual(USERS.map((_, n) => n));
    }
  });

  it('pages of a sorted query are read on after a split where the key is whole, and end with an error where it is not', async () => {
    const query = 'SELECT VALUE c.n FROM c ORDER BY c.n';
    const readOn = async (id: string, paths: readonly string[]): Promise<number[]> => {
      const container = await several(world, id, paths);
      for (const [n, user] of USERS.entries()) await container.items.create({ id: user, tenant: 'a', user, n });
      const found: number[] = [];
      for await (const n of forTenant(container, 'a').query<number>(query, { maxItemCount: 2 })) {
        found.push(n);
        if (found.length === 5) scatter(world.emulator, id, 1);
      }
      return found;
    };
    expect(await readOn('sorted1', ['/tenant'])).toEqual(USERS.map((_, n) => n));
    // ASM-E81: the client would ask for the old partition without end.
    await expect(readOn('sorted2', ['/tenant', '/user'])).rejects.toEqual(refused('query-lost'));
  });

  it('pages of several partitions have no order from one request to the next', async () => {
    const query = forTenant(notes, 'acme').query('SELECT VALUE c.n FROM c ORDER BY c.n', { maxItemCount: 5 });
    await expect(query.page()).rejects.toEqual(refused('query-unsupported'));
  });

  it('pages belong to one query of one tenant', async () => {
    const options = { maxItemCount: 5 };
    const query = 'SELECT * FROM c';
    const { continuation } = await forTenant(plain, 'acme').query(query, options).page();
    const others = [
      forTenant(plain, 'Acme').query(query, options),
      forTenant(notes, 'acme').query(query, options),
      forTenant(plain, 'acme').query('SELECT * FROM c WHERE true', options),
    ];
    for (const other of others) await expect(other.page(continuation)).rejects.toEqual(refused('continuation-invalid'));
    await expect(forTenant(plain, 'acme').query(query).page('x')).rejects.toEqual(refused('continuation-invalid'));
  });

  it('can’t be forged with the token of another tenant, and pass from process to process with a secret', async () => {
    const query = 'SELECT VALUE c.n FROM c ORDER BY c.n';
    const pageOf = (tenant: string, sealWith?: string, continuation?: string) =>
      forTenant(plain, tenant, { ...(sealWith !== undefined && { sealWith }) })
        .query<number>(query, { maxItemCount: 5 })
        .page(continuation);
    const [own = '', other = ''] = [
      (await pageOf('acme')).continuation?.split('.')[0],
      (await pageOf('Acme')).continuation?.split('.')[1],
    ];
    expect(other.length).toBeGreaterThan(0);
    await expect(pageOf('acme', undefined, `${own}.${other}`)).rejects.toEqual(refused('continuation-invalid'));
    const secret = 's'.repeat(32);
    const { items, continuation = '' } = await pageOf('acme', secret);
    const next = await pageOf('acme', secret, continuation);
    expect(Math.min(...next.items)).toBeGreaterThan(Math.max(...items));
    for (const sealWith of [undefined, 't'.repeat(32)])
      await expect(pageOf('acme', sealWith, continuation)).rejects.toEqual(refused('continuation-invalid'));
    expect(() => forTenant(plain, 'acme', { sealWith: 'short' })).toThrow(refused('option-invalid'));
  });
});

describe('requests that fail', () => {
  afterEach(() => world.emulator.faults(UNHELPFUL));
  const failing = (nth: number): void =>
    world.emulator.faults({ ...UNHELPFUL, rules: [{ operation: 'query', container: 'notes', nth, status: 408 }] });
  const reader = () => forTenant<Note>(notes, 'acme');

  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'requests that fail are repeated, and no result is lost: request %i',
    async (nth) => {
      for (const query of ['SELECT VALUE c.n FROM c', 'SELECT VALUE c.n FROM c ORDER BY c.n']) {
        failing(nth);
        expect(sorted(await reader().query<number>(query, { maxItemCount: 2 }).all())).toEqual(mine('acme'));
      }
    },
  );

  it('requests that fail end a reading that the client can’t resume, instead of its results', async () => {
    const query = reader().query<number>('SELECT VALUE c.n FROM c ORDER BY c.n', { maxItemCount: 2 });
    const found: number[] = [];
    const read = async (): Promise<void> => {
      for await (const n of query) {
        found.push(n);
        // ASM-E82: the client would go on with what it has, and end.
        if (found.length === 2) failing(1);
      }
    };
    await expect(read()).rejects.toMatchObject({ code: 'query-interrupted', retryable: true });
    expect(found).toEqual(mine('acme').slice(0, found.length));
    expect(found.length).toBeLessThan(USERS.length);
    expect(await query.all()).toEqual(mine('acme'));
  });

  it('requests that fail are not repeated after they were aborted', async () => {
    const abortSignal = AbortSignal.abort(new Error('enough'));
    await expect(reader().query('SELECT * FROM c', { abortSignal }).all()).rejects.toThrow('enough');
  });
});

describe('documents of Millrace', () => {
  it('documents of Millrace are hidden, unless they are asked for', async () => {
    const container = await several(world, 'views', ['/tenant']);
    const stored = [
      { id: 'a', type: 'day' },
      { id: 'b' },
      { id: 'c', type: 5, _mr: { rows: 2 } },
      { id: 'd', type: 'millrace.contribution' },
      { id: 'e', type: 'day', _mr: { rows: 0 } },
      { id: 'f', type: 'millrace.tombstone' },
      { id: 'g', type: 'millrace.pending' },
    ];
    for (const one of stored) await container.items.create({ ...one, tenant: 't' });
    const [reader, whole] = [forTenant(container, 't'), forTenant(container, 't', { withOwn: true })];
    const ids = 'SELECT VALUE c.id FROM c ORDER BY c.id';
    expect(await reader.query(ids).all()).toEqual(['a', 'b', 'c']);
    expect(await reader.query('SELECT VALUE COUNT(1) FROM c').all()).toEqual([3]);
    expect(await whole.query(ids).all()).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g']);
    for (const hidden of ['d', 'e', 'f', 'g']) expect(await reader.read(hidden)).toBeUndefined();
    const paged: string[] = [];
    for (let continuation: string | undefined; ;) {
      const page = await reader.query<string>(ids, { maxItemCount: 1 }).page(continuation);
      paged.push(...page.items);
      continuation = page.continuation;
      if (continuation === undefined) break;
    }
    expect(paged).toEqual(['a', 'b', 'c']);
    const either: unknown[] = [];
    for await (const id of reader.query("SELECT VALUE c.id FROM c WHERE c.id = 'a' OR c.id > 'c'")) either.push(id);
    expect(either).toEqual(['a']);
    expect(await whole.read('d')).toMatchObject({ id: 'd' });
  });
});

describe('refusals', () => {
  it.each([undefined, null, '', Number.NaN, Infinity, true, {}, [], ['a'], '\uD800', 'é'.repeat(1_025)])(
    'a tenant’s reader refuses %o as a tenant',
    (tenant) => {
      expect(() => forTenant(plain, tenant as string)).toThrow(refused('option-invalid'));
    },
  );

  it('a tenant’s reader refuses another field than the first of the key', async () => {
    const reader = forTenant(notes, 'acme', { field: 'user' });
    await expect(reader.query('SELECT * FROM c').all()).rejects.toEqual(refused('tenant-field-wrong'));
    await expect(reader.read('u1', 'u1')).rejects.toEqual(refused('tenant-field-wrong'));
    const missing = forTenant(notes.database.container('none'), 'acme');
    await expect(missing.query('SELECT * FROM c').all()).rejects.toEqual(refused('container-missing'));
  });

  it.each([
    { partitionKey: 'Acme' },
    { partitionKey: ['acme', 'u1'] },
    { forceQueryPlan: true },
    { enableQueryControl: true },
    { continuationToken: 'x' },
    { continuation: 'x' },
    { initialHeaders: { 'x-ms-documentdb-partitionkey': '["Acme"]' } },
    { partitionKeyRangeId: '0' },
    { epkRange: { min: '', max: 'FF' } },
    { useIncrementalFeed: true },
    { accessCondition: { type: 'IfNoneMatch', condition: '*' } },
  ])('a tenant’s reader refuses the option in %o', (option) => {
    const query = () => forTenant(plain, 'acme').query('SELECT * FROM c', option as FeedOptions);
    expect(query).toThrow(refused('option-invalid'));
  });

  it.each<string | SqlQuerySpec>([
    'SELECT * FROM c WHERE true) OR (true',
    'SELECT * FROM t IN c.tags',
    { query: 'SELECT * FROM c', parameters: [{ name: '@MillraceKey0', value: 'Acme' }] },
  ])('a tenant’s reader refuses the query %o', (query) => {
    expect(() => forTenant(plain, 'acme').query(query)).toThrow(refused('query-unsupported'));
  });

  it('a tenant’s reader refuses a document of another tenant, if one came', async () => {
    // The wire asks for another tenant than the client did.
    const inner = world.emulator.clientOptions.httpClient;
    const httpClient: typeof inner = {
      sendRequest: (request) => {
        const key = 'x-ms-documentdb-partitionkey';
        request.headers.set(key, (request.headers.get(key) ?? '').replace('acme', 'Acme'));
        if (typeof request.body === 'string') request.body = request.body.replaceAll('acme', 'Acme');
        return inner.sendRequest(request);
      },
    };
    const client = new CosmosClient({ ...world.emulator.clientOptions, httpClient });
    onTestFinished(() => client.dispose());
    const reader = forTenant(client.database('patterns').container('plain'), 'acme');
    await expect(reader.query('SELECT * FROM c').all()).rejects.toEqual(refused('other-tenant-answered'));
    await expect(reader.query('SELECT VALUE c FROM c').page()).rejects.toEqual(refused('other-tenant-answered'));
    await expect(reader.read('u3')).rejects.toEqual(refused('other-tenant-answered'));
    // A result that isn't a document is not compared.
    expect(await reader.query('SELECT TOP 1 VALUE c.tenant FROM c').all()).toEqual(['Acme']);
  });
});
