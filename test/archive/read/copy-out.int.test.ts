// Copies of archived documents in another container. ARC-H25 to ARC-H27.
import { expect, it } from 'vitest';
import { copyArchive } from '../../../src/archive/read/copy-out.ts';
import { restoreArchive } from '../../../src/archive/restore.ts';
import type { Archive } from '../../../src/archive/types.ts';
import { verifyArchive } from '../../../src/archive/verify.ts';
import { withoutSystemFields } from '../../../src/cosmos/system-fields.ts';
import type { Doc } from '../../../src/pipeline/specs.ts';
import { OPEN, SIGNAL, archiveStage, order } from '../stage.ts';

const INTO = { into: 'Copies', replace: false, signal: SIGNAL };

/** Orders `o0`, `o1` … that are archived, and an empty container. */
async function copyStage(orders: number) {
  const stage = await archiveStage();
  const { container } = await stage.database.containers.create({ id: 'Copies', partitionKey: { paths: ['/tenant'] } });
  for (let n = 0; n < orders; n++)
    await stage.orders.items.create(order(`o${n}`, { cents: n, date: `2000-0${1 + n}-05` }));
  await stage.sweep();
  const all = async (name = 'Copies'): Promise<Doc[]> => {
    const query = stage.database.container(name).items.query<Doc>('SELECT * FROM c ORDER BY c.id');
    return (await query.fetchAll()).resources;
  };
  const etags = async (name: string): Promise<unknown[]> => (await all(name)).map(({ _etag }) => _etag);
  return { ...stage, container, all, etags };
}

it('a copy out of the archive copies documents as they were, and nothing of the archive changes', async () => {
  const stage = await copyStage(3);
  const { archive, all, etags, container } = stage;
  const entries = await etags('millrace');
  expect(entries).toHaveLength(3);
  const months = await copyArchive(archive, { from: '2000-02', to: '2000-02' }, INTO);
  expect(months).toMatchObject({ into: 'Copies', copied: 1, skipped: 0, differ: 0 });
  expect((await all()).map(withoutSystemFields)).toEqual([order('o1', { cents: 1, date: '2000-02-05' })]);
  const named = {
    documents: [
      { key: ['t'], id: 'o0' },
      { key: ['t'], id: 'never' },
    ],
  };
  expect(await copyArchive(archive, named, INTO)).toMatchObject({ copied: 1, skipped: 1 });
  expect(await copyArchive(archive, {}, INTO)).toMatchObject({ copied: 1, skipped: 2 });
  expect(await stage.hot()).toEqual([]);
  expect(await etags('millrace')).toEqual(entries);
  expect(await verifyArchive(archive, { signal: SIGNAL })).toMatchObject({ archived: 3, faults: [] });
  // What is there as it was archived isn't written again, with --replace neither.
  const before = await etags('Copies');
  expect(await copyArchive(archive, {}, { ...INTO, replace: true })).toMatchObject({ skipped: 3, replaced: 0 });
  expect(await etags('Copies')).toEqual(before);
  await container.item('o2', 't').delete();
  expect(await copyArchive(archive, {}, INTO)).toMatchObject({ copied: 1, skipped: 2 });
});

it('a copy out of the archive writes over another version only with replace', async () => {
  const { archive, all, container } = await copyStage(2);
  await container.items.create(order('o1', { cents: 77 }));
  expect(await copyArchive(archive, {}, INTO)).toMatchObject({
    copied: 1,
    replaced: 0,
    differ: 1,
    different: ['Copies/["t"]/o1'],
  });
  expect((await all()).map(({ cents }) => cents)).toEqual([0, 77]);
  expect(await copyArchive(archive, {}, { ...INTO, replace: true })).toMatchObject({
    skipped: 1,
    replaced: 1,
    differ: 0,
  });
  expect((await all()).map(({ cents }) => cents)).toEqual([0, 1]);
});

it('a copy out of the archive copies no line that no entry names any more', async () => {
  const stage = await copyStage(2);
  const { archive, all, orders } = stage;
  await restoreArchive(archive, { documents: [{ key: ['t'], id: 'o0' }] }, { signal: SIGNAL });
  await orders.items.upsert(order('o0', { cents: 500 }));
  await stage.live();
  expect(await copyArchive(archive, {}, INTO)).toMatchObject({ copied: 1 });
  expect((await all()).map(({ id }) => id)).toEqual(['o1']);
});

it('a copy out of the archive takes no mark of an earlier restore along', async () => {
  const stage = await copyStage(1);
  const { archive, all, orders } = stage;
  await restoreArchive(archive, {}, { signal: SIGNAL });
  const { resource } = await orders.item('o0', 't').read<Doc>();
  // A writer that keeps what it read.
  await orders.items.upsert({ ...resource, cents: 9 });
  await stage.live();
  expect(await stage.sweep()).toMatchObject({ archived: 1 });
  expect(await copyArchive(archive, {}, INTO)).toMatchObject({ copied: 1 });
  expect((await all()).map(withoutSystemFields)).toEqual([order('o0', { cents: 9, date: '2000-01-05' })]);
  expect(await copyArchive(archive, {}, INTO)).toMatchObject({ skipped: 1 });
});

