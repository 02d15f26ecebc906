import {
  ChangeFeedMode,
  ChangeFeedPolicy,
  ChangeFeedRetentionTimeSpan,
  ChangeFeedStartFrom,
  type ChangeFeedPullModelIterator,
  type Container,
} from '@azure/cosmos';
import { type Bench, NotProbed, type Probe, holds, same, statusOf, until } from '../probe.ts';

interface Entry {
  readonly id: string;
  readonly v?: number;
  readonly _lsn: number;
  readonly _etag?: string;
}

const feedOf = (
  container: Container,
  maxItemCount = 100,
  from: ChangeFeedStartFrom = ChangeFeedStartFrom.Beginning(),
) => container.items.getChangeFeedIterator<Entry>({ changeFeedStartFrom: from, maxItemCount });

/** Everything there is by now. */
async function rest(feed: ChangeFeedPullModelIterator<Entry>): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (;;) {
    const page = await feed.readNext();
    if (page.statusCode === 304) return entries;
    entries.push(...page.result);
  }
}

const create = (container: Container, ids: readonly string[]) =>
  container.items.batch(
    ids.map((id) => ({ operationType: 'Create' as const, resourceBody: { id, pk: 'a' } })),
    'a',
  );

/** How the client keeps positions: one a range. */
interface Token {
  readonly Continuation: readonly { readonly continuationToken: string }[];
}

/** The same token with its position set to `lsn`. */
const at = (token: string, lsn: number): ChangeFeedStartFrom => {
  const parsed = JSON.parse(token) as Token;
  const Continuation = parsed.Continuation.map((range) => ({ ...range, continuationToken: `"${lsn}"` }));
  return ChangeFeedStartFrom.Continuation(JSON.stringify({ ...parsed, Continuation }));
};

