// Reactions, sinks outside of Cosmos DB, and runners of one's own, by the engine and on the embedded server.
import { type Entry, SinkRefusal, custom, react, send } from 'millrace';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serveSearch } from '../../examples/storefront/search/server.ts';
import { searchIndex } from '../../examples/storefront/search/sink.ts';
import type { Doc, Effect, EmbedSpec, PublishSpec, ReactSpec } from '../../src/pipeline/specs.ts';
import { recomputeRows } from '../../src/pipeline/oracle/recompute-rows.ts';
import { DeadLetters } from '../../src/engine/dead-letters/dead-letters.ts';
import { Engine } from '../../src/engine/engine.ts';
import type { Change } from '../../src/feed/reading/change.ts';
import { eventId } from '../../src/kinds/publish/event.ts';
import { EffectRecords } from '../../src/kinds/effects/records.ts';
import { embeddedPaths } from '../../src/pipeline/fields/touched.ts';
import { effectKey, reactRunner } from '../../src/kinds/react/react-runner.ts';
import type { Runner } from '../../src/kinds/runner.ts';
import { sendRunner } from '../../src/kinds/send/send-runner.ts';
import { type TwoHosts, openTwoHosts } from './two-hosts.ts';
import { UNFENCED } from './history.ts';
import { namesOf } from '../support/names-of.ts';

interface Product {
  id: string;
  type: 'product';
  storeId: string;
  name: string;
  status?: string;
}
interface Shop {
  Products: { product: Product };
}
const m = namesOf<Shop>();

let hosts: TwoHosts;
let lsn = 0;
beforeAll(async () => {
  hosts = await openTwoHosts({});
});
afterAll(() => hosts[Symbol.asyncDispose]());

const change = (id: string, doc: Doc = {}, more: Partial<Change> = {}): Change => {
  lsn += 1;
  return {
    container: 'Products',
    type: 'product',
    key: ['s'],
    id,
    version: { epoch: 1, lsn, etag: `"${lsn}"` },
    at: 0,
    op: 'upsert',
    doc: { id, type: 'product', storeId: 's', name: id, ...doc },
    ...more,
  };
};

interface Run {
  readonly id: string;
  readonly attempt: number;
  readonly key: string;
}

function reaction(
  name: string,
  run: (doc: Product, effect: Effect) => void | Promise<void> = () => undefined,
  more: Partial<ReactSpec> = {},
  embeds: readonly EmbedSpec[] = [],
): { runner: Runner; runs: Run[] } {
  const runs: Run[] = [];
  const spec = react(name, {
    from: m.Products.product,
    run: async (doc, effect) => {
      runs.push({ id: doc.id, attempt: effect.attempt, key: effect.key });
      await run(doc, effect);
    },
  });
  const records = embeds.length > 0 ? recordsFor(name, embeds) : undefined;
  const runner = reactRunner({ ...spec, ...more }, { records, pauseMs: 1 });
  return { runner, runs };
}

const recordsFor = (name: string, embeds: readonly EmbedSpec[]): EffectRecords => {
  const embedded = () => embeddedPaths(embeds, m.Products.product);
  return new EffectRecords({ stateContainer: 'millrace', projection: `${name}@1`, ignored: embedded, embedded });
};

const PUBLISHED: PublishSpec = {
  kind: 'publish',
  name: 'out',
  version: 1,
  from: m.Products.product,
  to: 'hub',
  format: 'raw',
  order: 'document',
  images: false,
};

const engineOf = (...runners: Runner[]) => {
  const deadLetters = new DeadLetters(hosts.database.container('millrace'));
  return { deadLetters, engine: new Engine({ database: hosts.database, runners, deadLetters }) };
};
const page = (...changes: Change[]) => ({ changes, charge: 0, readAt: performance.now() });
const ids = (runs: readonly Run[]): string[] => runs.map(({ id }) => id);

