import { describe, expect, it } from 'vitest';
import { Meter } from '../../src/cosmos/budget/charge-meter.ts';
import { isInfrastructure } from '../../src/engine/isolate.ts';
import type { Fence } from '../../src/feed/tenure/fence.ts';
import { CosmosAccess } from '../../src/access/cosmos-access.ts';
import type { DocumentAccess, Write } from '../../src/access/document-access.ts';
import { clientOf, emulate, TWO_LEVELS } from '../emulator/emulate.ts';

const OPEN: Fence = { kind: 'host', tenure: {}, signal: new AbortController().signal, assert: () => undefined };
const KEY = ['a'];

async function sink(fence: Fence = OPEN) {
  const stage = await emulate();
  const meter = new Meter();
  const access: DocumentAccess = new CosmosAccess(stage.database, fence, meter);
  const etagOf = async (id: string): Promise<string> => (await access.read('c', KEY, [id]))[0]?._etag ?? '';
  const stored = async (): Promise<string[]> => {
    const { resources } = await stage.container.items.query<string>('SELECT VALUE c.id FROM c').fetchAll();
    return resources.toSorted();
  };
  return { ...stage, meter, access, etagOf, stored };
}

const create = (id: string, more: object = {}): Write => ({ op: 'create', id, body: { id, pk: 'a', ...more } });
const replace = (id: string, ifMatch: string, more: object = {}): Write => ({
  op: 'replace',
  id,
  ifMatch,
  body: { id, pk: 'a', ...more },
});

describe('reading', () => {
  it.each([0, 1, 3, 12])('%i documents come in the order asked for, absent ones as nothing', async (count) => {
    const { access, container } = await sink();
    const ids = Array.from({ length: count }, (_, n) => `d${n}`);
    for (const id of ids) await container.items.create({ id, pk: 'a', n: id });
    await container.items.create({ id: 'd0', pk: 'another', n: 'not this' });
    const asked = ['absent', ...ids.toReversed(), 'gone'];
    const found = await access.read('c', KEY, asked);
    expect(found.map((document) => document?.['n'])).toEqual([undefined, ...ids.toReversed(), undefined]);
    expect(found.every((document) => document === undefined || document._etag !== '')).toBe(true);
  });

  it('reading by a query stays within a key, or crosses them', async () => {
    const { access, container } = await sink();
    for (const pk of ['a', 'b']) for (let n = 0; n < 150; n++) await container.items.create({ id: `${pk}${n}`, pk, n });
    const sql = 'SELECT VALUE c.id FROM c WHERE c.n >= @from';
    expect(await access.query<string>('c', sql, { from: 20 }, ['b'])).toHaveLength(130);
    expect(await access.query<string>('c', sql, { from: 20 })).toHaveLength(260);
    expect(await access.query('c', 'SELECT * FROM c WHERE c.id = @id', { id: "o'brien" })).toEqual([]);
  });
});

