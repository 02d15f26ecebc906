import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Container } from '@azure/cosmos';
import { verifyEvery } from '../../../src/procedures/verify/verify-every.ts';
import { type VerifyOptions, isVerified, verify } from '../../../src/procedures/verify/verify.ts';
import { cli } from '../../cli/cli.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import { type Stage, openStage } from '../../support/stage.ts';
import { VERSIONS, compare, keepWriting, live, writeAny } from '../../verbs/projections/versions.ts';

const SEED = suiteSeed();
const { signal } = new AbortController();
const screen = { progress: () => undefined };
let stage: Stage;

beforeEach(async () => {
  stage = await openStage({}, VERSIONS);
});
afterEach(() => stage[Symbol.asyncDispose]());

const look = (more: Partial<VerifyOptions> = {}) =>
  verify(stage.loaded, stage.services, { signal, screen, readLagMs: 0, settings: stage.settings, ...more });

type Stored = Record<string, unknown> & { readonly id: string; readonly storeId: string };
const stored = async (name: string, type: string): Promise<Stored[]> =>
  (await stage.container(name).items.query<Stored>(`SELECT * FROM c WHERE c.type = '${type}'`).fetchAll()).resources;

/** Falsifies sink documents in every way there is; resolves with `Container ["key","id"]` of each. */
async function plant(count: number, random: Random): Promise<Set<string>> {
  const planted = new Set<string>();
  const sinks: readonly [Container, Stored[], string][] = [
    [stage.container('Summaries'), await stored('Summaries', 'summary'), 'summary'],
    [stage.container('Days'), await stored('Days', 'day'), 'day'],
  ];
  for (let n = 0; planted.size < count; n++) {
    const [container, documents, type] = sinks[n % 2] ?? sinks[0]!;
    const document = documents.length > 0 ? random.pick(documents) : undefined;
    const kind = random.int(4);
    const mark = (id: string, storeId: string): unknown =>
      planted.add(`${container.id} ${JSON.stringify([storeId, id])}`);
    if (kind === 0 || !document) {
      const storeId = `s${random.int(4)}`;
      await container.items.create({ id: `planted-${n}`, storeId, type, cents: 1 });
      mark(`planted-${n}`, storeId);
    } else if (!planted.has(`${container.id} ${JSON.stringify([document.storeId, document.id])}`)) {
      if (kind === 1) await container.item(document.id, document.storeId).delete();
      else if (kind === 2 && type === 'day') await falsifyContribution(document, random);
      else await container.items.upsert({ ...document, cents: Number(document['cents']) + 1 });
      mark(document.id, document.storeId);
    }
  }
  return planted;
}

/** The aggregate stays right; what lies behind it is wrong, or gone. */
async function falsifyContribution({ id, storeId }: Stored, random: Random): Promise<void> {
  const query = `SELECT * FROM c WHERE c["of"] = '${id}' AND c["by"] = 'days@1' AND IS_OBJECT(c["values"])`;
  const { resources } = await stage.container('Days').items.query<Stored>(query, { partitionKey: storeId }).fetchAll();
  const one = random.pick(resources);
  if (random.chance(0.5)) await stage.container('Days').item(one.id, storeId).delete();
  else await stage.container('Days').items.upsert({ ...one, values: { rows: 1, m: { cents: -1 } } });
}

const named = (differences: readonly { container: string; document: string }[]): Set<string> =>
  new Set(differences.map(({ container, document }) => `${container} ${document}`));

