import type { CosmosClient, Database } from '@azure/cosmos';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Meter } from '../../src/cosmos/budget/charge-meter.ts';
import { connect } from '../../src/cosmos/connect.ts';
import type { AggregateSpec, CopySpec, Doc } from '../../src/pipeline/specs.ts';
import { sinkDocumentId } from '../../src/pipeline/derived-ids.ts';
import { type Emulator, startEmulator } from '../../src/emulator/index.ts';
import type { Change } from '../../src/feed/reading/change.ts';
import { aggregateRunner } from '../../src/kinds/aggregate/aggregate-runner.ts';
import { copyRunner } from '../../src/kinds/copy/copy-runner.ts';
import { place } from '../../src/kinds/copy/place.ts';
import { Poison, type Runner } from '../../src/kinds/runner.ts';
import { CosmosAccess } from '../../src/access/cosmos-access.ts';

const COPY: CopySpec = {
  kind: 'copy',
  name: 'copied',
  version: 1,
  from: { container: 'Source', type: 'thing' },
  into: { container: 'Sink', type: 'copied' },
  onDelete: 'remove',
  stable: true,
  joins: [],
  map: (doc) => ({ id: doc['as'] ?? doc['id'], key: doc['sink'] ?? 'k', text: doc['text'] ?? null }),
};
const AGGREGATE: AggregateSpec = {
  kind: 'aggregate',
  name: 'counted',
  version: 1,
  from: { container: 'Source', type: 'thing' },
  into: { container: 'Sink', type: 'counted' },
  onDelete: 'remove',
  stable: false,
  groupBy: (_row, doc) => ({ key: doc['sink'] ?? 'k', group: doc['group'] }),
  measures: { cents: { kind: 'sum', of: (row) => (row as Doc)['cents'] as number } },
};
const SINK = { name: 'Sink', keyPaths: [['key']] };
const SOURCE = { name: 'Source', keyPaths: [['key']], types: new Map([['thing', {}]]) };

let emulator: Emulator;
let client: CosmosClient;
let database: Database;
let lsn = 0;

beforeAll(async () => {
  emulator = await startEmulator();
  const { httpClient } = emulator.clientOptions;
  client = connect({ kind: 'key', endpoint: emulator.endpoint, key: emulator.key }, [], { httpClient });
  ({ database } = await client.databases.create({ id: 'refusals' }));
  for (const [id, path] of [
    ['Source', '/key'],
    ['Sink', '/key'],
    ['millrace', '/pk'],
  ] as const) {
    await database.containers.create({ id, partitionKey: { paths: [path] }, defaultTtl: -1 });
  }
});

afterAll(async () => {
  client.dispose();
  await emulator.close();
});

const change = (doc: Doc & { id: string }, more: Partial<Change> = {}): Change => {
  lsn += 1;
  return {
    container: 'Source',
    type: 'thing',
    key: ['s'],
    id: doc.id,
    version: { epoch: 1, lsn, etag: `"${lsn}"` },
    at: 0,
    op: 'upsert',
    doc,
    ...more,
  };
};
const copier = (spec: CopySpec = COPY): Runner =>
  copyRunner(spec, SINK, { stateContainer: 'millrace', sources: new Map([['Source', SOURCE]]), readLagMs: 0 });
const aggregator = (measures: AggregateSpec['measures'] = AGGREGATE.measures): Runner =>
  aggregateRunner({ ...AGGREGATE, measures }, SINK, { stateContainer: 'millrace' });

const access = (meter = new Meter()) =>
  new CosmosAccess(
    database,
    { kind: 'host', tenure: {}, signal: new AbortController().signal, assert: () => undefined },
    meter,
  );

/** The codes of what a runner refuses, by source id; empty where it takes everything. */
async function refusals(runner: Runner, changes: readonly Change[]): Promise<Record<string, string>> {
  try {
    await runner.apply(changes, access());
    return {};
  } catch (error) {
    if (!(error instanceof Poison)) throw error;
    return Object.fromEntries(error.refusals.map((refusal) => [refusal.change.id, refusal.error.code]));
  }
}

const stored = async (id: string, key = 'k'): Promise<Doc | undefined> =>
  (await database.container('Sink').item(id, key).read<Doc>()).resource;

