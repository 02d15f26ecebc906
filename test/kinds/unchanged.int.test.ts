// A pipeline with an enricher beside it, by a host on the embedded server: ECHO-R9 to ECHO-R11.
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { mails } from '../fixtures/vectors/pipeline.ts';
import { verify } from '../../src/procedures/verify/verify.ts';
import { chooseNoted } from '../../src/procedures/projections/choose.ts';
import { replay } from '../../src/procedures/replay/replay.ts';
import type { App } from '../../src/runtime/hosts/processor-host.ts';
import { cli } from '../cli/cli.ts';
import { type Stage, openStage } from '../support/stage.ts';
import { fast, live, options } from '../verbs/projections/versions.ts';

const { signal } = new AbortController();
const ORDERS = 20;
const VECTORS = join(import.meta.dirname, '../fixtures/vectors');

let stage: Stage;
let app: App;
beforeEach(async () => {
  stage = await openStage({}, VECTORS);
  mails.length = 0;
  app = await live(stage);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await app.stop();
  await stage[Symbol.asyncDispose]();
});

const order = (n: number, cents: number, more: object = {}): object => ({
  id: `o${n}`,
  type: 'order',
  storeId: 's1',
  placedAt: '2026-03-01T10:00:00.000Z',
  cents,
  ...more,
});
const write = async (cents: number, more?: object): Promise<void> => {
  for (let n = 0; n < ORDERS; n++) await stage.container('Orders').items.upsert(order(n, cents, more));
  await app.drained(signal);
};
/** RU of some projections since the host began. */
const charged = (...names: string[]): number =>
  app
    .stats()
    .filter(({ id }) => names.includes(id))
    .reduce((sum, { meter }) => sum + meter.charge, 0);
const during = async (names: string[], work: () => Promise<void>): Promise<number> => {
  const before = charged(...names);
  await work();
  return charged(...names) - before;
};
const differences = async (): Promise<unknown> => {
  const found = await verify(stage.loaded, stage.services, {
    signal,
    screen: { progress: () => undefined },
    readLagMs: 0,
    settings: stage.settings,
  });
  return found.differences;
};

describe('a pipeline with an enricher beside it', () => {
  it('100 changes and 100 vectors are 100 mails', async () => {
    for (let round = 1; round <= 5; round++) {
      await write(round);
      await write(round, { embedding: [round, 0, 0] });
    }
    expect(mails).toHaveLength(100);
    expect(new Set(mails).size).toBe(100);
  });

  it('its copies and aggregates cost 1.05 times of what they cost without vectors, once a host has seen the documents', async () => {
    await write(1);
    const state = ['summaries@1', 'days@1'];
    const without = await during(state, () => write(2));
    const vectors = await during(state, async () => {
      await write(3);
      await write(3, { embedding: [1, 2, 3] });
    });
    expect(without).toBeGreaterThan(100);
    expect(vectors).toBeLessThanOrEqual(1.05 * without);
    // A copy that has the vector is written.
    expect(await during(['whole@1'], () => write(3, { embedding: [4, 5, 6] }))).toBeGreaterThan(100);
    expect(await differences()).toEqual([]);
  });

  it('a copy follows its joined document, also after a version that was no change', async () => {
    const named = async (name: string): Promise<void> => {
      await stage.container('Stores').items.upsert({ id: 's1', type: 'store', storeId: 's1', name });
      await app.drained(signal);
    };
    await write(1);
    await named('North');
    await write(1, { embedding: [1] });
    await named('South');
    const { resources } = await stage.container('Named').items.query<{ name: string }>('SELECT * FROM c').fetchAll();
    expect(resources.map(({ name }) => name)).toEqual(Array.from({ length: ORDERS }, () => 'South'));
  });

  it('documents without a record are noted as they are, those alone that hosts have passed, and then vectors send no mail', async () => {
    await write(1);
    await app.stop();
    const { state } = stage.services.place;
    const { resources } = await state.items
      .query<{ id: string; pk: string }>("SELECT c.id, c.pk FROM c WHERE c.type = 'millrace.published'")
      .fetchAll();
    expect(resources).toHaveLength(ORDERS);
    for (const { id, pk } of resources) await state.item(id, pk).delete();
    mails.length = 0;
    // No host has seen this change yet.
    await stage.container('Orders').items.upsert(order(0, 2));
    const spec = chooseNoted(stage.loaded.pipeline, stage.loaded.model, 'mail');
    const noted = { ...options(stage, 'summaries@1', signal), spec, from: 'beginning', cold: false, note: true };
    expect(await replay(noted)).toMatchObject({ changes: ORDERS - 1, parked: 0 });
    for (const [name, value] of Object.entries(stage.env)) vi.stubEnv(name, value);
    const again = ['projections', 'replay', 'mail', '--note', '--tenant', 's1', '--pipeline', VECTORS];
    expect((await cli([...again, '--dry-run'])).stdout).toContain('without effects, but only those of tenant s1');
    expect((await cli(again)).stdout).toMatch(/19 documents of mail@1 noted, without effects: [0-9]+ RU, 0 parked/);
    expect(mails).toEqual([]);
    app = await live(stage, 'second');
    await app.drained(signal);
    for (let n = 1; n < ORDERS; n++) await stage.container('Orders').items.upsert(order(n, 1, { embedding: [1] }));
    await app.drained(signal);
    expect(mails).toEqual([expect.stringMatching(/ 2$/)]);
  });

  it('what another tenure applied, and what a replay may have written, is written again', async () => {
    await write(1);
    expect(await during(['summaries@1'], () => write(1, { embedding: [1] }))).toBe(0);
    await app.stop();
    app = await live(stage, 'second');
    await app.drained(signal);
    const again = await during(['summaries@1'], () => write(1, { embedding: [2] }));
    expect(again).toBeGreaterThan(100);
    const dead = AbortSignal.abort();
    const replayed = { ...stage, ...fast, ...options(stage, 'summaries@1', dead), from: 'beginning', cold: true };
    await expect(replay(replayed)).rejects.toThrow('aborted');
    // The replay that died may have written anything.
    expect(await during(['summaries@1'], () => write(1, { embedding: [3] }))).toBeGreaterThan(100);
    await replay({ ...replayed, signal });
    await write(1, { embedding: [4] });
    expect(await during(['summaries@1'], () => write(1, { embedding: [5] }))).toBe(0);
  });
});