describe(`verifying (seed ${SEED})`, () => {
  it('versions that no host runs yet are tried on the documents that are there', async () => {
    const random = new Random(SEED);
    for (let n = 0; n < 20; n++) await writeAny(stage, random, 10);
    await (await live(stage)).drained(signal);
    const options = { signal, screen, readLagMs: 0, settings: stage.settings };
    const right = await verifyEvery(stage.loaded, stage.services, options);
    expect([right.different, right.untried, isVerified(right)]).toEqual([0, undefined, true]);
    const { pipeline } = stage.loaded;
    const groupBy = (): never => {
      throw new Error('not of this form');
    };
    const projections = pipeline.projections.map((spec) =>
      spec.kind === 'aggregate' && spec.version > 1 ? { ...spec, groupBy } : spec,
    );
    const wrong = await verifyEvery(
      { ...stage.loaded, pipeline: { ...pipeline, projections } },
      stage.services,
      options,
    );
    const first = { container: 'Orders', message: expect.stringContaining('not of this form') };
    expect(wrong).toMatchObject({ different: 0, untried: [{ projection: 'days@2', first }] });
    expect(isVerified(wrong)).toBe(false);
  });

  it('a verification finds each of a hundred planted differences, and repairs them beside the live host', async () => {
    const random = new Random(SEED);
    for (let n = 0; n < 400; n++) await writeAny(stage, random, 150);
    const app = await live(stage);
    await app.drained(signal);
    const planted = await plant(100, random);
    const found = await look();
    expect(named(found.differences)).toEqual(planted);
    expect(found).toMatchObject({ different: 100, moving: 0, repaired: null });
    // A sample of more documents than there are is all of them.
    for (const sample of ['5000', '100%']) {
      const whole = await look({ sample });
      expect(named(whole.differences)).toEqual(planted);
      expect(whole).toMatchObject({ moving: 0, sampled: { asked: sample, largeGroups: 0 } });
    }
    // Small samples find nothing that isn't there, and together all that is.
    const met = new Set<string>();
    const draws = new Random(SEED + 2);
    for (let n = 0; n < 200 && met.size < planted.size; n++) {
      const some = await look({ sample: '70', random: () => draws.int(1_000_000) / 1_000_000 });
      for (const each of named(some.differences)) met.add(each);
    }
    expect(met).toEqual(planted);
    const after = await look({ repair: true });
    expect(after).toMatchObject({ different: 0, differences: [] });
    expect(after.repaired?.applied).toBeGreaterThan(20);
    for (const id of ['summaries@1', 'days@1']) {
      const { expected, found: is } = await compare(stage, id);
      expect(is).toEqual(expected);
    }
    // What was repaired goes on as anything else does.
    for (let n = 0; n < 50; n++) await writeAny(stage, random, 150);
    await app.drained(signal);
    expect(await look()).toMatchObject({ different: 0 });
    await app.stop();
  });

  it('a verification reports nothing under load without faults, and a fault among the load', async () => {
    const random = new Random(SEED + 1);
    for (let n = 0; n < 100; n++) await writeAny(stage, random);
    const app = await live(stage);
    await app.drained(signal);
    const writing = keepWriting(stage, random, 50);
    try {
      for (let n = 0; n < 2; n++) expect(await look()).toMatchObject({ different: 0 });
      await stage.container('Summaries').items.create({ id: 'planted', storeId: 's1', type: 'summary' });
      expect(named((await look()).differences)).toEqual(new Set(['Summaries ["s1","planted"]']));
      expect(await look({ repair: true })).toMatchObject({ different: 0, repaired: { removed: 1 } });
    } finally {
      await writing.stop();
      await app.stop();
    }
  });

  it('a verification verifies what is current, and another version by its number', async () => {
    const app = await live(stage);
    await writeAny(stage, new Random(1));
    await stage.container('Orders').items.upsert({
      id: 'a',
      type: 'order',
      storeId: 's1',
      customerId: 'c1',
      placedAt: '2026-01-01T10:00:00.000Z',
      cents: 1,
    });
    await app.drained(signal);
    await app.stop();
    expect((await look()).projections.map(({ id }) => id).toSorted()).toEqual(['days@1', 'summaries@1']);
    expect(await look({ only: 'days@2' })).toMatchObject({
      different: expect.any(Number) as number,
      projections: [{ id: 'days@2' }],
    });
    await expect(look({ only: 'dais' })).rejects.toThrow('did you mean days?');
  });

  it('a verification repairs one partition key on the command line', async () => {
    for (const [name, value] of Object.entries(stage.env)) vi.stubEnv(name, value);
    try {
      const app = await live(stage);
      for (const storeId of ['s1', 's2'])
        await stage.container('Orders').items.upsert({
          id: 'a',
          type: 'order',
          storeId,
          customerId: 'c1',
          placedAt: '2026-01-01T10:00:00.000Z',
          cents: 1,
        });
      await app.drained(signal);
      await app.stop();
      for (const storeId of ['s1', 's2'])
        await stage.container('Days').item(`day|2026-01-01|${storeId}`, storeId).delete();
      const repair = (...args: string[]) =>
        cli(['projections', 'verify', '--repair', 'days', ...args, '--pipeline', VERSIONS]);
      expect((await repair('--key', '["s1"]', '--dry-run')).stdout).toContain(
        'correct Days ["s1","day|2026-01-01|s1"] (missing)',
      );
      expect((await repair('--key', 's1')).code).toBe(2);
      expect((await repair('--key', '["s1"]')).code).toBe(0);
      expect([...(await compare(stage, 'days@1')).found.keys()]).toEqual(['["s1","day|2026-01-01|s1"]']);
    } finally {
      vi.unstubAllEnvs();
    }
  });
});