describe('a copy is refused', () => {
  test('a copy is refused where another source has its place, on one page or on two', async () => {
    const [first, second] = [change({ id: 'a1', as: 'shared' }), change({ id: 'a2', as: 'shared' })];
    expect(await refusals(copier(), [first, second])).toEqual({ a2: 'collision' });
    expect(await refusals(copier(), [first])).toEqual({});
    expect(await refusals(copier(), [second])).toEqual({ a2: 'collision' });
    expect(await stored('shared')).toMatchObject({ _src: { id: 'a1' } });
  });

  test('a copy is not refused where the source that has its place leaves it on the same page', async () => {
    const spec: CopySpec = { ...COPY, stable: false };
    const first = change({ id: 'r1', as: 'given' });
    expect(await refusals(copier(spec), [first])).toEqual({});
    const both = [change({ id: 'r1' }, { op: 'delete' }), change({ id: 'r2', as: 'given' })];
    expect(await refusals(copier(spec), both)).toEqual({});
    expect(await stored('given')).toMatchObject({ _src: { id: 'r2' } });
    const back = [change({ id: 'r1', as: 'given' }), change({ id: 'r2', as: 'elsewhere' })];
    expect(await refusals(copier(spec), back.toReversed())).toEqual({});
    expect(await refusals(copier(spec), back)).toEqual({});
    expect(await stored('given')).toMatchObject({ _src: { id: 'r1' } });
    // One that is older than what lies there has not left it.
    const late = change({ id: 'r1' }, { op: 'delete', version: first.version });
    expect(await refusals(copier(spec), [late, change({ id: 'r3', as: 'given' })])).toEqual({ r3: 'collision' });
  });

  test('a copy is refused where a document of somebody else lies, which stays as it is', async () => {
    await database.container('Sink').items.create({ id: 'theirs', key: 'k', type: 'copied', text: 'mine' });
    expect(await refusals(copier(), [change({ id: 'b', as: 'theirs' })])).toEqual({ b: 'sink-occupied' });
    expect(await stored('theirs')).toMatchObject({ text: 'mine' });
  });

  test('a copy is refused without an id, without the sink’s key, or where map throws; each change is named', async () => {
    const throws: CopySpec = {
      ...COPY,
      map: (doc) => {
        if (doc['id'] === 'c1') throw new TypeError('no such field');
        if (doc['id'] === 'c2') return { key: 'k' };
        return doc['id'] === 'c3' ? { id: 'c3' } : { id: 'c4', key: 'k' };
      },
    };
    const changes = ['c1', 'c2', 'c3', 'c4'].map((id) => change({ id }));
    expect(await refusals(copier(throws), changes)).toEqual({
      c1: 'projection-threw',
      c2: 'value-invalid',
      c3: 'key-missing',
    });
    expect(await refusals(copier(throws), changes.slice(3))).toEqual({});
  });

  test('a copy is refused when it is larger than Cosmos DB takes', async () => {
    expect(await refusals(copier(), [change({ id: 'd', text: 'x'.repeat(2_200_000) })])).toEqual({
      d: 'too-large',
    });
  });

  test('a copy is refused when its place depends on a joined document', async () => {
    const join = {
      name: 'other',
      of: { container: 'Source', type: 'thing' },
      on: { key: 'key', id: 'other' },
      missing: 'null',
    } as const;
    const spec: CopySpec = {
      ...COPY,
      name: 'dependent',
      joins: [join],
      map: (doc, { other }) => ({ id: doc['id'], key: other ? 'there' : 'k' }),
    };
    await database.container('Source').items.create({ id: 'e-other', key: 's', type: 'thing' });
    expect(await refusals(copier(spec), [change({ id: 'e', key: 's', other: 'e-other' })])).toEqual({
      e: 'place-changed',
    });
    const thrower: CopySpec = { ...spec, map: (_doc, { other }) => ({ id: (other as Doc)['name'], key: 'k' }) };
    const other = { ref: 'r', mark: 'm', version: null, pk: 'p', doc: { name: 'there' } };
    expect(() => place(thrower, SINK, change({ id: 'e' }), { other })).toThrow(
      expect.objectContaining({
        code: 'place-changed',
        message: expect.stringContaining("Cannot read properties of null (reading 'name')") as string,
        cause: expect.any(TypeError) as TypeError,
      }) as Error,
    );
  });

  test('a copy is never refused for its id: what Cosmos DB would not take is stored under a digest', async () => {
    expect(await refusals(copier(), [change({ id: 'f', as: 'a/b#c' })])).toEqual({});
    expect(await stored(sinkDocumentId('a/b#c'))).toMatchObject({ _src: { id: 'f' } });
    // What Cosmos DB takes keeps its name.
    expect(await refusals(copier(), [change({ id: 'q?', as: 'a?b' })])).toEqual({});
    expect(await stored('a?b')).toMatchObject({ _src: { id: 'q?' } });
  });
});

