import type { ContainerClient } from '@azure/storage-blob';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { ArchiveVerification } from '../../../src/archive/types.ts';
import type { Doc } from '../../../src/pipeline/specs.ts';
import { compose } from '../../../src/runtime/hosts/processor-host.ts';
import { cli } from '../../cli/cli.ts';
import { useArchiveStage } from '../../support/each-stage.ts';
import { COLD, type Stage } from '../../support/stage.ts';

let stage: Stage;
let blobs: ContainerClient;
useArchiveStage(COLD, (opened) => {
  ({ stage, blobs } = opened);
});

const json = async (...args: string[]): Promise<{ code: number; value: unknown; stderr: string }> => {
  const { code, stdout, stderr } = await cli([...args, '--json']);
  return { code, value: JSON.parse(stdout), stderr };
};

const order = (n: number, placedAt: unknown = `2026-01-0${1 + (n % 9)}T10:00:00.000Z`): Doc & { id: string } => ({
  id: `o${n}`,
  type: 'order',
  storeId: `s${n % 2}`,
  customerId: 'c1',
  placedAt,
  cents: 100 + n,
});

/** Writes orders and derives from them. */
async function derive(...orders: Doc[]): Promise<void> {
  for (const one of orders) await stage.container('Orders').items.upsert(one);
  const app = await compose({ ...stage, host: 'test', readLagMs: 0, timings: { pollMs: 40 } });
  await app.start();
  await app.drained(AbortSignal.timeout(30_000));
  await app.stop();
}

async function hot(): Promise<Doc[]> {
  const { resources } = await stage.container('Orders').items.query<Doc>('SELECT * FROM c ORDER BY c.id').fetchAll();
  return resources;
}

/** The blobs that hold documents, not the manifests. */
async function blobNames(): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of blobs.listBlobsFlat()) if (name.endsWith('.gz')) names.push(name);
  return names;
}

const JANUARY = Array.from({ length: 6 }, (_, n) => order(n));
const FEBRUARY = [order(6, '2026-02-01T00:00:00.000Z'), order(7, '2026-02-03T10:00:00.000Z')];

