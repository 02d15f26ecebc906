// How a sweep finds what is due: by an index of the source, with the versions from the feed of each key (ARC-H22).
import { expect, it, test } from 'vitest';
import { duePages } from '../../src/archive/sweep/due-pages.ts';
import { sweepArchive } from '../../src/archive/sweep/sweep.ts';
import type { Archive } from '../../src/archive/types.ts';
import { parseDate, utc } from '../../src/pipeline/date.ts';
import type { ArchiveRule, Doc } from '../../src/pipeline/specs.ts';
import type { KeyedSource } from '../../src/feed/reading/source.ts';
import { MemoryBlobStore } from './memory-blob-store.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';
import { type ArchiveStage, NOW, OPEN, SIGNAL, SPEC, archiveStage, collect, order } from './stage.ts';

const SEED = suiteSeed();

const pad = (value: number): string => String(value).padStart(2, '0');

/** Any date that `parseDate` reads, near the bounds more often, and what is none. */
function anyDate(random: Random): unknown {
  const year = random.pick([1, 99, 1950, 1999, 2000, 2000, 2001, 2003, 2004]);
  const day = new Date(utc(year, random.pick([0, 0, 5, 11, 11]), random.pick([1, 2, 3, 15, 29, 30, 31])));
  const by = random.pick(['-', '/']);
  const text = [String(day.getUTCFullYear()).padStart(4, '0'), pad(day.getUTCMonth() + 1), pad(day.getUTCDate())].join(
    by,
  );
  const time = `${random.pick(['T', ' '])}${pad(random.int(24))}:${pad(random.int(60))}`;
  return random.pick([
    () => text,
    () => `${text}${time}`,
    () => `${text}${time}${random.pick(['Z', '+14:00', '-12:00', '+0200'])}`,
    () => day.getTime() / 1_000,
    () => day.getTime(),
    () => random.pick(['', 'soon', '0', '2000', '2000.01.01', '2000-13-01', -1, -1e13, true, null, 5e15]),
  ])();
}

it.each<[string, ArchiveRule, number]>([
  ['before a day', { kind: 'before', ms: Date.UTC(2001, 0, 1), text: '2001-01-01' }, Date.UTC(2001, 0, 1) - 1],
  ['older than a year', { kind: 'after', ms: 365 * 86_400_000, text: '365d' }, NOW - 365 * 86_400_000],
])(
  `a sweep finds by index all that is due by a rule, and nothing else: %s (seed ${SEED})`,
  async (_what, rule, last) => {
    const random = new Random(SEED);
    const stage = await archiveStage();
    const docs = Array.from({ length: 400 }, (_, n): Doc & { id: string } =>
      order(`o${n}`, { date: anyDate(random), tenant: `t${random.int(5)}` }),
    );
    for (const doc of docs) await stage.orders.items.create(doc);
    const due = docs.filter(({ date }) => {
      const at = parseDate(date);
      return at !== undefined && at <= last;
    });
    const swept = await stage.sweep({}, { spec: { ...SPEC, rule } });
    expect(due.length).toBeGreaterThan(40);
    expect(swept.archived).toBe(due.length);
    const rest = docs.filter((doc) => !due.includes(doc)).map(({ id }) => id);
    expect(await stage.hot()).toEqual(rest.toSorted());
  },
);

test('a document that changed after the query leaves in its new version, or stays if that is not due', async () => {
  const store = new MemoryBlobStore();
  const stage = await archiveStage(store);
  for (const id of ['a', 'b', 'c', 'd']) await stage.orders.items.create(order(id));
  let first = true;
  const swept = await sweep(stage, async () => {
    if (!first) return;
    first = false;
    await stage.orders.items.upsert(order('a', { cents: 2 }));
    await stage.orders.items.upsert(order('b', { date: '2002-01-01' }));
    await stage.orders.item('c', 't').delete();
  });
  expect(swept).toMatchObject({ archived: 2, removed: 2, superseded: 0 });
  expect(await stage.hot()).toEqual(['b']);
  const cold = (await stage.history()).flatMap(({ cold: isCold, doc }) => (isCold ? [doc] : []));
  expect(cold).toEqual(expect.arrayContaining([order('a', { cents: 2 }), order('d')]));
  expect(cold).toHaveLength(2);
});

