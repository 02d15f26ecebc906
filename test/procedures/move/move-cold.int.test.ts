// What a mover does with entries and copies of archived documents, step by step, without hosts.
import { expect, it } from 'vitest';
import { blobLineOf, pack } from '../../../src/archive/blobs/blob.ts';
import { beginSweeping } from '../../../src/archive/sweep/sweeping.ts';
import { Meter } from '../../../src/cosmos/budget/charge-meter.ts';
import type { Change } from '../../../src/feed/reading/change.ts';
import { lsnOf } from '../../../src/feed/reading/position.ts';
import { untilStopped } from '../../../src/feed/tenure/fences.ts';
import { cancelMove, planMove } from '../../../src/procedures/move/move.ts';
import type { MoveOptions } from '../../../src/procedures/move/options.ts';
import { movesOf } from '../../../src/procedures/move/record.ts';
import { Entries } from '../../../src/kinds/archive/entries.ts';
import type { Shard } from '../../../src/shards/index.ts';
import { CosmosAccess } from '../../../src/access/cosmos-access.ts';
import { MoveStage } from './move-stage.ts';

const { signal } = new AbortController();
const accessTo = (stage: MoveStage, { location }: Shard) =>
  new CosmosAccess(stage.database(location.database), untilStopped(signal), new Meter());

/** A stage whose tenant 1 has the orders `a` to `c` in the archive of `west`, and `d` in its container. */
async function shop(): Promise<{ stage: MoveStage; options: Partial<MoveOptions> }> {
  const stage = await MoveStage.open();
  const blobs = new Map<string, Uint8Array>();
  const orders = stage.orders(stage.west);
  for (const [n, id] of ['a', 'b', 'c'].entries()) {
    const doc = { id, type: 'order', tenantId: 1, n };
    const { resource } = await orders.items.create(doc);
    const version = { epoch: 0, lsn: n + 1, etag: resource!._etag };
    const change: Change = { container: 'Orders', key: [1], id, type: 'order', version, at: 0, op: 'upsert', doc };
    const { bytes, sha256 } = pack([blobLineOf(change)]);
    const name = `orders-cold@1/all/2026/01/${sha256}.jsonl.gz`;
    blobs.set(name, bytes);
    await new Entries('millrace').archive('orders-cold@1', change, { name, line: 0 }, accessTo(stage, stage.west));
    await orders.item(id, 1).delete();
  }
  await orders.items.create({ id: 'd', type: 'order', tenantId: 1, n: 9 });
  const read = async (name: string) => {
    const bytes = blobs.get(name);
    return bytes && { bytes, etag: name };
  };
  return { stage, options: { store: async () => ({ read }), holdMs: 20_000, takeOver: true } };
}

/** What a shard says of the orders: hot ones as they are, cold ones by their entries. */
async function shown(stage: MoveStage, shard: Shard): Promise<{ hot: string[]; cold: string[] }> {
  const hot = (await stage.stored(shard, 1)).map(({ id }) => id);
  const identities = ['a', 'b', 'c', 'd'].map((id) => ({ container: 'Orders', key: [1], id }));
  const entries = await new Entries('millrace').read(identities, accessTo(stage, shard));
  return { hot, cold: entries.flatMap((entry) => (entry?.state === 'archived' ? [entry.id] : [])) };
}

const ALL = { hot: ['d'], cold: ['a', 'b', 'c'] };
const COLD = { hot: [], cold: ['a', 'b', 'c'] };
const NONE = { hot: [], cold: [] };

it('entries go with the keys, whatever step the mover dies in, and back', async () => {
  const { stage, options } = await shop();
  await using _ = stage;
  for (const [from, to] of [
    [stage.west, stage.east],
    [stage.east, stage.west],
  ] as const) {
    // It dies at each step that it says, and the next one goes on.
    const died = new Set<string>();
    const say = async (text: string): Promise<void> => {
      if (died.has(text)) return;
      died.add(text);
      throw new Error('died');
    };
    for (let moved: unknown = new Error('died'); moved instanceof Error && moved.message === 'died';)
      moved = await stage.move(1, to, { ...options, say }).catch((error: unknown) => error);
    expect([...died]).toEqual(expect.arrayContaining(['copying', '3 archived documents taken along', 'changing over']));
    expect(died.size).toBeGreaterThan(7);
    expect([await shown(stage, from), await shown(stage, to)]).toEqual([NONE, ALL]);
    expect(await stage.everything(from, 1)).toEqual([]);
  }
});