it('a copy out of the archive leaves the documents of a tenant that is erased, and looks again before it writes over another', async () => {
  const stage = await copyStage(0);
  const { archive: of, orders, container, all } = stage;
  const tenant = { field: 'tenant', of: (doc: Record<string, unknown>): string => String(doc['tenant']) };
  const archive = { ...of, source: { ...of.source, tenant } };
  for (const name of ['gone', 'stays']) await orders.items.create(order(name, { tenant: name }));
  await stage.sweep({ gate: async () => OPEN }, archive);
  const record = { id: 'r', salt: 's', digest: 'd', at: '2026-01-01T00:00:00Z', state: 'stopping' } as const;
  const erased = async () => (name: string | undefined) => (name === 'gone' ? record : undefined);
  expect(await copyArchive(archive, {}, { ...INTO, erased })).toMatchObject({ copied: 1, erased: 1 });
  expect((await all()).map(({ id }) => id)).toEqual(['stays']);
  await container.items.create(order('gone', { tenant: 'gone', cents: 2 }));
  // Another writer is faster at the first try, and the record has come since.
  let looks = 0;
  const late = async () => {
    looks += 1;
    return (name: string | undefined) => (name === 'gone' && looks > 1 ? record : undefined);
  };
  const racing: Archive = {
    ...archive,
    access: (fence) => {
      const access = archive.access(fence);
      return {
        fence: access.fence,
        query: (...given) => access.query(...given),
        commit: (...given) => access.commit(...given),
        read: async (name, ...given) => {
          const found = await access.read(name, ...given);
          if (name === 'Copies')
            await container.item('gone', 'gone').replace(order('gone', { tenant: 'gone', cents: 4 }));
          return found;
        },
      };
    },
  };
  const one = { documents: [{ key: ['gone'], id: 'gone' }] };
  expect(await copyArchive(racing, one, { ...INTO, replace: true, erased: late })).toMatchObject({
    erased: 1,
    replaced: 0,
  });
  expect([(await all()).map(({ cents }) => cents), looks]).toEqual([[4, 1], 2]);
});

it('stopped at any request and run again, it copies each document', async () => {
  const { archive, all, container } = await copyStage(4);
  let stopped = 0;
  for (const effect of ['before', 'after'] as const) {
    for (let nth = 1, ended = false; !ended; nth++) {
      for (const { id } of await all()) await container.item(String(id), 't').delete();
      ended = await copyArchive(dying(archive, nth, effect), {}, INTO).then(
        () => true,
        () => false,
      );
      stopped += ended ? 0 : 1;
      expect(await copyArchive(archive, {}, INTO)).toMatchObject({ differ: 0 });
      expect((await all()).map(({ id }) => id)).toEqual(['o0', 'o1', 'o2', 'o3']);
    }
  }
  // Of each document an entry, a look and a write; and one query for the blobs that entries name.
  expect(stopped).toBe(2 * (3 * 4 + 1));
});

it('a copy out of the archive counts a document as copied whose answer was lost', async () => {
  const { archive, all, emulator } = await copyStage(1);
  emulator.faults({ rules: [{ container: 'Copies', operation: 'batch', nth: 2, status: 'reset', effect: 'after' }] });
  expect(await copyArchive(archive, {}, INTO)).toMatchObject({ copied: 1, skipped: 0, differ: 0 });
  expect(await all()).toHaveLength(1);
});

it('a copy out of the archive names the document that a unique key of the container keeps out', async () => {
  const { archive, database, all } = await copyStage(1);
  const uniqueKeyPolicy = { uniqueKeys: [{ paths: ['/cents'] }] };
  await database.containers.create({ id: 'Unique', partitionKey: { paths: ['/tenant'] }, uniqueKeyPolicy });
  await database.container('Unique').items.create(order('other', { cents: 0 }));
  await expect(copyArchive(archive, {}, { ...INTO, into: 'Unique' })).rejects.toMatchObject({
    code: 'document-refused',
    message: expect.stringMatching(/^Container Unique has no document o0 .* unique key$/) as string,
  });
  expect((await all('Unique')).map(({ id }) => id)).toEqual(['other']);
});

/** The process dies at a request: before or after its effect. */
function dying(archive: Archive, nth: number, effect: 'before' | 'after'): Archive {
  let left = nth;
  const at = async <T>(send: () => Promise<T>): Promise<T> => {
    left -= 1;
    if (left === 0 && effect === 'before') throw new Error('died');
    const answer = await send();
    if (left === 0) throw new Error('died');
    return answer;
  };
  return {
    ...archive,
    access: (fence) => {
      const access = archive.access(fence);
      return {
        fence: access.fence,
        query: (...given) => at(() => access.query(...given)),
        commit: (...given) => at(() => access.commit(...given)),
        read: (...given) => at(() => access.read(...given)),
      };
    },
  };
}
