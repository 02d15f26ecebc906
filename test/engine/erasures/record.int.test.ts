// The records of erasures, on the embedded server. ERASE-S1.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ErasureRecords, erasing } from '../../../src/engine/erasures/record.ts';
import { type Stage, openStage } from '../../support/stage.ts';

const NOW = Date.parse('2026-03-01T00:00:00Z');

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

const recordsOf = (pipeline: string): ErasureRecords => new ErasureRecords(stage.services.place.state, pipeline);

describe('the records of erasures', () => {
  test('the records of erasures hold a tenant by a digest, and never by its id', async () => {
    const records = recordsOf('digest');
    expect(await records.read()).toEqual([]);
    const record = await records.begin('store-4711', NOW);
    expect(record).toMatchObject({ state: 'stopping', at: '2026-03-01T00:00:00.000Z' });
    const { resource } = await stage.services.place.state.item('digest', 'erasures').read<object>();
    expect(JSON.stringify(resource)).not.toContain('4711');
    const stored = await records.read();
    expect(erasing(stored, 'store-4711')).toEqual(record);
    expect(erasing(stored, 'store-471')).toBeUndefined();
  });

  test('the records of erasures keep one record for a tenant, whichever process begins, at once or again', async () => {
    const all = ['a', 'b', 'a', 'c', 'a', 'b'];
    const begun = await Promise.all(all.map((tenant) => recordsOf('once').begin(tenant, NOW)));
    const stored = await recordsOf('once').read();
    expect(stored).toHaveLength(3);
    expect(begun).toEqual(all.map((tenant) => erasing(stored, tenant)));
    await recordsOf('once').update(begun[0]?.id ?? '', (record) => ({ ...record, state: 'erased' }));
    expect(await recordsOf('once').begin('a', NOW + 1)).toMatchObject({ id: begun[0]?.id, state: 'erased' });
  });

  test('the records of erasures are changed and removed one by one, and a removed record isn’t changed', async () => {
    const records = recordsOf('changed');
    const [a, b] = [await records.begin('a', NOW), await records.begin('b', NOW)];
    const added = ['first', 'second', 'third', 'fourth'];
    const add = (word: string) => records.update(a.id, (record) => ({ ...record, at: `${record.at} ${word}` }));
    await Promise.all(added.map(add));
    expect((await records.read())[0]?.at.split(' ').slice(1).toSorted()).toEqual(added.toSorted());
    expect([await records.remove(a.id), await records.remove(a.id)]).toEqual([true, false]);
    await expect(add('fifth')).rejects.toMatchObject({ code: 'erasure-gone' });
    expect(await records.read()).toEqual([b]);
  });

  test('the records of erasures are refused when their document is full, and those that stand stay', async () => {
    const records = recordsOf('full');
    const { id } = await records.begin('a', NOW);
    await records.update(id, (record) => ({ ...record, at: 'x'.repeat(1_000_000) }));
    await expect(records.begin('b', NOW)).rejects.toMatchObject({ code: 'erasures-full' });
    expect(await records.begin('a', NOW)).toMatchObject({ id });
  });
});