describe('a reaction', () => {
  it('a reaction is tried again with the same key, then parked, and the others of the page run once', async () => {
    const { runner, runs } = reaction('failing', ({ id }) => {
      if (id === 'b') throw new Error('no such address');
    });
    const { engine, deadLetters } = engineOf(runner);
    const b = change('b');
    expect(await engine.consume(page(change('a'), b, change('c')), UNFENCED)).toEqual({ applied: 2, parked: 1 });
    expect(ids(runs).filter((id) => id !== 'b')).toEqual(['a', 'c']);
    const tries = runs.filter(({ id }) => id === 'b');
    expect(tries.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5]);
    expect(new Set(tries.map(({ key }) => key))).toEqual(new Set([effectKey('failing@1', b)]));
    const { version } = b;
    expect(tries[0]?.key).toBe(
      `Products/%5B%22s%22%5D/b/${encodeURIComponent(version.etag)}/${version.lsn}/failing%401`,
    );
    expect(await deadLetters.list('failing@1')).toMatchObject([
      { id: 'b', code: 'reaction-failed', message: 'The reaction failed 5 times: no such address' },
    ]);
  });

  it('a reaction has the same key where its change is delivered again in a later epoch, and another one for another version', () => {
    const { version, ...of } = change('a');
    const keyOf = (other: Partial<typeof version>) => effectKey('r@1', { ...of, version: { ...version, ...other } });
    expect(keyOf({ epoch: version.epoch + 1 })).toBe(keyOf({}));
    expect(keyOf({ etag: `${version.etag}2` })).not.toBe(keyOf({}));
  });

  it('a reaction of one document runs in order, of one key too where that is declared, and behind a parked one it waits', async () => {
    const open: string[] = [];
    let together = 0;
    const { runner, runs } = reaction(
      'keyed',
      async ({ storeId, name }) => {
        together = Math.max(together, open.push(storeId) - new Set(open).size);
        await new Promise((resolve) => setImmediate(resolve));
        open.splice(open.indexOf(storeId), 1);
        if (name === 'bad') throw new Error('bad');
      },
      { order: 'partitionKey', attempts: 1 },
    );
    const { engine } = engineOf(runner);
    const outcome = await engine.consume(
      page(change('a'), change('b', { name: 'bad' }), change('c'), change('d', { storeId: 't' }, { key: ['t'] })),
      UNFENCED,
    );
    expect(outcome).toEqual({ applied: 2, parked: 2 });
    expect(ids(runs).toSorted()).toEqual(['a', 'b', 'd']);
    expect(together).toBe(0);
    // A newer version takes the parked one's place: what waited goes on, in the order of the versions.
    await engine.consume(page(change('b')), UNFENCED);
    expect(ids(runs).slice(3)).toEqual(['c', 'b']);
  });

  it('a reaction is ended when it lasts too long, heeding its signal or not', async () => {
    let aborted = 0;
    const never = (_doc: Product, { signal }: Effect): Promise<void> =>
      new Promise(() => signal.addEventListener('abort', () => (aborted += 1)));
    const { runner } = reaction('hanging', never, { attempts: 2, timeoutMs: 20 });
    const { engine, deadLetters } = engineOf(runner);
    expect(await engine.consume(page(change('a')), UNFENCED)).toEqual({ applied: 0, parked: 1 });
    expect(aborted).toBe(2);
    expect(await deadLetters.list('hanging@1')).toMatchObject([
      { message: 'The reaction failed 2 times: it did not end within 20 ms' },
    ]);
  });

  it('a reaction is left to the next owner when the lease is lost, and nothing is parked', async () => {
    const lost = new AbortController();
    const { runner, runs } = reaction('lost', () => lost.abort(new DOMException('lease lost', 'AbortError')));
    const fence = {
      kind: 'lease',
      tenure: {},
      signal: lost.signal,
      assert: () => lost.signal.throwIfAborted(),
    } as const;
    const { engine, deadLetters } = engineOf(runner);
    await expect(engine.consume(page(change('a'), change('a', { name: 'second' })), fence)).rejects.toThrow(
      'lease lost',
    );
    expect(runs).toHaveLength(1);
    expect(await deadLetters.list('lost@1')).toEqual([]);
  });

  it('a reaction skips what came back from the archive, or was deleted, unless asked', async () => {
    const quiet = reaction('quiet');
    const asked = reaction('asked', undefined, { restored: true, onDelete: 'keep' });
    const changes = [
      change('restored', {}, { restored: true }),
      change('deleted', {}, { op: 'delete' }),
      change('new'),
    ];
    for (const { runner } of [quiet, asked]) await engineOf(runner).engine.consume(page(...changes), UNFENCED);
    expect(ids(quiet.runs)).toEqual(['new']);
    expect(ids(asked.runs).toSorted()).toEqual(['deleted', 'new', 'restored']);
  });

  it('a reaction skips what nothing but an embed wrote, but never what the application wrote under it', async () => {
    const embedded = { into: m.Products.product, each: undefined, set: { currency: () => '' } } as unknown as EmbedSpec;
    const { runner, runs } = reaction('echoed', undefined, {}, [embedded]);
    const { engine } = engineOf(runner);
    await engine.consume(page(change('a', { status: 'new' })), UNFENCED);
    await engine.consume(page(change('a', { status: 'new', currency: 'EUR', ttl: 5 })), UNFENCED);
    expect(runs).toHaveLength(1);
    // The latest-version feed shows one change for both: the application's, and the embed's after it.
    await engine.consume(page(change('a', { status: 'paid', currency: 'CHF' })), UNFENCED);
    expect(runs).toHaveLength(2);
    // A copy by a move that no host has seen before an embed wrote upon it.
    await engine.consume(page(change('b', { status: 'new', currency: 'CHF' }, { echo: true })), UNFENCED);
    await engine.consume(page(change('b', { status: 'new', currency: 'EUR' })), UNFENCED);
    expect(runs).toHaveLength(2);
  });

  it('a reaction gets nothing that a move wrote, which resolves no letter, and is owed what is parked', async () => {
    let fails = true;
    const { runner, runs } = reaction(
      'moving',
      () => {
        if (fails) throw new Error('not yet');
      },
      { attempts: 1 },
    );
    const { engine, deadLetters } = engineOf(runner);
    const parked = change('a');
    await engine.consume(page(parked), UNFENCED);
    await engine.consume(page(change('a', {}, { moved: true })), UNFENCED);
    await engine.consume(page(change('a', {}, { moved: true, failed: new Error('an upcast') })), UNFENCED);
    expect(runs).toHaveLength(1);
    expect(await deadLetters.list('moving@1')).toMatchObject([{ id: 'a', version: parked.version, attempts: 1 }]);
    fails = false;
    await engine.consume(page({ ...parked, owed: true }), UNFENCED, { only: 'moving@1' });
    expect(await deadLetters.list('moving@1')).toEqual([]);
    expect(new Set(runs.map(({ key }) => key)).size).toBe(1);
  });

  it('a reaction has one key for a change beneath an embed’s, though its host died; after a failover it has a second one (ADR 87)', async () => {
    const embedded = { into: m.Products.product, each: undefined, set: { currency: () => '' } } as unknown as EmbedSpec;
    const crash = new AbortController();
    const { runner, runs } = reaction('two-keys', () => crash.abort(new Error('the host dies')), {}, [embedded]);
    const { signal } = crash;
    const fence = { kind: 'lease', tenure: {}, signal, assert: () => signal.throwIfAborted() } as const;
    const first = change('a', { status: 'new' });
    await expect(engineOf(runner).engine.consume(page(first), fence)).rejects.toThrow('the host dies');
    // The latest-version feed shows what the embed wrote, and not what the application wrote beneath it.
    await engineOf(runner).engine.consume(page(change('a', { status: 'new', currency: 'EUR' })), UNFENCED);
    expect(runs).toHaveLength(2);
    expect(new Set(runs.map(({ key }) => key))).toEqual(new Set([effectKey('two-keys@1', first)]));
    // The same write, where a failover has numbered it again.
    const { epoch, lsn: at, etag } = first.version;
    const again = { ...first, version: { epoch: epoch + 1, lsn: at - 1, etag } };
    expect(effectKey('two-keys@1', again)).not.toBe(effectKey('two-keys@1', first));
    // Two deletions of one document that have one lsn, in a container that was made again: one event id.
    const gone = { ...first, op: 'delete', version: { epoch, lsn: at, etag: `deleted@${at}` } } as const;
    expect(eventId(PUBLISHED, { ...gone, version: { ...gone.version, epoch: epoch + 1 } })).toBe(
      eventId(PUBLISHED, gone),
    );
  });

  it.each([
    ['the archive', { restored: true }],
    ['a backfill', { backfilled: true }],
    ['a backfill, of a restored document', { backfilled: true, restored: true }],
  ])('a reaction keeps what is parked when %s writes the document, and is owed it', async (by, mark) => {
    let fails = true;
    const name = `parked-${by.length}`;
    const { runner, runs } = reaction(
      name,
      () => {
        if (fails) throw new Error('not yet');
      },
      { attempts: 1, order: 'partitionKey' },
    );
    const { engine, deadLetters } = engineOf(runner);
    const parked = change('a');
    await engine.consume(page(parked), UNFENCED);
    const waiting = change('b');
    await engine.consume(page(waiting), UNFENCED);
    const again = [change('a', {}, mark), change('a', {}, { ...mark, failed: new Error('an upcast') })];
    // On another host, too.
    for (const one of again) await engineOf(runner).engine.consume(page(one, change('b', {}, mark)), UNFENCED);
    expect(runs).toHaveLength(1);
    const letters = await deadLetters.list(`${name}@1`);
    expect(
      letters.map(({ id, version }) => ({ id, version })).toSorted((one, two) => one.version.lsn - two.version.lsn),
    ).toEqual([parked, waiting].map(({ id, version }) => ({ id, version })));
    fails = false;
    await engine.consume(page({ ...parked, owed: true }), UNFENCED, { only: `${name}@1` });
    expect(await deadLetters.list(`${name}@1`)).toEqual([]);
    expect(ids(runs)).toEqual(['a', 'a', 'b']);
    expect(new Set(runs.map(({ key }) => key)).size).toBe(2);
  });

  it('a reaction that asks for restored documents has one done by the change that restores it', async () => {
    let fails = true;
    const { runner, runs } = reaction(
      'wants-restored',
      () => {
        if (fails) throw new Error('not yet');
      },
      { attempts: 1, restored: true },
    );
    const { engine, deadLetters } = engineOf(runner);
    await engine.consume(page(change('a')), UNFENCED);
    fails = false;
    await engine.consume(page(change('a', {}, { restored: true })), UNFENCED);
    expect(await deadLetters.list('wants-restored@1')).toEqual([]);
    expect(ids(runs)).toEqual(['a', 'a']);
  });

  it('a reaction skips what a backfill wrote, also when asked for restored ones, and counts its content as reacted to', async () => {
    const embedded = { into: m.Products.product, each: undefined, set: { currency: () => '' } } as unknown as EmbedSpec;
    const { runner, runs } = reaction('backfilled', undefined, { restored: true }, [embedded]);
    const { engine } = engineOf(runner);
    await engine.consume(page(change('a', { status: 'new' })), UNFENCED);
    await engine.consume(page(change('a', { status: 'new', tenant: 't' }, { backfilled: true })), UNFENCED);
    await engine.consume(page(change('b', { tenant: 't' }, { backfilled: true, restored: true })), UNFENCED);
    // An embed writes upon it.
    await engine.consume(page(change('a', { status: 'new', tenant: 't', currency: 'EUR' })), UNFENCED);
    expect(ids(runs)).toEqual(['a']);
    await engine.consume(page(change('a', { status: 'paid', tenant: 't' })), UNFENCED);
    expect(ids(runs)).toEqual(['a', 'a']);
  });
});