describe('sweep, list, verify, restore', () => {
  it('sweep, list, verify and restore of one tenant leave the others alone', async () => {
    await derive(...JANUARY);
    expect((await json('archive', 'sweep', '--tenant', 's1', '--dry-run')).value).toEqual({
      steps: ['orders-cold@1: archive 3 documents'],
      ru: 0,
    });
    expect(await json('archive', 'sweep', '--tenant', 's1')).toMatchObject({ value: [{ read: 6, archived: 3 }] });
    expect((await hot()).map(({ storeId }) => storeId)).toEqual(['s0', 's0', 's0']);
    await json('archive', 'sweep');
    const listed = await json('archive', 'list', '--tenant', 's0');
    expect(listed.value).toMatchObject([{ tenant: 's0', documents: 3 }]);
    for (const name of await blobNames()) if (name.includes('/s1/')) await blobs.deleteBlob(name);
    expect((await json('archive', 'verify')).code).toBe(1);
    expect(await json('archive', 'verify', '--tenant', 's0')).toMatchObject({
      code: 0,
      value: [{ blobs: 1, archived: 3 }],
    });
    expect((await json('archive', 'verify', '--tenant', 's1')).code).toBe(1);
    expect((await json('archive', 'compact', '--tenant', 's0')).code).toBe(0);
    const swept = await Promise.all(['s0', 'S0'].map(async (tenant) => cli(['archive', 'sweep', '--tenant', tenant])));
    expect(
      swept.map(({ stdout }) => /No document of tenant (\w+) is due: check the name\.$/m.exec(stdout)?.[1]),
    ).toEqual(['s0', 'S0']);
    expect(await cli(['archive', 'list', '--tenant', 'S0'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('The archive has no documents of tenant S0'),
    });
  });

  it('sweep, list, verify and restore move what the rule names, and back, and say so', async () => {
    await derive(...JANUARY, ...FEBRUARY);
    const planned = await json('archive', 'sweep', '--dry-run');
    expect(planned.value).toEqual({ steps: ['orders-cold@1: archive 6 documents'], ru: 0 });
    expect(await hot()).toHaveLength(8);

    const swept = await json('archive', 'sweep', 'orders-cold');
    expect(swept).toMatchObject({ code: 0, value: [{ read: 7, archived: 6, removed: 6, held: 0, superseded: 0 }] });
    expect((await hot()).map(({ id }) => id)).toEqual(['o6', 'o7']);
    expect((await json('archive', 'list')).value).toEqual(
      ['s0', 's1'].map((tenant) => ({
        projection: 'orders-cold@1',
        tenant,
        period: '2026-01',
        archived: 3,
        blobs: 1,
        documents: 3,
        bytes: expect.any(Number) as number,
      })),
    );
    expect((await cli(['archive', 'list'])).stdout).toMatch(
      /orders-cold@1 +s1 +2026-01 +3 +1 +3 +\d+ B\n6 documents archived now, /,
    );
    expect((await cli(['archive', 'verify'])).stdout).toContain('Every blob is intact.');
    expect((await json('projections', 'verify')).value).toMatchObject({ different: 0, documents: { sources: 8 } });

    const which = ['--tenant', 's1', '--from', '2026-01', '--to', '2026'];
    expect((await json('archive', 'restore', ...which, '--dry-run')).value).toMatchObject({
      steps: [expect.stringMatching(/^orders-cold: read 1 blob \(\d+ B\), write up to 3 documents back to Orders$/)],
    });
    const mistyped = await cli(['archive', 'restore', '--tenant', 'store-s1']);
    expect(mistyped).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('The archive has no documents of tenant'),
    });
    expect((await json('archive', 'restore', ...which)).value).toMatchObject([{ restored: 3, skipped: 0 }]);
    expect((await json('audit')).value).toMatchObject([
      { verb: 'archive restore', arguments: { tenant: 's1' }, outcome: 'done', result: [{ restored: 3 }] },
    ]);
    expect((await hot()).map(({ id }) => id)).toEqual(['o1', 'o3', 'o5', 'o6', 'o7']);
    expect((await hot())[0]).toMatchObject(order(1));
    const one = ['--key', '["s0"]', '--id', 'o4'];
    expect((await json('archive', 'restore', 'orders-cold', ...one)).value).toMatchObject([{ restored: 1 }]);
    expect((await json('archive', 'restore', 'orders-cold', ...one)).value).toMatchObject([
      { restored: 0, skipped: 1 },
    ]);
    expect((await json('projections', 'verify')).value).toMatchObject({ different: 0, documents: { sources: 8 } });
  });

  it('sweep, list, verify and restore hold what the projections have not got yet, and what they have parked', async () => {
    for (const one of JANUARY) await stage.container('Orders').items.upsert(one);
    const early = await cli(['archive', 'sweep']);
    expect(early.stdout).toContain('6 documents not archived until every projection has applied them');
    expect(await hot()).toHaveLength(6);
    await derive({ ...order(8), cents: 'a lot' });
    expect((await json('archive', 'sweep')).value).toMatchObject([{ removed: 6, held: 1 }]);
    expect((await hot()).map(({ id }) => id)).toEqual(['o8']);
  });

  it('sweep, list, verify and restore leave documents whose date lies ahead, without a word, or is none, and name these', async () => {
    await derive(order(1), order(2, '2024-13-01'), order(3, '2025-12-01'));
    const { code, stdout } = await cli(['archive', 'sweep', '--now', '2025-12-31']);
    expect(code).toBe(0);
    expect(stdout).not.toContain('Orders/o1');
    expect(stdout).toContain('placedAt of Orders/o2 is not a date: "2024-13-01"');
    expect((await hot()).map(({ id }) => id)).toEqual(['o1', 'o2']);
  });
});

