import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Doc, EmbedSpec } from '../../src/pipeline/specs.ts';
import { type SourceContainer, toChange } from '../../src/feed/reading/mapper.ts';
import type { Change } from '../../src/feed/reading/change.ts';
import { MARKS } from '../../src/engine/runners.ts';
import { movedOwn } from '../../src/kinds/moved.ts';
import { embedRunner } from '../../src/kinds/embed/embed-runner.ts';
import { Poison, type Runner } from '../../src/kinds/runner.ts';
import type { DocumentAccess } from '../../src/access/document-access.ts';
import { bound } from '../support/access.ts';
import { type TwoHosts, openTwoHosts } from './two-hosts.ts';

const deleted = (doc: Doc): boolean => doc['gone'] === true;
const source = (name: string, type: string): SourceContainer => ({
  name,
  keyPaths: [['tenant']],
  types: new Map([[type, { deleted }]]),
});
const PARENTS = source('Parents', 'parent');
const CHILDREN = source('Children', 'child');
const SPEC: EmbedSpec = {
  kind: 'embed',
  name: 'names',
  version: 1,
  from: { container: 'Parents', type: 'parent' },
  into: { container: 'Children', type: 'child' },
  on: { tenant: 'tenant', id: 'parent' },
  onDelete: 'remove',
  set: { name: ({ name }) => name },
};

let hosts: TwoHosts;
beforeAll(async () => {
  hosts = await openTwoHosts({ Parents: '/tenant', Children: '/tenant' });
});
afterEach(() => {
  vi.useRealTimers();
  hosts.emulator.faults({});
});
afterAll(() => hosts[Symbol.asyncDispose]());

const runner = (spec: EmbedSpec = SPEC, readLagMs = 0, childTtl?: number): Runner =>
  embedRunner(spec, {
    stateContainer: 'millrace',
    sources: new Map([PARENTS, CHILDREN].map((of) => [of.name, of])),
    readLagMs,
    childTtl,
  });
const parent = (tenant: string, name: string, more: Doc = {}): Promise<Change> =>
  hosts.write(PARENTS, { id: 'p', type: 'parent', tenant, name, ...more });
const child = (tenant: string, id: string, more: Doc = {}): Promise<Change> =>
  hosts.write(CHILDREN, { id, type: 'child', tenant, parent: 'p', ...more });
const stored = (tenant: string, id: string): Promise<Doc | undefined> => hosts.read('Children', id, tenant);

/** Until nothing is left, as a host does. */
async function finish(one: Runner, access: DocumentAccess): Promise<void> {
  const outcome = await one.resume?.(access);
  if (outcome?.idle === false) await finish(one, access);
}

async function refusals(work: Promise<unknown>): Promise<string[]> {
  try {
    await work;
    return [];
  } catch (error) {
    if (!(error instanceof Poison)) throw error;
    return error.refusals.map(({ change, error: { code, message } }) => `${change.id} ${code}: ${message}`);
  }
}

describe('a child that changed', () => {
  it('a child that changed is looked at again where an answer was long under way and too old', async () => {
    const one = runner(SPEC, 20);
    await one.apply([await parent('slow', 'new')], hosts.access(0));
    await child('slow', 'c');
    const before = await hosts.access(0).read('Children', ['slow'], ['c']);
    const changed = await child('slow', 'c', { note: 1 });
    const access = hosts.access(1);
    let asked = 0;
    const slow: DocumentAccess = {
      ...bound(access),
      read: async (container, ...of) => {
        if (container !== 'Children' || ++asked > 1) return access.read(container, ...of);
        await delay(40);
        return before;
      },
    };
    await one.apply([changed], slow);
    expect(await stored('slow', 'c')).toMatchObject({ name: 'new', note: 1 });
  });
});

describe("a parent's change", () => {
  it("a parent's change asks for no child where no field changed that it tells them, and for all where it did", async () => {
    const one = runner();
    await child('quiet', 'c');
    await one.apply([await parent('quiet', 'n', { stock: 1 })], hosts.access(0));
    await finish(one, hosts.access(0));
    const access = hosts.access(0);
    let queries = 0;
    const counted: DocumentAccess = {
      ...bound(access),
      query: (...of) => {
        queries += 1;
        return access.query(...of);
      },
    };
    await one.apply([await parent('quiet', 'n', { stock: 2 })], counted);
    expect(queries).toBe(0);
    await one.apply([await parent('quiet', 'm', { stock: 2 })], counted);
    expect(queries).toBeGreaterThan(0);
    expect(await stored('quiet', 'c')).toMatchObject({ name: 'm' });
  });
});

describe('the second pass', () => {
  it('the second pass sees the children that the first one and their own changes missed, since both read too old', async () => {
    hosts.emulator.faults({ replicaLagMs: 300 });
    const [forParents, forChildren] = [runner(SPEC, 400), runner(SPEC, 400)];
    const missed: string[] = [];
    for (let at = 0; missed.length < 3 && at < 60; at++) {
      const tenant = `late-${at}`;
      const [told, born] = await Promise.all([parent(tenant, 'new'), child(tenant, 'c')]);
      await Promise.all([forParents.apply([told], hosts.access(0)), forChildren.apply([born], hosts.access(1))]);
      if ((await stored(tenant, 'c'))?.['name'] === undefined) missed.push(tenant);
    }
    expect(missed).not.toEqual([]);
    await finish(forParents, hosts.access(0));
    for (const tenant of missed) expect(await stored(tenant, 'c')).toMatchObject({ name: 'new' });
  });
});

