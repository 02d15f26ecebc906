import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readDocument } from '../../../src/feed/leases/dialects/read.ts';
import { leasesExport } from '../../../src/verbs/leases/export.operation.ts';
import { leasesImport } from '../../../src/verbs/leases/import.operation.ts';
import { leaseFixtures } from '../../fixtures/leases/index.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import { type LeaseWorld, type Stored, leaseWorld } from './lease-world.ts';

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'leases-'));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

const says = (documents: readonly Record<string, unknown>[]) =>
  documents
    .map((document) => readDocument(document))
    .map((reading) =>
      reading.kind === 'lease'
        ? `${reading.range?.min}-${reading.range?.max} ${reading.position} ${reading.mode}`
        : reading.kind,
    )
    .toSorted();
const drop = async ({ leases }: LeaseWorld, documents: readonly Stored[]): Promise<void> => {
  for (const { id } of documents) await leases.item(id, id).delete();
};

describe('exported and imported', () => {
  it('leases are as they were, whatever lay in them', async () => {
    const world = await leaseWorld(2);
    await world.write(0, 12);
    await world.derive();
    const own = await world.ownPrefix();
    const [first] = await world.documents(own);
    await world.leases.items.upsert({ ...first, StartTime: '2026-01-01', properties: { team: 'shop' } });
    const before = await world.documents(own);
    const file = join(folder(), 'leases.jsonl');
    expect((await world.run(leasesExport, { container: 'Orders', file })).text).toContain(
      `2 leases written to ${file}`,
    );
    await drop(world, before);
    expect((await world.plan(leasesImport, { file })).join()).toBe('create 2 leases');
    await world.run(leasesImport, { file });
    const after = await world.documents(own);
    for (const [index, { _etag, _ts, _rid, _self, _attachments, ...document }] of before.entries()) {
      void [_etag, _ts, _rid, _self, _attachments];
      expect(after[index]).toMatchObject(document);
    }
    expect(world.clock.total, 'nothing to wait for where nothing is replaced').toBe(0);
  });

  it('what is exported and imported through any chain of dialects says the same', async () => {
    const seed = suiteSeed();
    const random = new Random(seed);
    const world = await leaseWorld(2);
    await world.write(0, 12);
    await world.derive();
    const directory = folder();
    const own = await world.ownPrefix();
    const wanted = says(await world.documents(own));
    for (let round = 0; round < 12; round++) {
      const chain = Array.from({ length: 1 + random.int(4) }, () =>
        random.pick(['dotnet', 'dotnet-v1', 'java-pk', 'java-epk'] as const),
      );
      let from = own;
      for (const [step, dialect] of chain.entries()) {
        const file = join(directory, `${round}-${step}.jsonl`);
        await world.run(leasesExport, { prefix: from, dialect, file });
        const exported = readFileSync(file, 'utf8')
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line) as Stored);
        const to = exported[0]?.id.split('..')[0] ?? '';
        await drop(world, await world.documents(from));
        await world.run(leasesImport, { file });
        from = to;
        const stored = await world.documents(to);
        expect(stored.map(({ LeaseToken, Owner }) => [typeof LeaseToken, Owner])).toEqual([
          ['string', null],
          ['string', null],
        ]);
      }
      const home = join(directory, `${round}-home.jsonl`);
      await world.run(leasesExport, { prefix: from, dialect: 'dotnet', file: home });
      await drop(world, await world.documents(from));
      await world.run(leasesImport, { file: home, prefix: own });
      expect(says(await world.documents(own)), `seed ${seed}: ${chain.join(' → ')}`).toEqual(wanted);
    }
    await world.derive();
    expect(says(await world.documents(own)), 'and the pipeline goes on from them').toEqual(wanted);
  });

  it('what is imported onto leases that are there moves them, once no host holds them, and only the position changes', async () => {
    const world = await leaseWorld(1);
    await world.write(0, 5);
    await world.derive();
    const file = join(folder(), 'leases.json');
    const { value } = await world.run(leasesExport, { container: 'Orders' });
    writeFileSync(file, JSON.stringify((value as { leases: unknown }).leases));
    await world.write(5, 9);
    await world.derive();
    const own = await world.ownPrefix();
    const [before] = await world.documents(own);
    expect(await world.plan(leasesImport, { file })).toContain(`Orders 0: "9" → "5"`);
    expect((await world.run(leasesImport, { file })).text).toBe('0 leases created, 1 moved.');
    expect(world.clock.total).toBe(180_000);
    const [after] = await world.documents(own);
    const { ContinuationToken: _a, timestamp: _b, _etag: _c, _ts: _d, ...rest } = before ?? { id: '' };
    void [_a, _b, _c, _d];
    expect(after).toMatchObject({ ...rest, ContinuationToken: '"5"', Owner: null });
    const { resource } = await world.stage.services.place.state.item('Orders', 'epochs').read<{ epoch: number }>();
    expect(resource?.epoch).toBe(2);
  });
});

describe('a file that can’t be imported', () => {
  it('a file that can’t be imported is refused before anything is written, and says where it is wrong', async () => {
    const world = await leaseWorld(1);
    await world.write(0, 3);
    await world.derive();
    const own = await world.ownPrefix();
    const directory = folder();
    const lease = { version: 0, LeaseToken: '0', Owner: null, ContinuationToken: '"1"', properties: {} };
    const [good] = leaseFixtures('dotnet-v0');
    const lines = (...documents: unknown[]): string => documents.map((document) => JSON.stringify(document)).join('\n');
    const before = await world.documents();
    for (const [text, code, said] of [
      ['{"id":', 'unreadable', 'f.jsonl:1'],
      [`${lines(good?.document)}\nhello`, 'unreadable', 'f.jsonl:2'],
      [lines(good?.document, { id: 'x', text: 1 }), 'lease-unexplained', 'f.jsonl:2'],
      [lines(7), 'lease-unexplained', 'f.jsonl:1'],
      [lines(good?.document, good?.document), 'input-invalid', 'f.jsonl:2'],
      [lines({ ...lease, id: 'x' }), 'lease-unexplained', 'no two dots'],
      ['[]', 'leases-none', 'f.jsonl'],
      [lines({ ...lease, id: `${own}..0`, ContinuationToken: null }), 'position-unusable', 'rewind --to beginning'],
    ] as const) {
      writeFileSync(join(directory, 'f.jsonl'), text);
      const error = await world.refusal(leasesImport, { file: join(directory, 'f.jsonl') });
      expect([error.code, `${error.message} ${error.hint}`]).toEqual([code, expect.stringContaining(said)]);
    }
    expect(await world.refusal(leasesImport, { file: join(directory, 'none') })).toMatchObject({
      code: 'unreadable',
    });
    writeFileSync(join(directory, 'f.jsonl'), lines({ ...lease, id: 'x.y_a_b..0' }));
    expect(await world.refusal(leasesImport, { file: join(directory, 'f.jsonl'), dialect: 'java-epk' })).toMatchObject({
      code: 'not-found',
    });
    const strange = { ...lease, id: `${own}..1`, version: 9, LeaseToken: '1' };
    await world.leases.items.create(strange);
    writeFileSync(join(directory, 'f.jsonl'), lines({ ...lease, id: `${own}..1`, LeaseToken: '1' }));
    expect(await world.refusal(leasesImport, { file: join(directory, 'f.jsonl') })).toMatchObject({
      code: 'lease-unexplained',
    });
    expect(await world.documents()).toHaveLength(before.length + 1);
    expect(await world.documents()).toContainEqual(expect.objectContaining(strange));
  });
});