export const feed: readonly Probe[] = [
  {
    number: 'ASM-A1',
    asks: '_lsn grows with each version of a document, and documents of one transaction share one',
    run: async (bench) => {
      const container = await bench.container();
      const reader = feedOf(container);
      await container.items.create({ id: '1', pk: 'a', v: 1 });
      const [first] = await rest(reader);
      await container.items.upsert({ id: '1', pk: 'a', v: 2 });
      const [second] = await rest(reader);
      holds((second?._lsn ?? 0) > (first?._lsn ?? Infinity), `_lsn went from ${first?._lsn} to ${second?._lsn}`);
      await create(container, ['x', 'y', 'z']);
      const batch = await rest(reader);
      same(batch.map(({ id }) => id).toSorted(), ['x', 'y', 'z'], 'the transaction');
      holds(new Set(batch.map(({ _lsn }) => _lsn)).size === 1, `its lsns are ${batch.map(({ _lsn }) => _lsn).join()}`);
    },
  },
  {
    number: 'ASM-A2',
    asks: 'the latest-version feed has a document once, nothing of deleted ones, and the whole of it after a patch',
    run: async (bench) => {
      const container = await bench.container();
      const reader = feedOf(container);
      await container.items.create({ id: '1', pk: 'a', v: 1, kept: true });
      await container.items.create({ id: '2', pk: 'a', v: 1 });
      await container.item('1', 'a').patch([{ op: 'set', path: '/v', value: 2 }]);
      await container.item('2', 'a').delete();
      const entries = await rest(reader);
      same(
        entries.map(({ id, v, ...others }) => [id, v, 'kept' in others]),
        [['1', 2, true]],
        'the feed',
      );
      await container.item('1', 'a').delete();
      same(await rest(reader), [], 'the feed behind a deletion');
    },
  },
  {
    number: 'ASM-A9',
    asks: 'a feed can be read on from any lsn, also from one that no page ended at',
    run: async (bench) => {
      const container = await bench.container();
      for (const id of ['1', '2', '3']) await container.items.create({ id, pk: 'a' });
      const reader = feedOf(container);
      const page = await reader.readNext();
      const [, second] = page.result;
      const later = await rest(feedOf(container, 100, at(page.continuationToken, second?._lsn ?? 0)));
      same(
        later.map(({ id }) => id),
        ['3'],
        'what lies behind the second',
      );
      const between = at(page.continuationToken, (second?._lsn ?? 0) - 1);
      same(
        (await rest(feedOf(container, 100, between))).map(({ id }) => id),
        ['2', '3'],
        'what lies behind the lsn before it',
      );
    },
  },
  {
    number: 'ASM-A26',
    asks: '_ts is in whole seconds, near the clock, set by the service whatever the client sends, and rises with a write',
    run: async (bench) => {
      const container = await bench.container();
      const { resource: first } = await container.items.create<{ id: string; pk: string; _ts: number }>({
        id: '1',
        pk: 'a',
        _ts: 1,
      });
      const ts = Number(first?._ts);
      holds(Number.isInteger(ts) && Math.abs(ts * 1_000 - Date.now()) < 300_000, `_ts is ${ts}`);
      const { resource: second } = await container
        .item('1', 'a')
        .patch<{ _ts: number }>([{ op: 'set', path: '/v', value: 2 }]);
      holds(Number(second?._ts) >= ts, `_ts went from ${ts} to ${second?._ts}`);
    },
  },
  {
    number: 'ASM-A27',
    asks: 'a start from now has a position: after all that is there, before all that is written afterwards',
    run: async (bench) => {
      const container = await bench.container();
      await create(container, ['1', '2']);
      await container.items.create({ id: '3', pk: 'b' });
      const lsns = (await rest(feedOf(container))).map(({ _lsn }) => _lsn);
      const now = feedOf(container, 100, ChangeFeedStartFrom.Now());
      const page = await now.readNext();
      const [range] = (JSON.parse(page.continuationToken) as Token).Continuation;
      const position = Number(/\d+/.exec(range?.continuationToken ?? '')?.[0]);
      holds(position >= Math.max(...lsns), `the position is ${position}, the lsns are ${lsns.join()}`);
      await container.items.create({ id: '4', pk: 'a' });
      const [later] = await rest(now);
      holds(later?.id === '4' && later._lsn > position, `what came is ${later?.id} at ${later?._lsn}`);
    },
  },
  {
    number: 'ASM-A32',
    asks: 'the feed of one key from a time on has what was written since, in its order, and no other key',
    run: async (bench) => {
      const container = await bench.container();
      await create(container, ['1']);
      await container.items.create({ id: '2', pk: 'b' });
      const { resource } = await container.item('1', 'a').read<{ _ts: number }>();
      const since = new Date((Number(resource?._ts) - 1) * 1_000);
      const found = await rest(feedOf(container, 100, ChangeFeedStartFrom.Time(since, 'a')));
      const ids = found.map(({ id }) => id).join();
      holds(ids === '1' && Number(found[0]?._lsn) > 0, `it has ${ids} at ${found[0]?._lsn}`);
      const later = new Date((Number(resource?._ts) + 3_600) * 1_000);
      const none = await rest(feedOf(container, 100, ChangeFeedStartFrom.Time(later, 'a')));
      holds(none.length === 0, `from an hour later on it has ${none.length}`);
    },
  },
  {
    number: 'ASM-A35',
    asks: 'a document without a key value lies in another partition than one whose value is null',
    run: async (bench) => {
      const container = await bench.container();
      for (const key of [{}, { pk: null }, { pk: 'a' }]) await container.items.create({ id: 'x', v: 1, ...key });
      const read = async (level: object | null): Promise<unknown> =>
        (await container.item('x', [level as never]).read<object>()).resource;
      holds(!('pk' in ((await read({})) as object)), 'the document that {} names has a key');
      holds('pk' in ((await read(null)) as object), 'the document that null names has no key');
      same((await rest(feedOf(container))).length, 3, 'the documents of one id in the feed');
    },
  },
  {
    number: 'ASM-E10',
    asks: 'a page never cuts a transaction, even where it becomes larger than asked for',
    run: async (bench) => {
      const container = await bench.container();
      await create(container, ['1', '2', '3', '4', '5']);
      const page = await feedOf(container, 2).readNext();
      holds(page.result.length === 5, `the first page has ${page.result.length} of 5`);
    },
  },
  {
    number: 'ASM-E11',
    asks: '304 carries a position',
    run: async (bench) => {
      const page = await feedOf(await bench.container()).readNext();
      same(page.statusCode, 304, 'the feed of an empty container');
      const [range] = (JSON.parse(page.continuationToken) as Token).Continuation;
      holds(/\d/.test(range?.continuationToken ?? ''), `its token is ${page.continuationToken}`);
    },
  },
  {
    number: 'ASM-E12',
    asks: 'a start from a time gives what was written since, and its continuation goes on by position',
    run: async (bench) => {
      const container = await bench.container();
      await container.items.create({ id: '1', pk: 'a' });
      const reader = feedOf(container, 100, ChangeFeedStartFrom.Time(new Date(Date.now() - 3_600_000)));
      same(
        (await rest(reader)).map(({ id }) => id),
        ['1'],
        'since an hour ago',
      );
      await container.items.create({ id: '2', pk: 'a' });
      same(
        (await rest(reader)).map(({ id }) => id),
        ['2'],
        'behind that',
      );
    },
  },
  {
    number: 'ASM-E43',
    asks: 'a feed answer’s session token is not behind the entries it brings',
    run: async (bench) => {
      const container = await bench.container();
      await container.items.create({ id: '1', pk: 'a' });
      const page = await feedOf(container).readNext();
      const newest = Number(/#(\d+)/.exec(page.sessionToken)?.[1] ?? Number.NaN);
      const last = page.result.at(-1)?._lsn ?? Infinity;
      holds(newest >= last, `session token ${page.sessionToken}, last entry at lsn ${last}`);
    },
  },
  {
    number: 'ASM-E31',
    asks: 'the all-versions feed has creates, replaces and deletes in order, as documented',
    run: async (bench) => {
      const { kept, reader } = await allVersions(await bench.container(KEPT));
      await kept.items.create({ id: '1', pk: 'a', v: 1 });
      await kept.items.upsert({ id: '1', pk: 'a', v: 2 });
      await kept.item('1', 'a').delete();
      const { result } = await reader.readNext();
      same(
        result.map(({ current, metadata }) => [metadata.operationType, current?.v ?? null]),
        [
          ['create', 1],
          ['replace', 2],
          ['delete', null],
        ],
        'the feed',
      );
      const { id, partitionKey } = result[2]?.metadata ?? {};
      same([id, partitionKey], ['1', { pk: 'a' }], 'what a delete names');
      holds(Number.isInteger(result[0]?.metadata.lsn), `its lsn is ${JSON.stringify(result[0]?.metadata.lsn)}`);
    },
  },
  {
    number: 'ASM-A19',
    asks: 'a delete in the all-versions feed says whether it is an expiry',
    run: async (bench) => {
      const { kept, reader } = await allVersions(await bench.container({ ...KEPT, defaultTtl: -1 }));
      await kept.items.create({ id: '1', pk: 'a', ttl: 1 });
      await kept.items.create({ id: '2', pk: 'a', ttl: 1000 });
      await kept.item('2', 'a').delete();
      const deletes = await deletesOf(bench, reader, 2);
      same(deletes.get('1')?.['timeToLiveExpired'], true, 'of the item that expired');
      holds(deletes.get('2')?.['timeToLiveExpired'] !== true, 'the delete by a client says that it is an expiry');
    },
  },
  {
    number: 'ASM-A20',
    asks: 'both feeds show a version with one ETag and one lsn, and the ETag is a condition of a write',
    run: async (bench) => {
      const { kept, reader } = await allVersions(await bench.container(KEPT));
      await kept.items.create({ id: '1', pk: 'a' });
      const [version] = (await reader.readNext()).result;
      const [latest] = (await feedOf(kept).readNext()).result;
      same(version?.metadata['lsn'], latest?._lsn, 'its lsn');
      same(version?.current?._etag, latest?._etag, 'its ETag');
      const condition = { accessCondition: { type: 'IfMatch', condition: version?.current?._etag ?? '' } };
      const patched = kept.item('1', 'a').patch([{ op: 'set', path: '/v', value: 2 }], condition);
      same(await statusOf(patched), '200', 'a patch under it');
    },
  },
  {
    number: 'ASM-A21',
    asks: 'the all-versions feed shows an expiry before the version that was written after it',
    run: async (bench) => {
      const { kept, reader } = await allVersions(await bench.container({ ...KEPT, defaultTtl: -1 }));
      await kept.items.create({ id: '1', pk: 'a', ttl: 1 });
      await until(bench, 'An item with a ttl of one second gone', async () => {
        return (await statusOf(kept.item('1', 'a').read())) === '404';
      });
      await kept.items.create({ id: '1', pk: 'a', v: 2 });
      const seen: string[] = [];
      await until(bench, 'The second item in the feed', async () => {
        for (const { current, metadata } of (await reader.readNext()).result ?? [])
          seen.push(current?.v === 2 ? 'again' : String(metadata['operationType']));
        return seen.includes('again');
      });
      same(seen, ['create', 'delete', 'again'], 'the feed');
    },
  },
  {
    number: 'ASM-A7',
    asks: 'the all-versions feed begins now or at a continuation, never at the beginning',
    run: async (bench) => {
      const { kept } = await allVersions(await bench.container(KEPT));
      const options = { changeFeedMode: ChangeFeedMode.AllVersionsAndDeletes };
      const early = kept.items.getChangeFeedIterator({
        ...options,
        changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
      });
      // The client itself may refuse it, without a status.
      const ended = await statusOf(early.readNext()).catch((error: unknown) => String(error));
      holds(!/^(200|304)/.test(ended), `a start at the beginning ends with ${ended}`);
    },
  },
];

const KEPT = { changeFeedPolicy: new ChangeFeedPolicy(ChangeFeedRetentionTimeSpan.fromMinutes(10)) };

interface Version {
  readonly current?: { readonly v?: number; readonly _etag?: string };
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** The metadata of so many deletes, by id. */
async function deletesOf(bench: Bench, reader: ChangeFeedPullModelIterator<Version>, count: number) {
  const found = new Map<unknown, Version['metadata']>();
  await until(bench, 'The deletes in the feed', async () => {
    for (const { metadata } of (await reader.readNext()).result ?? [])
      if (metadata['operationType'] === 'delete') found.set(metadata['id'], metadata);
    return found.size >= count;
  });
  return found;
}

async function allVersions(kept: Container) {
  const reader = kept.items.getChangeFeedIterator<Version>({
    changeFeedMode: ChangeFeedMode.AllVersionsAndDeletes,
    changeFeedStartFrom: ChangeFeedStartFrom.Now(),
  });
  const status = await statusOf(reader.readNext());
  if (!/^(200|304)/.test(status))
    throw new NotProbed(`The all-versions feed is answered ${status}: the account has it not switched on.`);
  return { kept, reader };
}