it('after a move that was cancelled the target has no entry, and the next one takes all along', async () => {
  const { stage, options } = await shop();
  await using _ = stage;
  // Nothing is written in the source meanwhile, also no copy that is renewed.
  await stage.orders(stage.west).item('d', 1).delete();
  const say = async (text: string): Promise<void> => {
    if (text === 'changing over') throw new Error('died');
  };
  await expect(stage.move(1, stage.east, { ...options, say })).rejects.toThrow('died');
  expect((await shown(stage, stage.east)).cold).toEqual(COLD.cold);
  const opened = await stage.optionsOfProcess(stage.client, options);
  const [move] = await movesOf(opened.maps, 'tenants', signal);
  await cancelMove(opened, move!.id);
  expect([await shown(stage, stage.west), await shown(stage, stage.east)]).toEqual([COLD, NONE]);
  const marked: number[] = [];
  const look = async (text: string): Promise<void> => {
    if (text !== 'changing over') return;
    const entries = await new Entries('millrace').read(
      ['a', 'b', 'c'].map((id) => ({ container: 'Orders', key: [1], id })),
      accessTo(stage, stage.east),
    );
    marked.push(...entries.map((entry) => entry!.version.lsn));
  };
  expect(await stage.move(1, stage.east, { ...options, say: look })).toMatchObject({ archived: 3 });
  // Above what the first move has left in the target's sinks.
  const cancelled = (await movesOf(opened.maps, 'tenants', signal)).find(({ step }) => step === 'cancelled');
  const ends = cancelled!.containers['Orders']!.cancelledAt!.map(({ position }) => lsnOf(position));
  expect(Math.min(...marked)).toBeGreaterThan(Math.max(...ends));
  expect([await shown(stage, stage.west), await shown(stage, stage.east)]).toEqual([NONE, COLD]);
});

it('what comes back while its key moves is copied as it is then, and has no entry that says archived', async () => {
  const { stage, options } = await shop();
  await using _ = stage;
  const say = async (text: string): Promise<void> => {
    if (text === '3 archived documents taken along')
      await stage.orders(stage.west).items.create({ id: 'a', type: 'order', tenantId: 1, n: 7 });
    if (text === 'changing over') throw new Error('died');
  };
  await expect(stage.move(1, stage.east, { ...options, say })).rejects.toThrow('died');
  // The next one finds that the entry is overtaken: there is no host here that would.
  await stage.move(1, stage.east, options);
  expect(await stage.stored(stage.east, 1)).toMatchObject([{ id: 'a', n: 7 }, { id: 'd' }]);
  expect((await shown(stage, stage.east)).cold).toEqual(['b', 'c']);
});

it('a move waits for a sweep that writes, and is refused without the storage', async () => {
  const { stage, options } = await shop();
  await using _ = stage;
  const { store: _none, ...without } = options;
  await expect(stage.move(1, stage.east, without)).rejects.toMatchObject({ code: 'move-archived' });
  const plan = await planMove(await stage.optionsOfProcess(stage.client, options), await stage.mapping(1), stage.east);
  expect(plan).toMatchObject({ documents: { Orders: 1 }, archived: 3 });
  const ended = await beginSweeping(stage.database('west').container('millrace'), 'Orders');
  const said: string[] = [];
  const say = async (text: string): Promise<void> => {
    said.push(text);
    if (said.filter((one) => one.includes('sweep')).length === 3) await ended();
  };
  await stage.move(1, stage.east, { ...options, say });
  expect(said.slice(0, 5)).toEqual([
    'preparing',
    ...Array<string>(3).fill('waiting for a sweep that began before'),
    'copying',
  ]);
});
