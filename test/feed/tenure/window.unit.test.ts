import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Change } from '../../../src/feed/reading/change.ts';
import { type PagePart, Window, type WindowOptions } from '../../../src/feed/tenure/window.ts';

const change = (lsn: number, key: string): Change => ({
  container: 'c',
  type: 'item',
  key: [key],
  id: `${key}${lsn}`,
  version: { epoch: 1, lsn, etag: `"${lsn}"` },
  at: 0,
  op: 'upsert',
});
const page = (next: number, ...changes: Change[]) => ({ changes, next: `"${next}"`, charge: 1, readAt: 0 });

interface Handed {
  readonly ids: readonly string[];
  readonly done: () => void;
  readonly fail: (error: unknown) => void;
  readonly acknowledge: (...of: Change[]) => void;
}

function open(options: Partial<WindowOptions> = {}) {
  const handed: Handed[] = [];
  const advances: [string, boolean][] = [];
  const window = new Window({
    from: '"0"',
    orderOf: ({ key }) => key[0] as string,
    concurrency: 10,
    most: 100,
    automatic: true,
    handle: ({ changes }, acknowledge) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const ids = changes.map(({ id }) => id);
      handed.push({ ids, done: resolve, fail: reject, acknowledge: (...of) => acknowledge(of) });
      return promise;
    },
    onAdvance: (position, pageEnd) => advances.push([position, pageEnd]),
    ...options,
  });
  const ids = (): (readonly string[])[] => handed.map((one) => one.ids);
  return { window, handed, advances, ids };
}

it('a window hands on different order values in parallel and one value in order, also over pages', async () => {
  const { window, handed, ids } = open();
  window.offer(page(4, change(1, 'a'), change(2, 'b'), change(3, 'a'), change(4, 'c')));
  window.offer(page(6, change(5, 'a'), change(6, 'd')));
  await turn();
  expect(ids()).toEqual([['a1', 'a3'], ['b2'], ['c4'], ['d6']]);
  handed[0]?.done();
  await turn();
  expect(ids().at(-1)).toEqual(['a5']);
});

it('a window advances to just before the lowest that isn’t acknowledged, and says when a page is over', async () => {
  const { window, handed, advances } = open();
  window.offer(page(3, change(1, 'a'), change(2, 'b'), change(3, 'c')));
  window.offer(page(5, change(5, 'd')));
  await turn();
  for (const [index, expected] of [
    [1, []],
    [3, []],
    [0, [['"2"', false]]],
    [
      2,
      [
        ['"2"', false],
        ['"5"', true],
      ],
    ],
  ] as const) {
    handed[index]?.done();
    await turn();
    expect(advances).toEqual(expected);
  }
});

it('a window knows the lowest whatever order a page has, and of what is delivered again', async () => {
  const { window, handed, advances } = open();
  window.offer(page(4, change(4, 'a'), change(1, 'b'), change(3, 'c')));
  await turn();
  handed[2]?.done();
  await turn();
  window.offer(page(4, change(3, 'd')));
  await turn();
  handed[1]?.done();
  await turn();
  handed[0]?.done();
  await turn();
  expect(advances).toEqual([['"2"', false]]);
  handed[3]?.done();
  await turn();
  expect(advances.at(-1)).toEqual(['"4"', true]);
});

it('a window never stops in the middle of an lsn', async () => {
  const { window, handed, advances } = open();
  window.offer(page(7, change(6, 'a'), change(7, 'b'), change(7, 'c')));
  await turn();
  handed[1]?.done();
  await turn();
  expect(advances).toEqual([['"5"', false]]);
  handed[0]?.done();
  await turn();
  expect(advances.at(-1)).toEqual(['"6"', false]);
  handed[2]?.done();
  await turn();
  expect(advances.at(-1)).toEqual(['"7"', true]);
});