test('a document leaves although no time finds it in the feed, since a clock went back', async () => {
  const stage = await archiveStage();
  for (const id of ['a', 'b']) await stage.orders.items.create(order(id));
  const source = stage.archive.feed.source;
  const backwards: KeyedSource = {
    ...bound(source),
    found: (raw) => source.found({ ...raw, _ts: Number(raw['_ts']) + 3_600 }),
  };
  const swept = await stage.sweep({}, { feed: { ...stage.archive.feed, source: backwards } });
  expect(swept).toMatchObject({ archived: 2, removed: 2 });
  expect(await stage.hot()).toEqual([]);
});

test('an upcast may take the date from another field, so the feed is read', async () => {
  const stage = await archiveStage();
  const upcast = (old: unknown): Doc => ({ ...(old as Doc), date: (old as Doc)['closed'] });
  const source = { ...stage.archive.source, types: new Map([['order', { upcast }]]) };
  await stage.orders.items.create(order('a', { date: '2002-01-01', closed: '2000-01-01' }));
  await stage.orders.items.create(order('b', { closed: '2002-01-01' }));
  expect(await stage.sweep({}, { source })).toMatchObject({ read: 2, archived: 1 });
  expect(await stage.hot()).toEqual(['b']);
});

test('a sweep whose time is up says so, and the next one goes on', async () => {
  const stage = await archiveStage();
  const ids = Array.from({ length: 600 }, (_, n) => `o${n}`);
  for (const id of ids) await stage.orders.items.create(order(id));
  const first = await stage.sweep({ withinMs: 0 });
  expect(first.complete).toBe(false);
  expect(first.archived).toBeGreaterThan(0);
  expect(first.archived).toBeLessThan(600);
  const second = await stage.sweep({ withinMs: 600_000 });
  expect(second.complete).toBe(true);
  expect(first.archived + second.archived).toBe(600);
  expect(await stage.hot()).toEqual([]);
});

test('what is due is looked for where it stands, however much was written between and after', async () => {
  const stage = await archiveStage();
  const pages: number[] = [];
  const source = stage.archive.feed.source;
  for (let n = 0; n < 5; n++) {
    await stage.orders.items.create(order(`due${n}`));
    stage.emulator.advance(60_000);
    for (let m = 0; m < 150; m++) await stage.orders.items.create(order(`young${n}-${m}`, { date: '2002-05-01' }));
    stage.emulator.advance(60_000);
  }
  const counted: KeyedSource = {
    ...bound(source),
    async *ofKey(...of) {
      for await (const page of source.ofKey(...of)) {
        pages.push(page.changes.length);
        yield page;
      }
    },
  };
  const feed = { ...stage.archive.feed, source: counted };
  const found = await collect(
    duePages({ ...stage.archive, feed }, { now: NOW, signal: SIGNAL, note: () => undefined }),
  );
  expect(found.flatMap(({ changes }) => changes.map(({ id }) => id))).toEqual(['due0', 'due1', 'due2', 'due3', 'due4']);
  expect(pages).toHaveLength(5);
});

const bound = (source: KeyedSource): KeyedSource => ({
  prepare: source.prepare.bind(source),
  read: source.read.bind(source),
  resolve: source.resolve.bind(source),
  found: source.found.bind(source),
  ofKey: source.ofKey.bind(source),
});

/** `before`: called before the first page of a key is read, after the query has found its documents. */
async function sweep(stage: ArchiveStage, before: () => Promise<void>) {
  const source = stage.archive.feed.source;
  const late: KeyedSource = {
    ...bound(source),
    async *ofKey(...of) {
      await before();
      yield* source.ofKey(...of);
    },
  };
  const archive: Archive = { ...stage.archive, feed: { ...stage.archive.feed, source: late } };
  return sweepArchive(archive, { now: NOW, gate: async () => OPEN, signal: SIGNAL });
}