describe('more children than a page has time for', () => {
  it('more children than a page has time for are left to resume, which another host goes on with where the first one ended', async () => {
    const container = hosts.database.container('Children');
    for (let at = 0; at < 1_200; at += 100) {
      const creates = Array.from({ length: 100 }, (_, n) => ({
        operationType: 'Create' as const,
        resourceBody: { id: `c${String(at + n).padStart(4, '0')}`, type: 'child', tenant: 'many', parent: 'p' },
      }));
      await container.items.batch(creates, 'many');
    }
    const count = async (): Promise<number> => {
      const sql = `SELECT VALUE COUNT(1) FROM c WHERE c.tenant = 'many' AND c.name = 'n'`;
      return (await container.items.query<number>(sql).fetchAll()).resources[0] ?? 0;
    };
    await runner().apply([await parent('many', 'n')], hosts.access(0));
    expect(await count()).toBe(500);
    // A host that never saw the change, and that has an older state of it to go on with: only the container knows.
    const other = runner();
    await other.resume?.(hosts.access(1));
    expect(await count()).toBe(1_000);
    await finish(other, hosts.access(1));
    expect(await count()).toBe(1_200);
    expect(await runner().resume?.(hosts.access(0))).toEqual({ idle: true, refusals: [] });
  });

  it('children of a tenant that is erased get nothing more, and its work is given up', async () => {
    const parents = { ...PARENTS, tenant: { field: 'tenant', of: ({ tenant }: Doc) => String(tenant) } };
    const one = embedRunner(
      { ...SPEC, name: 'given-up' },
      { stateContainer: 'millrace', sources: new Map([parents, CHILDREN].map((of) => [of.name, of])), readLagMs: 20 },
    );
    const isErased = (tenant: string | undefined): boolean => tenant === 'erased';
    vi.useFakeTimers({ toFake: ['performance'] });
    for (const tenant of ['erased', 'kept']) {
      await one.apply([await parent(tenant, 'n')], hosts.access(0));
      // The page has left work: a child that its queries may not have seen.
      await child(tenant, 'late');
    }
    vi.advanceTimersByTime(1_000);
    expect(await one.resume?.(hosts.access(0), isErased)).toEqual({ idle: true, refusals: [] });
    expect(await stored('kept', 'late')).toMatchObject({ name: 'n' });
    expect(await stored('erased', 'late')).not.toHaveProperty('name');
  });

  it('more children than a page has time for begin again when the parent changes meanwhile', async () => {
    const one = runner();
    await one.apply([await parent('many', 'm')], hosts.access(0));
    await one.apply([await parent('many', 'o')], hosts.access(0));
    await finish(one, hosts.access(0));
    const sql = `SELECT DISTINCT VALUE c.name FROM c WHERE c.tenant = 'many'`;
    const { resources } = await hosts.database.container('Children').items.query<string>(sql).fetchAll();
    expect(resources).toEqual(['o']);
  });
});