it('a window counts by hand what is acknowledged by hand, in any order', async () => {
  const { window, handed, advances } = open({ automatic: false, orderOf: undefined });
  const all = [change(1, 'a'), change(2, 'b'), change(3, 'c')];
  window.offer(page(3, ...all));
  await turn();
  handed[0]?.done();
  await turn();
  expect(advances).toEqual([]);
  handed[0]?.acknowledge(...all.slice(1));
  expect(advances).toEqual([]);
  handed[0]?.acknowledge(...all.slice(0, 1));
  expect(advances).toEqual([['"3"', true]]);
});

it('a window has room for no more than its most, nor for more than one page ahead', async () => {
  const { window, handed } = open({ most: 2 });
  let room = false;
  window.offer(page(2, change(1, 'a'), change(2, 'b')));
  const asked = window.room().then(() => (room = true));
  await turn();
  expect(room).toBe(false);
  handed[0]?.done();
  await asked;
  const pages = open({ orderOf: undefined });
  let second = false;
  pages.window.offer(page(1, change(1, 'a')));
  const next = pages.window.room().then(() => (second = true));
  await turn();
  expect(second).toBe(false);
  pages.handed[0]?.done();
  await next;
});

it('a window begins no more than its places allow, and nothing once something failed', async () => {
  const { window, handed, ids, advances } = open({ concurrency: 2 });
  window.offer(page(4, change(1, 'a'), change(2, 'b'), change(3, 'c'), change(4, 'd')));
  await turn();
  expect(ids()).toHaveLength(2);
  handed[0]?.fail(new Error('the sink is not there'));
  await turn();
  expect(window.failed.reason).toMatchObject({ message: 'the sink is not there' });
  expect(ids()).toHaveLength(2);
  let closed = false;
  const closing = window.close().then(() => (closed = true));
  await turn();
  expect(closed, 'what runs goes on').toBe(false);
  handed[1]?.done();
  await closing;
  expect(ids()).toHaveLength(2);
  expect(advances).toEqual([]);
  expect(window.position).toBe('"0"');
});

it('a window does not go back when the feed delivers again what is acknowledged', async () => {
  const { window, handed, advances } = open();
  window.offer(page(5, change(5, 'a')));
  await turn();
  handed[0]?.done();
  await turn();
  window.offer(page(6, change(4, 'b'), change(6, 'c')));
  await turn();
  handed[2]?.done();
  await turn();
  expect(advances).toEqual([
    ['"5"', true],
    ['"6"', true],
  ]);
});

it('a window accepts no page while it has changes of as many pages as it may', async () => {
  const { window, handed } = open({ most: 10_000, mostPages: 2 });
  window.offer(page(500, ...Array.from({ length: 500 }, (_, n) => change(1 + n, 'a'))));
  window.offer(page(501));
  await window.room();
  window.offer(page(503, change(502, 'b'), change(503, 'c')));
  let room = false;
  void window.room().then(() => (room = true));
  await turn();
  expect(room).toBe(false);
  handed[1]?.done();
  await turn();
  expect(room).toBe(false);
  handed[2]?.done();
  await turn();
  expect(room).toBe(true);
});

it('a window accepts four times as many pages while they have few changes', async () => {
  const { window, handed } = open({ mostPages: 2 });
  for (let lsn = 1; lsn <= 8; lsn++) {
    await window.room();
    window.offer(page(lsn, change(lsn, `k${lsn}`)));
  }
  let room = false;
  void window.room().then(() => (room = true));
  await turn();
  expect(room).toBe(false);
  handed[0]?.done();
  await turn();
  expect(room).toBe(true);
});

it('a window is half full with half of its pages, if these have more than a few changes', () => {
  const { window } = open({ most: 10_000, mostPages: 4 });
  const changes = (from: number, count: number) => Array.from({ length: count }, (_, n) => change(from + n, `k${n}`));
  expect(window.half).toBe(5_000);
  window.offer(page(100, ...changes(1, 100)));
  expect(window.half).toBe(5_000);
  window.offer(page(200, ...changes(101, 100)));
  expect(window.half).toBe(500);
  window.offer(page(1_000, ...changes(201, 800)));
  expect(window.half).toBe(1_000);
});