describe('a sink of one’s own', () => {
  it('a sink of one’s own holds the rows that the oracle says, ignores what is older, and has what it refuses parked', async () => {
    await using search = await serveSearch();
    const spec = send('search', {
      from: m.Products.product,
      to: searchIndex(search.address),
      where: ({ status }) => status !== 'hidden',
      map: ({ storeId, name }) => ({ storeId, name }),
    });
    expect(spec.findings).toEqual([]);
    const { engine, deadLetters } = engineOf(sendRunner(spec));
    const [old, jacket] = [change('jacket', { name: 'Old Jacket' }), change('jacket', { name: 'Trail Jacket' })];
    const changes = [jacket, change('flask', { name: 'Summit Flask' }), change('secret', { status: 'hidden' })];
    await engine.consume(page(...changes), UNFENCED);
    await engine.consume(page(old), UNFENCED);
    expect(await engine.consume(page(change('long', { name: 'x'.repeat(300) })), UNFENCED)).toMatchObject({
      parked: 1,
    });
    expect(await deadLetters.list('search@1')).toMatchObject([{ id: 'long', message: 'a name of 300 characters' }]);
    expect(search.index.search('s', 'jacket trail')).toEqual(['s|jacket']);

    const docs = changes.map(({ doc = {} }) => doc);
    const expected = recomputeRows(spec, docs, [], { keyPaths: ['/storeId'], refused: () => undefined });
    const held = new Map<string, unknown>();
    for await (const { id, row } of spec.to.rows?.(UNFENCED.signal) ?? []) held.set(id, row);
    expect(held).toEqual(expected);

    await engine.consume(page(change('flask', {}, { op: 'delete' })), UNFENCED);
    expect(search.index.search('s', 'flask')).toEqual([]);
  });

  it('a sink of one’s own has what was written again after it expired, though both changes have one lsn and the first was refused', async () => {
    const rows = new Map<string, Entry>();
    let refuses = true;
    const write = async (entries: readonly Entry[]): Promise<void> => {
      for (const entry of entries)
        if (entry.row && refuses) throw new SinkRefusal(new Map([[entry.id, 'refused']]));
        else if ((rows.get(entry.id)?.version ?? '') < entry.version) rows.set(entry.id, entry);
    };
    const spec = send('anew', { from: m.Products.product, to: { write }, map: ({ name }) => ({ name }) });
    const { engine, deadLetters } = engineOf(sendRunner(spec));
    const anew = change('flask');
    const { doc: _, ...expired } = change('flask', {}, { op: 'delete', operation: 'expired' });
    const { lsn: at } = anew.version;
    const pair = page({ ...expired, version: { epoch: 1, lsn: at, etag: `deleted@${at}` } }, anew);
    await engine.consume(pair, UNFENCED);
    expect(await deadLetters.list('anew@1')).toMatchObject([{ id: 'flask', version: anew.version }]);
    refuses = false;
    await engine.consume(page(anew), UNFENCED);
    expect(await deadLetters.list('anew@1')).toEqual([]);
    expect([...rows.values()]).toMatchObject([{ row: { name: 'flask' } }]);
    await engine.consume(page(...pair.changes.slice(0, 1)), UNFENCED);
    expect([...rows.values()]).toMatchObject([{ row: { name: 'flask' } }]);
    // A redrive of what is gone says so just above the version that was parked, and below all that are written later.
    const gone = { epoch: 1, lsn: at + 0.5, etag: 'gone' };
    await engine.consume(page({ ...expired, operation: 'delete', version: gone }), UNFENCED);
    expect([...rows.values()]).toMatchObject([{ row: null }]);
    await engine.consume(page(change('flask', { name: 'again' })), UNFENCED);
    expect([...rows.values()]).toMatchObject([{ row: { name: 'again' } }]);
  });

  it('a sink of one’s own that can’t be reached has the page read again', async () => {
    const spec = send('away', {
      from: m.Products.product,
      to: searchIndex('http://127.0.0.1:9'),
      map: ({ storeId, name }) => ({ storeId, name }),
    });
    const { engine, deadLetters } = engineOf(sendRunner(spec));
    await expect(engine.consume(page(change('a')), UNFENCED)).rejects.toMatchObject({ code: 'unavailable' });
    expect(await deadLetters.list('away@1')).toEqual([]);
  });
});

it('a runner of one’s own gets an access, and says what is wrong with its declaration', async () => {
  const spec = custom('counter', {
    sources: [m.Products.product],
    apply: async (changes, access) => {
      for (const { id } of changes) {
        const body = { id, pk: 'counter', at: 1 };
        await access.commit('millrace', ['counter'], [{ op: 'create', id, body }]);
      }
    },
  });
  expect(spec.findings).toEqual([]);
  expect(custom('none', { sources: [], apply: async () => undefined }).findings).toMatchObject([
    { code: 'custom-sources' },
  ]);
  const runner: Runner = {
    id: 'counter@1',
    order: 'document',
    sources: spec.sources,
    apply: (...of) => spec.apply(...of),
  };
  await engineOf(runner).engine.consume(page(change('x')), UNFENCED);
  expect(await hosts.read('millrace', 'x', 'counter')).toMatchObject({ at: 1 });
});
