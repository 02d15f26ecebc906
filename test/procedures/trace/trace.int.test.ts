import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import type { TracedDocument } from '../../../src/procedures/trace/trace.ts';
import { compose } from '../../../src/runtime/hosts/processor-host.ts';
import { cli } from '../../cli/cli.ts';
import { useStage } from '../../support/each-stage.ts';
import { SHOP, type Stage, openStage } from '../../support/stage.ts';

let stage: Stage;
useStage({}, (opened) => {
  stage = opened;
});

const millrace = (...args: string[]) => cli([...args, '--pipeline', SHOP]);

async function trace(container: string, key: string, id: string): Promise<TracedDocument> {
  const { code, stdout, stderr } = await millrace('trace', container, key, id, '--json');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as TracedDocument;
}

const statesOf = ({ projections }: TracedDocument) =>
  Object.fromEntries(projections.map(({ id, state }) => [id, state]));

async function write(id: string, more: Readonly<Record<string, unknown>> = {}): Promise<void> {
  const order = {
    id,
    type: 'order',
    storeId: 's1',
    customerId: 'c1',
    placedAt: '2026-01-01T10:00:00.000Z',
    cents: 100,
  };
  await stage.container('Orders').items.upsert({ ...order, ...more });
}

/** `then`: what is written once the same hosts have read everything. */
async function derive(then?: () => Promise<void>): Promise<void> {
  const app = await compose({ ...stage, host: 'test', readLagMs: 0, timings: { pollMs: 40 } });
  await app.start();
  await app.drained(AbortSignal.timeout(60_000));
  if (then) {
    await then();
    await app.drained(AbortSignal.timeout(60_000));
  }
  await app.stop();
}

it('before the first host, a trace shows that every projection waits', async () => {
  await write('order-17');
  const found = await trace('Orders', 's1', 'order-17');
  expect(found.document?.body).toMatchObject({ id: 'order-17', cents: 100 });
  expect(found.range).toMatchObject({ token: null, readUntil: null });
  expect(statesOf(found)).toEqual({ 'summaries@1': 'waiting', 'days@1': 'waiting' });
});

it('a trace of an applied document shows where each projection has it as it is now', async () => {
  await write('order-17');
  await derive();
  const found = await trace('Orders', '["s1"]', 'order-17');
  expect(statesOf(found)).toEqual({ 'summaries@1': 'applied', 'days@1': 'applied' });
  const [summary, day] = ['summaries@1', 'days@1'].map((id) => found.projections.find((of) => of.id === id)!);
  expect(summary!.places).toMatchObject([{ container: 'Summaries', id: 'order-17' }]);
  const place = day!.places[0]!;
  const { resource } = await stage
    .container('Days')
    .item(place.id, place.key as string[])
    .read<{ orders: number }>();
  expect(resource).toMatchObject({ orders: 1 });
  expect(found.events.map(({ what }) => what)).toEqual([expect.stringMatching(/^written, ETag/)]);
});

it('a trace calls a document missing that was applied and has gone from the sink', async () => {
  await write('order-17');
  await derive();
  await stage.container('Summaries').item('order-17', 's1').delete();
  const found = await trace('Orders', 's1', 'order-17');
  expect(statesOf(found)).toEqual({ 'summaries@1': 'missing', 'days@1': 'applied' });
  const why = found.projections.find(({ id }) => id === 'summaries@1')?.why;
  expect(why).toContain('Summaries ["s1"] order-17 is not there');
  expect(why).toContain('`millrace projections verify summaries`');
});

it('a later write that no host has read waits, and a free range is named as the reason', async () => {
  await write('order-17');
  await derive();
  await write('order-17', { cents: 200 });
  const found = await trace('Orders', 's1', 'order-17');
  expect(statesOf(found)).toEqual({ 'summaries@1': 'waiting', 'days@1': 'waiting' });
  expect(found.projections[0]!.why).toContain('no host reads its range');
  expect(found.projections[0]!.version).not.toBeNull();
});

it('a trace of a parked document shows the code and the message of the dead letter', async () => {
  await write('order-17', { placedAt: 7 });
  await derive();
  const found = await trace('Orders', 's1', 'order-17');
  const days = found.projections.find(({ id }) => id === 'days@1');
  expect(days).toMatchObject({ state: 'parked', places: [] });
  expect(days?.why).toMatch(/^projection-threw: /);
  expect(found.events.map(({ what }) => what).join('\n')).toContain('parked for days@1 (projection-threw)');
  const { stdout } = await millrace('trace', 'Orders', 's1', 'order-17');
  expect(stdout).toContain('parked');
});