describe('one write', () => {
  // The SDK then sends the part that gets nothing an empty request, which the service refuses.
  it('one write is never refused for a split: a repetition finds out', async () => {
    const { access, emulator, stored } = await sink();
    expect((await access.commit('c', KEY, [create('d')])).kind).toBe('done');
    emulator.split('d/c');
    expect((await access.commit('c', KEY, [create('e')])).kind).not.toBe('refused');
    emulator.split('d/c');
    expect(await access.read('c', KEY, ['e'])).toMatchObject([{ id: 'e' }]);
    expect(await stored()).toEqual(['d', 'e']);
  });

  it('one write of each kind is done under its condition, and its ETag is the next one’s', async () => {
    const { access, stored } = await sink();
    const made = await access.commit('c', KEY, [create('d', { n: 1 })]);
    if (made.kind !== 'done') throw new Error(made.kind);
    const changed = await access.commit('c', KEY, [replace('d', made.etags[0] ?? '', { n: 2 })]);
    if (changed.kind !== 'done') throw new Error(changed.kind);
    expect((await access.read('c', KEY, ['d']))[0]).toMatchObject({ n: 2, _etag: changed.etags[0] });
    const removed = await access.commit('c', KEY, [{ op: 'delete', id: 'd', ifMatch: changed.etags[0] ?? '' }]);
    expect(removed.kind).toBe('done');
    expect(await stored()).toEqual([]);
  });

  it('one write conflicts where its condition no longer holds, and changes nothing', async () => {
    const { access, container, etagOf } = await sink();
    await container.items.create({ id: 'd', pk: 'a', n: 1 });
    const old = await etagOf('d');
    await container.items.upsert({ id: 'd', pk: 'a', n: 2 });
    const late: Write[] = [
      create('d'),
      replace('d', old, { n: 3 }),
      { op: 'delete', id: 'd', ifMatch: old },
      replace('absent', old),
      { op: 'delete', id: 'absent', ifMatch: old },
    ];
    for (const write of late) expect(await access.commit('c', KEY, [write])).toEqual({ kind: 'conflict' });
    expect((await access.read('c', KEY, ['d']))[0]).toMatchObject({ n: 2 });
  });

  it('one write may be a patch under a predicate', async () => {
    const { access, container } = await sink();
    await container.items.create({ id: 'd', pk: 'a', lsn: 5 });
    const patch = (lsn: number): Write => ({
      op: 'patch',
      id: 'd',
      operations: [{ op: 'set', path: '/lsn', value: lsn }],
      where: `from c where c.lsn < ${lsn}`,
    });
    expect((await access.commit('c', KEY, [patch(7)])).kind).toBe('done');
    expect(await access.commit('c', KEY, [patch(6)])).toEqual({ kind: 'conflict' });
    expect((await access.read('c', KEY, ['d']))[0]).toMatchObject({ lsn: 7 });
  });

  it.each([
    ['too large', 'big', { pad: 'x'.repeat(2_100_000) }],
    ['of another key', 'd', { pk: 'b' }],
    ['with a time to live that isn’t valid', 'd', { ttl: -7 }],
  ])('one write that is %s is refused for good, and named', async (_what, id, more) => {
    const { access, stored } = await sink();
    expect(await access.commit('c', KEY, [create(id, more)])).toMatchObject({
      kind: 'refused',
      index: 0,
      why: expect.stringContaining('c') as string,
    });
    expect(await stored()).toEqual([]);
  });

  it('one write sent with others at the same time is judged by itself', async () => {
    const { access, stored, meter } = await sink();
    const all = Array.from({ length: 250 }, (_, n) =>
      access.commit('c', KEY, [create(`d${n % 200}`, n === 7 ? { ttl: -7 } : {})]),
    );
    const kinds = (await Promise.all(all)).map(({ kind }) => kind);
    expect(kinds[7]).toBe('refused');
    expect(kinds.filter((kind) => kind === 'conflict')).toHaveLength(49);
    expect(kinds.filter((kind) => kind === 'done')).toHaveLength(200);
    expect(await stored()).toHaveLength(200);
    expect(meter.writes).toBe(200);
  });
});

describe('several writes', () => {
  it('several writes are all done, with their ETags in their order', async () => {
    const { access, container, etagOf, stored, meter } = await sink();
    for (const id of ['old', 'gone']) await container.items.create({ id, pk: 'a' });
    const result = await access.commit('c', KEY, [
      create('new'),
      replace('old', await etagOf('old'), { n: 1 }),
      { op: 'delete', id: 'gone', ifMatch: await etagOf('gone') },
    ]);
    expect(result).toEqual({ kind: 'done', etags: [await etagOf('new'), await etagOf('old'), ''] });
    expect(await stored()).toEqual(['new', 'old']);
    expect(meter.writes).toBe(3);
  });

  it('several writes are all left undone where one conflicts', async () => {
    const { access, container, etagOf, stored } = await sink();
    for (const id of ['there', 'other']) await container.items.create({ id, pk: 'a', n: 0 });
    const etag = await etagOf('other');
    const batches: Write[][] = [
      [create('x'), create('there')],
      [create('x'), replace('other', '"stale"')],
      [replace('other', etag, { n: 1 }), { op: 'delete', id: 'there', ifMatch: '"stale"' }],
    ];
    for (const writes of batches) expect(await access.commit('c', KEY, writes)).toEqual({ kind: 'conflict' });
    expect(await stored()).toEqual(['other', 'there']);
    expect(await etagOf('other')).toBe(etag);
  });

  it('several writes are all left undone where one is refused, and that one is named', async () => {
    const { access, stored } = await sink();
    const result = await access.commit('c', KEY, [create('x'), create('y'), create('bad', { ttl: -7 })]);
    expect(result).toMatchObject({ kind: 'refused', index: 2, why: expect.stringContaining('bad') as string });
    expect(await stored()).toEqual([]);
  });

  it('several writes may be a hundred, under a key of several levels', async () => {
    const { database } = await emulate({ partitionKey: TWO_LEVELS });
    const access = new CosmosAccess(database, OPEN, new Meter());
    const writes = Array.from({ length: 100 }, (_, n): Write => ({
      op: 'create',
      id: `d${n}`,
      body: { id: `d${n}`, t: 't', u: 1 },
    }));
    expect((await access.commit('c', ['t', 1], writes)).kind).toBe('done');
    expect(await access.read('c', ['t', 1], ['d0', 'd99', 'd100'])).toMatchObject([
      { id: 'd0' },
      { id: 'd99' },
      undefined,
    ]);
  });
});

