// Documents that lack their partition key leave for the archive and come back, each to its own partition.
import { expect, it } from 'vitest';
import { restoreArchive } from '../../src/archive/restore.ts';
import { SIGNAL, archiveStage, order } from './stage.ts';

const KEYS = [{}, { tenant: null }, { tenant: 't' }];

it.each(['latest-version', 'all-versions'] as const)(
  'documents of one id, with and without a key (%s)',
  async (mode) => {
    const stage = await archiveStage(undefined, mode);
    const { tenant: _, ...old } = order('x');
    for (const [cents, key] of KEYS.entries()) await stage.orders.items.create({ ...old, ...key, cents });
    const { tenantField: __, ...spec } = stage.archive.spec;
    const archive = { ...stage.archive, spec };
    await stage.live();
    expect(await stage.sweep({}, archive)).toMatchObject({ archived: 3, refused: 0 });
    await stage.live();
    const history = await stage.history();
    expect(history.map(({ key, doc }) => [key, doc?.['cents']])).toEqual(
      expect.arrayContaining([
        [[{}], 0],
        [[null], 1],
        [['t'], 2],
      ]),
    );
    expect(history).toHaveLength(3);
    expect(await restoreArchive(archive, { documents: [{ key: [{}], id: 'x' }] }, { signal: SIGNAL })).toMatchObject({
      restored: 1,
    });
    const read = await stage.orders.item('x', [{}]).read<{ cents: number }>();
    expect(read.resource).toMatchObject({ cents: 0 });
    expect(read.resource).not.toHaveProperty('tenant');
    expect(await restoreArchive(archive, {}, { signal: SIGNAL })).toMatchObject({ restored: 2 });
    const all = await stage.orders.items.query('SELECT c.tenant, c.cents FROM c').fetchAll();
    expect(all.resources).toEqual(expect.arrayContaining(KEYS.map((key, cents) => ({ ...key, cents }))));
  },
);