it('a trace calls a document that is gone applied once its deletion is', async () => {
  await write('order-17');
  await derive();
  await write('order-17', { cancelled: true });
  await derive();
  const cancelled = await trace('Orders', 's1', 'order-17');
  expect(cancelled.projections.map(({ state, places }) => ({ state, places }))).toEqual([
    { state: 'applied', places: [] },
    { state: 'applied', places: [] },
  ]);
  await stage.container('Orders').item('order-17', 's1').delete();
  const gone = await trace('Orders', 's1', 'order-17');
  expect(gone.document).toBeNull();
  expect(statesOf(gone)).toEqual({ 'summaries@1': 'applied', 'days@1': 'applied' });
});

it('a trace names a document of a type that no projection reads, and one that was never written', async () => {
  await write('note-1', { type: 'note' });
  expect(statesOf(await trace('Orders', 's1', 'note-1'))).toEqual({
    'summaries@1': 'not meant',
    'days@1': 'not meant',
  });
  const never = await trace('Orders', 's1', 'nothing');
  expect(statesOf(never)).toEqual({ 'summaries@1': 'not known', 'days@1': 'not known' });
});

it('a joined document is read, and no place of it is recorded', async () => {
  await stage.container('Customers').items.upsert({ id: 'c1', type: 'customer', storeId: 's1', name: 'Ada' });
  await derive();
  const found = await trace('Customers', 's1', 'c1');
  expect(statesOf(found)).toEqual({ 'summaries@1': 'read' });
  expect(found.projections[0]!.places).toEqual([]);
});

it.each([
  [['trace', 'Ordes', 's1', 'a'], 'did you mean Orders?'],
  [['trace', 'Orders', '["s1","b"]', 'a'], 'The key has 2 values, and Orders has 1 level'],
  [['trace', 'Orders', '[{"a":1}]', 'a'], 'is not a JSON array of texts'],
  [['trace', 'Orders', 's1'], 'The document’s id is missing'],
])('%j is wrong usage', async (args, message) => {
  const { code, stderr } = await millrace(...args);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
});

it('a stable projection keeps no record of single documents, so its absence says nothing', async () => {
  await stage[Symbol.asyncDispose]();
  const stable = join(SHOP, '../unstable');
  stage = await openStage({}, stable);
  for (const [name, value] of Object.entries(stage.env)) vi.stubEnv(name, value);
  await write('order-17');
  await derive();
  const { code, stdout } = await cli(['trace', 'Orders', 's1', 'order-17', '--json', '--pipeline', stable]);
  expect(code).toBe(0);
  expect(statesOf(JSON.parse(stdout) as TracedDocument)).toEqual({ 'days@1': 'read', 'summaries@1': 'read' });
});

it('a version that was left out, because ignored fields alone differ, was read', async () => {
  await stage[Symbol.asyncDispose]();
  const vectors = join(SHOP, '../vectors');
  stage = await openStage({}, vectors);
  for (const [name, value] of Object.entries(stage.env)) vi.stubEnv(name, value);
  await write('order-17');
  await derive(() => write('order-17', { embedding: [1, 2, 3] }));
  const { stdout } = await cli(['trace', 'Orders', 's1', 'order-17', '--json', '--pipeline', vectors]);
  const found = JSON.parse(stdout) as TracedDocument;
  expect(statesOf(found)).toMatchObject({ 'summaries@1': 'read', 'days@1': 'read', 'whole@1': 'applied' });
  expect(found.projections.find(({ id }) => id === 'days@1')?.why).toContain('differs in /embedding alone is left out');
});

it('a trace of a container alone lists what was written last, the newest first', async () => {
  for (let order = 1; order < 13; order++) await write(`order-${order}`);
  const { code, stdout } = await millrace('trace', 'Orders', '--json');
  expect(code).toBe(0);
  const { recent } = JSON.parse(stdout) as { recent: { key: unknown; id: string; writtenAt: string }[] };
  expect(recent).toHaveLength(10);
  expect(recent[0]).toMatchObject({ key: ['s1'], id: expect.stringMatching(/^order-/) });
  const times = recent.map(({ writtenAt }) => writtenAt);
  expect(times).toEqual(times.toSorted().toReversed());
  expect(await millrace('trace', 'Order')).toMatchObject({ code: 2, stderr: expect.stringContaining('Orders') });
  expect(await millrace('trace', 'Orders', 's1')).toMatchObject({ code: 2, stderr: expect.stringContaining('id') });
});
