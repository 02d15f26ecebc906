// What a move leaves that fails after it has begun, and one that is cancelled.
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { cancelMove } from '../../../src/procedures/move/move.ts';
import { movesOf } from '../../../src/procedures/move/record.ts';
import { MoveStage, type Order } from './move-stage.ts';

const { signal } = new AbortController();
const order = (id: string): Order => ({ id, type: 'order', tenantId: 1, n: 0 });
let stage: MoveStage;
beforeEach(async () => {
  stage = await MoveStage.open(7);
});
afterEach(() => stage[Symbol.asyncDispose]());

const moves = () => movesOf(stage.database('maps').container('shardmaps'), 'tenants', signal);
const state = ({ location }: MoveStage['west']) => stage.database(location.database).container('millrace');
const owners = async () =>
  (await stage.map.inspect()).mappings.flatMap(({ owner, text }) => (owner === undefined ? [] : [text]));

/** A process that says where it is; it does something the first time that it says `step`. */
const at = (step: string, work: () => Promise<unknown>) => {
  let isDone = false;
  return async (text: string): Promise<void> => {
    if (!text.startsWith(step) || isDone) return;
    isDone = true;
    await work();
  };
};

it('a move that fails before its first copy cancels itself, and leaves nothing', async () => {
  await stage.orders(stage.west).items.create(order('a'));
  // A sweep has archived a document since the move looked.
  const source = { container: 'Orders', key: [1], id: 'b' };
  const entry = { id: randomUUID(), pk: 'e', type: 'millrace.archived', state: 'archived', source };
  const say = at('preparing', () => state(stage.west).items.create(entry));
  await expect(stage.move(1, stage.east, { say })).rejects.toMatchObject({
    code: 'move-archived',
    message: expect.stringMatching(/no storage is set\. The move is cancelled, and nothing of it is left\.$/),
  });
  expect((await moves()).map(({ step }) => step)).toEqual(['cancelled']);
  expect(await owners()).toEqual([]);
  expect(await stage.map.strays(stage.east)).toEqual([]);
  await state(stage.west).item(entry.id, entry.pk).delete();
  await stage.move(1, stage.east);
  expect(await stage.stored(stage.east, 1)).toEqual([order('a')]);
});

it('one whose mapping another has locked meanwhile leaves that lock alone', async () => {
  const say = at('preparing', async () => stage.map.lockMapping(await stage.mapping(3), 'someone'));
  await expect(stage.move(3, stage.east, { say })).rejects.toMatchObject({ code: 'mapping-locked' });
  expect((await moves()).map(({ step }) => step)).toEqual(['cancelled']);
  expect(await owners()).toEqual(['3']);
  // Now it is known before.
  await expect(stage.move(3, stage.east)).rejects.toMatchObject({ code: 'mapping-locked' });
  expect(await moves()).toHaveLength(1);
});

it('one that fails later says what stands, and which command ends it', async () => {
  await stage.orders(stage.west).items.create(order('a'));
  const leaving = { ...order('b'), _mr: { archived: {} } };
  const say = at('waiting for the hosts of the target', () => stage.orders(stage.west).items.create(leaving));
  const failed = await stage.move(1, stage.east, { say }).catch((error: unknown) => error);
  const [move] = await moves();
  expect(failed).toMatchObject({
    name: 'UsageError',
    code: 'move-leaving',
    message: expect.stringContaining(`The move ${move!.id} stands: 1 is locked on west, and east has copies.`),
    hint: expect.stringContaining(`\`millrace shards moves tenants --cancel ${move!.id}\``),
  });
  await cancelMove(await stage.optionsOfProcess(stage.client, { takeOver: true, graceMs: 0 }), move!.id);
  expect(await stage.everything(stage.east, 1)).toEqual([]);
  expect(await owners()).toEqual([]);
});

it('a cancelled move removes what a slow process of it still writes, until the grace ends', async () => {
  await stage.orders(stage.west).items.create(order('a'));
  const stopping = new AbortController();
  const say = at('waiting for the hosts of the target', async () => stopping.abort());
  await expect(stage.move(1, stage.east, { say, signal: stopping.signal })).rejects.toBeDefined();
  const [copy] = await stage.everything(stage.east, 1);
  const { _rid, _self, _etag, _attachments, _ts, ...late } = copy as Record<string, unknown>;
  const options = await stage.optionsOfProcess(stage.client, {
    takeOver: true,
    graceMs: 1_000,
    say: at('late copies', () => stage.orders(stage.east).items.create(late)),
  });
  const [move] = await moves();
  expect(await cancelMove(options, move!.id)).toMatchObject({ removed: 2 });
  expect(await stage.everything(stage.east, 1)).toEqual([]);
  expect(await stage.map.strays(stage.east)).toEqual([]);
});

it('letters with large changes go along, and a mover that died between both shards has carried them once', async () => {
  await stage.orders(stage.west).items.create(order('a'));
  const letter = {
    pk: 'dead-letters|told@1',
    kind: 'dead-letter',
    projection: 'told@1',
    container: 'Orders',
    key: [1],
    type: 'order',
    version: { epoch: 0, lsn: 1, etag: 'e' },
    op: 'upsert',
    code: 'c',
    message: 'm',
    attempts: 1,
    firstAt: '2026-01-01T00:00:00Z',
    lastAt: '2026-01-01T00:00:00Z',
  };
  const own = { ...letter, id: 'l', document: 'a', events: true, parts: { name: 'p', count: 1 } };
  // A projection that takes copies parks them itself, and other keys stay.
  const others = [
    { ...letter, id: 'state', document: 'a', projection: 'sums@1', pk: 'dead-letters|sums@1', events: false },
    { ...letter, id: 'other', document: 'a', key: [2] },
  ];
  const part = { id: 'p.0', pk: letter.pk, kind: 'dead-letter-part', bytes: 'e30=' };
  for (const one of [own, part, ...others]) await state(stage.west).items.create(one);
  // The one before died when the target had it.
  await state(stage.east).items.create({ ...own, carried: true });
  expect(await stage.move(1, stage.east)).toMatchObject({ letters: 1 });
  const ids = async (shard: MoveStage['west']) =>
    (
      await state(shard)
        .items.query<string>("SELECT VALUE c.id FROM c WHERE STARTSWITH(c.kind, 'dead-letter')")
        .fetchAll()
    ).resources.toSorted();
  expect(await ids(stage.west)).toEqual(['other']);
  expect(await ids(stage.east)).toEqual(['l', 'p.0']);
});
