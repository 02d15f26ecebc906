// Sweeps and restores beside an erasure, on the embedded server. ERASE-S5.
import { expect, it } from 'vitest';
import { restoreArchive } from '../../src/archive/restore.ts';
import type { Erased } from '../../src/engine/erasures/watch.ts';
import { OPEN, SIGNAL, archiveStage, order, RECORD, TENANT } from './stage.ts';

/** An archive whose documents belong to tenants, and the record of `gone`, which stands when the test says so. */
async function stageOfTenants() {
  const stage = await archiveStage();
  const archive = { ...stage.archive, source: { ...stage.archive.source, tenant: TENANT } };
  const state = { stands: false, readings: 0 };
  const erased = async (): Promise<Erased> => {
    state.readings += 1;
    return (tenant) => (state.stands && tenant === 'gone' ? RECORD : undefined);
  };
  for (const tenant of ['gone', 'stays'])
    for (const id of ['a', 'b']) await stage.orders.items.create(order(`${tenant}-${id}`, { tenant }));
  const blobs = async (): Promise<string[]> => {
    const names: string[] = [];
    for await (const name of archive.store.list('')) names.push(name);
    return names.filter((name) => name.includes('gone'));
  };
  return { ...stage, archive, state, erased, blobs };
}

it('a sweep leaves the documents of the tenant alone, also if the record comes while it runs', async () => {
  const stage = await stageOfTenants();
  const { archive, state, erased, blobs } = stage;
  // Between reading the documents and archiving them.
  const gate = (): Promise<typeof OPEN> => {
    state.stands = true;
    return Promise.resolve(OPEN);
  };
  expect(await stage.sweep({ erased, gate }, archive)).toMatchObject({ archived: 2, removed: 2, erased: 2, held: 0 });
  expect([await stage.hot(), await blobs()]).toEqual([['gone-a', 'gone-b'], []]);
  state.stands = false;
  expect(await stage.sweep({ erased }, archive)).toMatchObject({ archived: 2, removed: 2, erased: 0 });
});

it('a restore leaves them in the archive, and those of others come back', async () => {
  const stage = await stageOfTenants();
  const { archive, state, erased } = stage;
  await stage.sweep({}, archive);
  state.stands = true;
  const options = { signal: SIGNAL, erased };
  expect(await restoreArchive(archive, {}, options)).toMatchObject({ restored: 2, erased: 2, skipped: 0 });
  expect(await stage.hot()).toEqual(['stays-a', 'stays-b']);
});

it('a restore that has put its placeholder looks again before it writes the document', async () => {
  const stage = await stageOfTenants();
  const { archive, state, erased } = stage;
  await stage.sweep({}, archive);
  const watched = async (): Promise<Erased> => {
    state.stands = state.readings > 0;
    return erased();
  };
  const document = { key: ['gone'], id: 'gone-a' };
  const options = { signal: SIGNAL, erased: watched };
  expect(await restoreArchive(archive, { documents: [document] }, options)).toMatchObject({ restored: 0, erased: 1 });
  expect([await stage.hot(), state.readings]).toEqual([[], 2]);
});