describe('bad input is one clear message, exit code 2, and hot data stay', () => {
  it.each([
    ['no setting', { STORAGE: '' }, /^error: The setting STORAGE is missing\n {2}Set STORAGE/],
    ['no connection string', { STORAGE: 'nonsense' }, /^error: The setting STORAGE: must be a connection string/],
    ['no blob container', { STORAGE_CONTAINER: 'absent' }, /absent at http\S+ does not exist.*\n {2}.*model apply/],
    ['another key', { STORAGE: 'AccountKey=QUJD' }, /refused access.*\n {2}Check `STORAGE`/],
  ])('%s', async (_, env: Readonly<Record<string, string>>, message) => {
    await derive(...JANUARY);
    const { STORAGE } = env;
    const wrong = STORAGE?.startsWith('AccountKey')
      ? stage.env['STORAGE']?.replace(/AccountKey=[^;]+/, STORAGE)
      : STORAGE;
    for (const [name, value] of Object.entries({ ...env, ...(wrong === undefined ? {} : { STORAGE: wrong }) }))
      vi.stubEnv(name, value);
    for (const verb of ['sweep', 'list', 'verify', 'restore']) {
      const { code, stderr } = await cli(['archive', verb]);
      expect(stderr).toMatch(message);
      expect(stderr).not.toMatch(/^ {4}at /m);
      expect(code).toBe(2);
    }
    expect(await hot()).toHaveLength(6);
  });

  it('model apply makes the blob container that is not there', async () => {
    vi.stubEnv('STORAGE_CONTAINER', 'fresh');
    expect((await json('model', 'apply', '--dry-run')).value).toMatchObject({
      steps: ['create blob container fresh'],
    });
    expect((await json('model', 'apply')).code).toBe(0);
    expect(await json('model', 'apply')).toMatchObject({ code: 0, value: { done: [] } });
    expect((await json('archive', 'list')).value).toEqual([]);
  });

  it('nothing archived needs no storage account', async () => {
    await derive(...JANUARY);
    vi.stubEnv('STORAGE', '');
    expect((await json('projections', 'verify')).value).toMatchObject({ different: 0, documents: { sources: 6 } });
  });

  it.each([
    [['sweep', '--now', 'soon'], '--now "soon" is not a date'],
    [['sweep', 'orders-cool'], 'did you mean orders-cold?'],
    [['restore', '--from', '2026-13'], '--from: must be a month'],
    [['restore', '--id', '../o1', '--key', '["s1"]'], 'The archive never had a document ["s1"] ../o1'],
    [['restore', '--id', 'o1', '--key', '["s1"]', '--dry-run'], 'The archive never had a document ["s1"] o1'],
    [['restore', '--from', '2026-02', '--to', '2026-01'], '--from 2026-02 is after --to 2026-01'],
    [['restore', '--from', '2026-02', '--to', '2025', '--dry-run'], '--from 2026-02 is after --to 2025'],
    [['compact', '--tenant', 'nobody'], 'The archive has no documents of tenant nobody'],
    [['expire', '--tenant', 'nobody', '--dry-run'], 'The archive has no documents of tenant nobody'],
    [['restore', '--id', 'o1'], '--key and --id name documents together'],
    [['restore', '--id', 'o1', '--key', 's1'], '--key s1 is not a partition key of Orders'],
    [['restore', '--id', 'o1', '--key', '["s1","o1"]'], 'a value for each of /storeId'],
  ])('%j', async (args, message) => {
    const { code, stderr } = await cli(['archive', ...args]);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });

  it('a pipeline without an archive', async () => {
    const { code, stderr } = await cli(['archive', 'sweep', '--pipeline', COLD.replace(/cold$/, 'shop')]);
    expect(stderr).toContain('The pipeline declares no archive');
    expect(code).toBe(2);
  });
});