describe('trouble', () => {
  it.each([1, 2])(
    'trouble that is a full logical partition refuses %i writes for good, and others not',
    async (count) => {
      const { access, emulator, stored } = await sink();
      emulator.faults({ rules: [{ container: 'c', operation: 'batch', status: 403, substatus: 1014 }] });
      const writes = Array.from({ length: count }, (_, n) => create(`d${n}`));
      expect(await access.commit('c', KEY, writes)).toMatchObject({ kind: 'refused', index: 0 });
      emulator.faults({ rules: [{ container: 'c', operation: 'batch', status: 403, substatus: 5301 }] });
      await expect(access.commit('c', KEY, writes)).rejects.toMatchObject({
        code: 'denied',
        retryable: true,
      });
      emulator.faults({});
      expect(await stored()).toEqual([]);
    },
  );

  it('trouble that is throttling never surfaces', async () => {
    const { access, emulator, meter } = await sink();
    emulator.faults({ throttle: 0.6 });
    const ids = Array.from({ length: 20 }, (_, n) => `d${n}`);
    for (const id of ids) expect((await access.commit('c', KEY, [create(id)])).kind).toBe('done');
    expect((await access.commit('c', KEY, [create('e'), create('f')])).kind).toBe('done');
    expect((await access.read('c', KEY, ids)).every((document) => document !== undefined)).toBe(true);
    expect(meter.throttled).toBeGreaterThan(0);
  });

  it.each([1, 2])('trouble that loses the answer to %i writes is a conflict: a repetition finds out', async (count) => {
    const { access, emulator, stored } = await sink();
    const writes = Array.from({ length: count }, (_, n) => create(`d${n}`));
    emulator.faults({ failAfterEffect: 1 });
    expect(await access.commit('c', KEY, writes)).toEqual({ kind: 'conflict' });
    emulator.faults({});
    expect(await stored()).toHaveLength(count);
  });

  it('trouble before the effect is a conflict or over, never a loss', async () => {
    const { access, emulator, stored } = await sink();
    emulator.faults({ failBefore: 0.5 });
    const done: string[] = [];
    for (let n = 0; n < 20; n++) {
      const { kind } = await access.commit('c', KEY, [create(`d${n}`)]);
      if (kind === 'done') done.push(`d${n}`);
    }
    emulator.faults({});
    expect(await stored()).toEqual(done.toSorted());
  });

  it.each(['container', 'database'])(
    'trouble with a %s that is not there is no answer about a document',
    async (what) => {
      const { emulator } = await sink();
      const database = clientOf(emulator).database(what === 'database' ? 'none' : 'd');
      const access = new CosmosAccess(database, OPEN, new Meter());
      await expect(access.commit('none', KEY, [create('x'), create('y')])).rejects.toSatisfy(isInfrastructure);
      await expect(access.commit('none', KEY, [create('x')])).rejects.toSatisfy(isInfrastructure);
      await expect(access.query('none', 'SELECT * FROM c', {})).rejects.toSatisfy(isInfrastructure);
    },
  );
});

describe('a fence', () => {
  const shut = (): { fence: Fence; shut: () => void } => {
    let open = true;
    const stop = new AbortController();
    const lost = new Error('lease lost');
    const assert = (): void => {
      if (!open) throw lost;
    };
    return {
      fence: { kind: 'lease', tenure: {}, signal: stop.signal, assert },
      shut: () => {
        open = false;
        stop.abort(lost);
      },
    };
  };

  it('a fence that is shut keeps every request from being sent', async () => {
    const { fence, shut: close } = shut();
    const { access, stored, emulator } = await sink(fence);
    expect((await access.commit('c', KEY, [create('before')])).kind).toBe('done');
    close();
    const before = JSON.stringify(emulator.stats().requests);
    await expect(access.commit('c', KEY, [create('x')])).rejects.toThrow('lease lost');
    await expect(access.commit('c', KEY, [create('x'), create('y')])).rejects.toThrow('lease lost');
    await expect(access.read('c', KEY, ['x'])).rejects.toThrow('lease lost');
    await expect(access.query('c', 'SELECT * FROM c', {}, KEY)).rejects.toThrow('lease lost');
    expect(JSON.stringify(emulator.stats().requests)).toBe(before);
    expect(await stored()).toEqual(['before']);
  });

  it('a fence that shuts while a write waits to be repeated ends the waiting', async () => {
    const { fence, shut: close } = shut();
    const { access, emulator, stored } = await sink(fence);
    emulator.faults({ throttle: 1 });
    const commits = [access.commit('c', KEY, [create('x')]), access.commit('c', KEY, [create('y'), create('z')])];
    const settled = Promise.allSettled(commits);
    close();
    for (const result of await settled)
      expect(result).toMatchObject({ status: 'rejected', reason: { message: 'lease lost' } });
    emulator.faults({});
    expect(await stored()).toEqual([]);
  });
});