it.each([
  ['before', 1],
  ['after', 900],
])('a window counts a copy by a move where this feed has it, though its version’s lsn is %s that', async (_, lsn) => {
  const { window, handed, advances } = open({ from: '"20"' });
  const copy = { ...change(lsn, 'a'), moved: true, feedLsn: 22 };
  window.offer(page(25, change(21, 'b'), copy, change(25, 'c')));
  await turn();
  handed[0]?.done();
  handed[2]?.done();
  await turn();
  expect([window.unacknowledged, window.position, advances]).toEqual([1, '"21"', [['"21"', false]]]);
  handed[1]?.done();
  await turn();
  expect([window.isEmpty, advances.at(-1)]).toEqual([true, ['"25"', true]]);
});

describe('pages that wait', () => {
  const join = { most: () => 3, charge: 100 };
  const read = (next: number, readAt: number, ...changes: Change[]) => ({ ...page(next, ...changes), readAt });

  it('pages that wait become one part with the time of the oldest, and nothing waits for them', async () => {
    const parts: PagePart[] = [];
    const dones: (() => void)[] = [];
    const { window, advances } = open({
      orderOf: undefined,
      join,
      handle: (part) => {
        parts.push(part);
        return new Promise((resolve) => dones.push(resolve));
      },
    });
    window.offer(read(1, 10, change(1, 'a')));
    await turn();
    expect(parts).toHaveLength(1);
    window.offer(read(2, 20, change(2, 'a')));
    window.offer(read(4, 15, change(3, 'b'), change(4, 'a')));
    window.offer(read(5, 30, change(5, 'c')));
    await turn();
    expect(parts).toHaveLength(1);
    dones[0]?.();
    await turn();
    expect(parts[1]?.changes.map(({ id }) => id)).toEqual(['a2', 'b3', 'a4']);
    expect(parts[1]?.page).toMatchObject({ changes: parts[1]?.changes, readAt: 15 });
    expect(parts).toHaveLength(2);
    dones[1]?.();
    await turn();
    expect(parts[2]?.changes.map(({ id }) => id)).toEqual(['c5']);
    expect(advances).toEqual([
      ['"1"', true],
      ['"4"', true],
    ]);
  });

  it('pages that wait are read on while the feed has more, up to what runs and as much again', async () => {
    const { window } = open({ orderOf: undefined, join });
    const hasRoom = async (more: boolean): Promise<boolean> => {
      let room = false;
      void window.room(more).then(() => (room = true));
      await turn();
      return room;
    };
    window.offer(page(3, change(1, 'a'), change(2, 'a'), change(3, 'a')));
    expect(await hasRoom(false)).toBe(false);
    expect(await hasRoom(true)).toBe(true);
    window.offer(page(6, change(4, 'a'), change(5, 'a'), change(6, 'a')));
    expect(await hasRoom(true)).toBe(false);
  });

  it('pages that wait cost no more to read than what runs and as much again', async () => {
    const { window } = open({ orderOf: undefined, join: { most: () => 100, charge: 1 } });
    window.offer(page(1, change(1, 'a')));
    window.offer(page(2, change(2, 'a')));
    let room = false;
    void window.room(true).then(() => (room = true));
    await turn();
    expect(room).toBe(false);
  });

  it('pages that wait take up no changes whose order value is in another part’s hand', async () => {
    const { window, handed, ids } = open({ together: 1, join: { most: () => 10, charge: 100 } });
    window.offer(page(2, change(1, 'a'), change(2, 'b')));
    await turn();
    window.offer(page(4, change(3, 'a'), change(4, 'b')));
    window.offer(page(6, change(5, 'c'), change(6, 'd')));
    window.offer(page(8, change(7, 'a'), change(8, 'c')));
    await turn();
    handed[0]?.done();
    await turn();
    const begun = [
      ['a1', 'b2'],
      ['c5', 'd6'],
      ['a3', 'b4'],
    ];
    expect(ids()).toEqual(begun);
    handed[2]?.done();
    await turn();
    expect(ids()).toEqual(begun);
    handed[1]?.done();
    await turn();
    expect(ids().at(-1)).toEqual(['a7', 'c8']);
  });
});