describe('a child', () => {
  it('a child keeps what is left of its time to live, its own or its container’s', async () => {
    const [own, theirs] = [runner(), runner({ ...SPEC, name: 'others' }, 0, 500)];
    const change = await parent('ttl', 'n');
    await child('ttl', 'a', { ttl: 1_000 });
    await child('ttl', 'b', { ttl: -1 });
    await child('ttl', 'c');
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 300_000 });
    await own.apply([change], hosts.access(0));
    const [a, b] = [await stored('ttl', 'a'), await stored('ttl', 'b')];
    expect([a?.['name'], b?.['name'], b?.['ttl']]).toEqual(['n', 'n', -1]);
    expect(Number(a?.['ttl'])).toBeGreaterThan(650);
    expect(Number(a?.['ttl'])).toBeLessThanOrEqual(700);
    await theirs.apply([await parent('ttl', 'o')], hosts.access(0));
    const c = await stored('ttl', 'c');
    expect(c?.['name']).toBe('o');
    expect(Number(c?.['ttl'])).toBeLessThanOrEqual(500);
  });

  it('a child loses the fields with its parent where that is declared, and only those', async () => {
    const one = runner();
    await child('gone', 'a', { note: 'mine' });
    await one.apply([await parent('gone', 'n')], hosts.access(0));
    expect(await stored('gone', 'a')).toMatchObject({ name: 'n', note: 'mine' });
    await one.apply([await parent('gone', 'n', { gone: true })], hosts.access(0));
    const left = await stored('gone', 'a');
    expect([left?.['note'], left && 'name' in left]).toEqual(['mine', false]);
  });

  it('a child that a move wrote is left alone until its keys have moved, and keeps the mark of the move', async () => {
    const one = runner();
    await one.apply([await parent('moved', 'new')], hosts.access(0));
    const content = { id: 'c', type: 'child', tenant: 'moved', parent: 'p' };
    const write = (mark: object) => child('moved', 'c', { _mr: movedOwn(undefined, mark, content) });
    for (const work of [
      async () => one.apply([await write({ epoch: 1, lsn: 5, ahead: true })], hosts.access(0)),
      () => finish(one, hosts.access(0)),
    ]) {
      await work();
      expect(await stored('moved', 'c')).not.toHaveProperty('name');
    }
    await one.apply([await write({ rid: 'r', lsn: 5 })], hosts.access(0));
    const written = await stored('moved', 'c');
    expect(written).toMatchObject({ name: 'new', _mr: { moved: { rid: 'r', echo: true } } });
    const seen = toChange({ ...CHILDREN, marks: MARKS }, { ...written, _lsn: 9 }, 3);
    expect(seen).toMatchObject({ echo: true, version: { epoch: 3, lsn: 9 } });
    expect(seen).not.toHaveProperty('moved');
  });

  it('a child keeps its fields when a move takes its parent away, and gets none of it when it comes back first', async () => {
    const one = runner();
    const there = await parent('away', 'new');
    await one.apply([there, await child('away', 'c')], hosts.access(0));
    await finish(one, hosts.access(0));
    const gone = {
      ...there,
      op: 'delete',
      moved: true,
      gone: true,
      version: { ...there.version, lsn: there.version.lsn + 1, etag: 'm' },
    } as const;
    await one.apply([gone], hosts.access(0));
    await finish(one, hosts.access(0));
    expect(await stored('away', 'c')).toMatchObject({ name: 'new' });
    await one.apply([await child('away', 'c')], hosts.access(0));
    expect(await stored('away', 'c')).not.toHaveProperty('name');
    await child('away', 'c', { name: 'as it was' });
    await one.apply([await child('away', 'c', { name: 'as it was', note: 1 })], hosts.access(0));
    expect(await stored('away', 'c')).toMatchObject({ name: 'as it was' });
    const back = await parent('away', 'later');
    await one.apply([{ ...back, version: { ...back.version, epoch: 9 } }], hosts.access(0));
    await finish(one, hosts.access(0));
    expect(await stored('away', 'c')).toMatchObject({ name: 'later' });
  });

  it('a child is written whole where a patch has too few operations, and keeps what other embeds noted', async () => {
    const fields = Array.from({ length: 12 }, (_, at) => [`f${at}`, ({ name }: Doc) => name] as const);
    const wide = runner({ ...SPEC, name: 'wide', set: Object.fromEntries(fields) });
    await child('wide', 'a');
    await runner().apply([await parent('wide', 'n')], hosts.access(0));
    await wide.apply([await parent('wide', 'o')], hosts.access(0));
    const found = await stored('wide', 'a');
    expect(found).toMatchObject({ name: 'n', f0: 'o', f11: 'o' });
    expect(Object.keys(found?.['_mr'] as object).toSorted()).toEqual(['names@1', 'wide@1']);
  });

  it('a child is not written again and again by functions that don’t always return the same', async () => {
    let made = 0;
    const spec = { ...SPEC, name: 'restless', set: { name: () => `n${(made += 1)}` } };
    const one = runner(spec);
    await child('restless', 'a');
    await one.apply([await parent('restless', 'x')], hosts.access(0));
    const { _etag: first, ...doc } = (await stored('restless', 'a')) ?? {};
    const echo = { ...doc, _etag: first, _lsn: 1_000_000 };
    const change = toChange(CHILDREN, echo, 1);
    await one.apply(change ? [change] : [], hosts.access(0));
    expect((await stored('restless', 'a'))?.['_etag']).toBe(first);
  });

  it('a child that can’t take the fields is told with its parent, and the others are written', async () => {
    const spec = {
      ...SPEC,
      name: 'picky',
      set: {
        name: (of: Doc, to: Doc) => {
          if (to['picky'] === true) throw new TypeError('no such field');
          return of['name'];
        },
      },
    };
    await child('picky', 'a', { picky: true });
    await child('picky', 'b');
    expect(await refusals(runner(spec).apply([await parent('picky', 'n')], hosts.access(0)))).toEqual([
      `p projection-threw: Child a can't take the fields: no such field`,
    ]);
    expect(await stored('picky', 'b')).toMatchObject({ name: 'n' });
    const born = await child('picky', 'c', { picky: true });
    expect(await refusals(runner(spec).apply([born], hosts.access(0)))).toEqual(['c projection-threw: no such field']);
  });

  it('a child that would be over 2 MB is refused with its size and what makes it so', async () => {
    await child('large', 'a', { text: 'x'.repeat(1_500_000) });
    const [why] = await refusals(runner().apply([await parent('large', 'y'.repeat(700_000))], hosts.access(0)));
    expect(why).toMatch(/^p too-large: Child a .*has 2,2\d\d,\d{3} bytes.*\/text is its largest part/);
  });
});
