// What only the operator knows: which version was current, and since when changes are read again. docs/SPEC-recover.md
import { afterEach, expect, it } from 'vitest';
import { Views } from '../../../src/engine/views/views.ts';
import type { Doc, ReactSpec } from '../../../src/pipeline/specs.ts';
import { type Stage, SHOP, openStage } from '../../support/stage.ts';
import { VERSIONS, compare } from '../../verbs/projections/versions.ts';
import { afresh, derive, newRun, recoverOn } from './recovery.ts';

const HOUR = 3_600_000;

let stage: Stage;
afterEach(() => stage[Symbol.asyncDispose]());

const order = (n: number) => ({
  id: `o${n}`,
  type: 'order',
  storeId: `s${n % 7}`,
  customerId: 'c1',
  placedAt: `2026-01-0${1 + (n % 9)}T10:00:00.000Z`,
  cents: 100 + n,
});
const place = (...numbers: number[]) =>
  afresh(stage, async (now) => {
    for (const n of numbers) await now.container('Orders').items.upsert(order(n));
  });

it('a recovery without views asks which version was current, and makes it so', async () => {
  stage = await openStage({}, VERSIONS);
  await place(1, 2, 3);
  await derive(stage);
  const { resources } = await stage.container('Summaries').items.query<Doc>('SELECT * FROM c').fetchAll();
  // As the second version wrote them, with a label of then.
  for (const { _mr, ...one } of resources)
    await stage
      .container('SummariesTwo')
      .items.create({ ...one, label: 'old', _mr: { ...Object(_mr), by: 'summaries@2' } });
  await stage.container('millrace').delete();
  const again = (input: object) => afresh(stage, (now) => recoverOn(now, newRun(), { ...input }));
  await expect(again({})).rejects.toMatchObject({
    code: 'recover-undecided',
    hint: expect.stringContaining('--current summaries@1 or summaries@2'),
  });
  await expect(again({ current: 'days@2' })).rejects.toMatchObject({ code: 'recover-undecided' });
  const { ok, value } = await again({ current: 'summaries@2' });
  expect({ ok, left: value.left }).toEqual({ ok: true, left: [] });
  await afresh(stage, async (now) => {
    const views = await new Views(now.services.place.state, 'versions').read();
    expect(views).toMatchObject({ summaries: { current: { version: 2 } }, days: { current: { version: 1 } } });
    const { expected, found } = await compare(now, 'summaries@2');
    expect(expected.size).toBe(3);
    expect(found).toEqual(expected);
  });
}, 120_000);

it('a recovery of a container with several partitions moves every lease', async () => {
  stage = await openStage({ faults: { historyMs: HOUR } }, VERSIONS);
  await place(...Array.from({ length: 14 }, (_, n) => n));
  for (const half of stage.emulator.split('shop/Orders')) stage.emulator.split('shop/Orders', half);
  await derive(stage);
  stage.emulator.advance(HOUR - 1_000);
  await place(...Array.from({ length: 14 }, (_, n) => n + 7));
  await derive(stage);
  stage.emulator.failover('shop/Orders', HOUR / 2);
  const { ok, value } = await afresh(stage, (now) => recoverOn(now, newRun()));
  expect({ ok, left: value.left }).toEqual({ ok: true, left: [] });
  expect(value.findings.filter(({ what }) => what.includes('changes are lost')).length).toBeGreaterThan(1);
  expect(value.moved.filter(({ text }) => text.includes('Orders')).length).toBeGreaterThanOrEqual(4);
  for (const when of ['recovered', 'continued']) {
    for (const id of ['summaries@1', 'days@1']) {
      const { expected, found } = await afresh(stage, (now) => compare(now, id));
      expect(expected.size).toBeGreaterThan(5);
      expect({ when, id, found }).toEqual({ when, id, found: expected });
    }
    await derive(stage);
  }
}, 120_000);

it('a recovery with effects needs --since, and runs them again for the changes since then alone', async () => {
  stage = await openStage({ faults: { historyMs: 2 * HOUR } }, SHOP);
  const ran: { readonly id: string; readonly key: string }[] = [];
  const mail: ReactSpec = {
    kind: 'react',
    name: 'mail',
    version: 1,
    from: { container: 'Orders', type: 'order' },
    start: 'beginning',
    order: 'document',
    attempts: 1,
    timeoutMs: 10_000,
    onDelete: 'keep',
    restored: false,
    echoes: false,
    run: async (doc, { key }) => void ran.push({ id: String(doc['id']), key }),
  };
  stage = { ...stage, loaded: { ...stage.loaded, pipeline: { ...stage.loaded.pipeline, effects: [mail] } } };
  const since = new Date(Date.now() + HOUR / 2).toISOString();
  await place(1);
  await derive(stage);
  stage.emulator.advance(HOUR);
  await place(2);
  await derive(stage);
  expect(ran.map(({ id }) => id)).toEqual(['o1', 'o2']);
  await expect(afresh(stage, (now) => recoverOn(now, newRun()))).rejects.toMatchObject({
    code: 'input-invalid',
    message: expect.stringMatching(/^mail@1 run again .*, unless a record says/) as string,
  });
  const { ok } = await afresh(stage, (now) => recoverOn(now, newRun(), { since }));
  expect(ok).toBe(true);
  await derive(stage);
  expect(ran.map(({ id }) => id)).toEqual(['o1', 'o2', 'o2']);
  expect(new Set(ran.map(({ key }) => key)).size, 'its receiver knows the repetition by its key').toBe(2);
}, 120_000);