describe('what was done to a blob by hand', () => {
  let name: string;
  beforeEach(async () => {
    await derive(...JANUARY, ...FEBRUARY);
    await json('archive', 'sweep');
    name = (await blobNames())[0] ?? '';
  });

  const damages: readonly [string, string, () => Promise<unknown>][] = [
    ['deleted', 'blob-missing', () => blobs.deleteBlob(name)],
    ['cut off', 'blob-changed', async () => rewrite((bytes) => bytes.subarray(0, bytes.length / 2))],
    ['altered', 'blob-changed', async () => rewrite((bytes) => bytes.fill(0, 20, 21))],
    ['emptied', 'blob-changed', async () => rewrite(() => Buffer.alloc(0))],
  ];
  async function rewrite(change: (bytes: Buffer) => Buffer): Promise<void> {
    const bytes = change(await blobs.getBlobClient(name).downloadToBuffer());
    await blobs.getBlockBlobClient(name).upload(bytes, bytes.length);
  }

  it.each(damages)(
    '%s: verify names it with its documents, and no reader takes it for the truth',
    async (_, fault, damage) => {
      await damage();
      const { code, value } = await json('archive', 'verify');
      expect(code).toBe(1);
      const [{ faults } = { faults: [] }] = value as ArchiveVerification[];
      expect(faults.map((of) => of.code)).toEqual([fault, 'line-missing', 'line-missing', 'line-missing']);
      expect(faults[0]?.what).toContain(name);
      const lines = (await cli(['archive', 'verify'])).stdout.trimEnd().split('\n');
      const said = lines.slice(lines.indexOf('4 faults:'));
      expect(said).toEqual([
        '4 faults:',
        expect.stringMatching(new RegExp(`^ {2}${fault}: .*${name}.*; 3 documents in it$`)),
        expect.stringContaining('from a backup or from soft delete'),
      ]);
      const named = (await cli(['archive', 'verify', '--documents'])).stdout.match(/^ {4}Orders\/\["s\d"\]\/o\d /gm);
      expect(named).toHaveLength(3);
      const skipping = await json('archive', 'restore', '--skip-damaged');
      expect(skipping).toMatchObject({ code: 1, value: [{ restored: 3, faults: [{ code: fault, blob: name }] }] });
      await json('archive', 'sweep');
      for (const verb of [
        ['archive', 'restore'],
        ['projections', 'verify'],
      ]) {
        const refused = await json(...verb);
        expect(refused).toMatchObject({ code: 1, value: { error: { code: 'archive-damaged' } } });
        expect(refused.stderr).toContain(name);
      }
      expect((await hot()).filter(({ type }) => type === 'order').length).toBeGreaterThanOrEqual(2);
      // What is left to archive still goes.
      await derive(order(20));
      expect((await json('archive', 'sweep')).value).toMatchObject([{ removed: 1 }]);
    },
  );

  it('a manifest that is no manifest hides nothing else', async () => {
    const manifest = `${name.slice(0, name.lastIndexOf('/'))}/manifest.json`;
    await blobs.getBlockBlobClient(manifest).upload('{', 1);
    const listed = await json('archive', 'list');
    expect(listed.code).toBe(1);
    expect(listed.value).toMatchObject([
      { tenant: 's0', period: '2026-01', blobs: null, documents: null, bytes: null, fault: { blob: manifest } },
      { tenant: 's1', period: '2026-01', documents: 3 },
    ]);
    expect((await cli(['archive', 'list'])).stdout).toMatch(
      /s0 +2026-01 +\d+ +unknown[^]*manifest-unreadable: Manifest /,
    );
    expect(await json('archive', 'restore', '--tenant', 's1')).toMatchObject({ code: 0, value: [{ restored: 3 }] });
    const skipping = await json('archive', 'restore', '--skip-damaged', '--dry-run');
    expect(JSON.stringify(skipping.value)).toContain(`skip ${manifest}`);
    expect((await json('archive', 'restore', '--dry-run')).value).toMatchObject({ error: { code: 'archive-damaged' } });
  });

  it('a manifest that is no manifest, or gone: named', async () => {
    const manifest = `${name.slice(0, name.lastIndexOf('/'))}/manifest.json`;
    await blobs.getBlockBlobClient(manifest).upload('{', 1);
    const unreadable = await json('archive', 'verify');
    expect(unreadable.code).toBe(1);
    expect(JSON.stringify(unreadable.value)).toContain('manifest-unreadable');
    await blobs.deleteBlob(manifest);
    const gone = await json('archive', 'verify');
    expect(gone.code).toBe(1);
    expect(JSON.stringify(gone.value)).toContain('blob-unlisted');
  });
});