describe('an aggregate refuses', () => {
  test('a measure that is no finite number, and a group without the sink’s key', async () => {
    const changes = [
      change({ id: 'g1', group: 'x', cents: Number.NaN }),
      change({ id: 'g2', group: 'x', cents: 'many' }),
      change({ id: 'g3', group: 'x', cents: 1, sink: {} }),
    ];
    const codes = await refusals(aggregator(), changes);
    expect(codes).toEqual({ g1: 'value-invalid', g2: 'value-invalid', g3: 'key-missing' });
  });

  test('the one document with which a sum would no longer be exact', async () => {
    const changes = [1, Number.MAX_SAFE_INTEGER, 2].map((cents, at) => change({ id: `u${at}`, group: 'sum', cents }));
    expect(await refusals(aggregator(), changes.slice(0, 2))).toEqual({ u1: 'sum-unsafe' });
    expect(await refusals(aggregator(), changes.slice(2))).toEqual({});
    expect(await stored('counted|sum|k')).toMatchObject({ cents: 3 });
  });

  test('a row that keeps too much or nothing, and values that are no text or too many', async () => {
    const keep = (row: unknown): Doc => (row as { keep: Doc }).keep;
    const top = { best: { kind: 'top', n: 1, by: () => 1, keep } } as const;
    const kept = [{ text: 'x'.repeat(1_000) }, 'text', undefined].map((of, at) =>
      change({ id: `k${at}`, group: 'top', keep: of }),
    );
    expect(await refusals(aggregator(top), kept)).toEqual({
      k0: 'value-invalid',
      k1: 'value-invalid',
      k2: 'value-invalid',
    });
    const text = { values: { kind: 'distinct', of: (row: unknown) => (row as { value: string }).value } } as const;
    expect(await refusals(aggregator(text), [change({ id: 'v', group: 'v', value: 1 })])).toEqual({
      v: 'value-invalid',
    });
    const lines = (count: number): Doc[] => Array.from({ length: count }, (_, at) => ({ value: `v${at}` }));
    const spec = { ...AGGREGATE, measures: text, each: (doc: Doc) => doc['lines'] as Doc[] };
    const each = aggregateRunner(spec, SINK, { stateContainer: 'millrace' });
    const many = [50, 49, 49].map((count, at) => change({ id: `w${at}`, group: 'w', lines: lines(count) }));
    expect(await refusals(each, many)).toEqual({ w0: 'too-large' });
    // Three documents and their 98 values are more than a batch takes: they go by halves.
    const others = lines(49).map(({ value }) => ({ value: `other ${String(value)}` }));
    const changes = [...many.slice(1), change({ id: 'w3', group: 'w', lines: others })];
    expect(await refusals(each, changes)).toEqual({});
    expect(await stored('counted|w|k')).toMatchObject({ values: 98 });
  });

  test('a group whose place a document of somebody else has, which stays as it is', async () => {
    await database.container('Sink').items.create({ id: 'counted|taken|k', key: 'k', type: 'counted', cents: 5 });
    expect(await refusals(aggregator(), [change({ id: 'h', group: 'taken', cents: 1 })])).toEqual({
      h: 'sink-occupied',
    });
    expect(await stored('counted|taken|k')).toMatchObject({ cents: 5 });
  });

  test('nothing of a deletion, and removes a group with its last row', async () => {
    const before = change({ id: 'i', group: 'gone', cents: 7 });
    expect(await refusals(aggregator(), [before])).toEqual({});
    expect(await stored('counted|gone|k')).toMatchObject({ cents: 7, group: 'gone' });
    expect(await refusals(aggregator(), [change({ id: 'i', group: 'gone', cents: 7 }, { op: 'delete' })])).toEqual({});
    expect(await stored('counted|gone|k')).toBeUndefined();
  });
});

describe('groups of one key', () => {
  test('groups of one key share a batch, also when they change again', async () => {
    for (const cents of [1, 2]) {
      const meter = new Meter();
      const changes = Array.from({ length: 60 }, (_, at) => change({ id: `n${at}`, group: `n${at % 30}`, cents }));
      await aggregator().apply(changes, access(meter));
      expect(await stored('counted|n7|k')).toMatchObject({ cents: 2 * cents });
      // Of the locators and of the groups: a guess that fails, a read and a write, in one request each.
      expect(meter.requests).toBeLessThanOrEqual(8);
    }
  });

  test('groups of one key go each by itself where one of them is refused', async () => {
    const doc = (at: number): Doc => (at === 3 ? { cents: Number.MAX_SAFE_INTEGER } : { cents: at });
    expect(await refusals(aggregator(), [change({ id: 'p3-before', group: 'p3', cents: 1 })])).toEqual({});
    const changes = Array.from({ length: 9 }, (_, at) => change({ id: `p${at}`, group: `p${at}`, ...doc(at) }));
    expect(await refusals(aggregator(), changes)).toEqual({ p3: 'sum-unsafe' });
    expect(await stored('counted|p2|k')).toMatchObject({ cents: 2 });
    expect(await stored('counted|p3|k')).toMatchObject({ cents: 1 });
  });
});
