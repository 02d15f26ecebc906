// What the kinds without versions side by side do with their history: sends, custom projections and reactions.
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MillraceError } from '../../../src/base/errors.ts';
import type { CustomSpec, Entry, ReactSpec, ResetScope, SendSpec } from '../../../src/pipeline/specs.ts';
import { DeadLetters } from '../../../src/engine/dead-letters/dead-letters.ts';
import { Views } from '../../../src/engine/views/views.ts';
import type { Change } from '../../../src/feed/reading/change.ts';
import { rerun } from '../../../src/procedures/replay/rerun.ts';
import { rebuildCustom } from '../../../src/procedures/rebuild/rebuild-custom.ts';
import { dropTarget, rebuildSink, swapSink } from '../../../src/procedures/rebuild/rebuild-sink.ts';
import { replay } from '../../../src/procedures/replay/replay.ts';
import { verify } from '../../../src/procedures/verify/verify.ts';
import { compose } from '../../../src/runtime/hosts/processor-host.ts';
import { type Stage, openStage } from '../../support/stage.ts';
import { Shelves, asText, declaring, rowsOf, search } from '../../verbs/projections/shelves.ts';
import { VERSIONS, VIEWS_REFRESH_MS, fast } from '../../verbs/projections/versions.ts';

let stage: Stage;
const { signal } = new AbortController();
beforeEach(async () => {
  stage = await openStage({}, VERSIONS);
});
afterEach(() => stage[Symbol.asyncDispose]());

const order = (id: string, cents: number, more = {}) => ({
  id,
  type: 'order',
  storeId: 's1',
  customerId: 'c1',
  placedAt: '2026-01-01T10:00:00.000Z',
  cents,
  ...more,
});
const write = (doc: ReturnType<typeof order>) => stage.container('Orders').items.upsert(doc);

/** Runs the live host until everything is applied. */
async function applied(effects: (SendSpec | CustomSpec | ReactSpec)[]): Promise<void> {
  const app = await compose({ ...stage, ...fast, loaded: declaring(stage, { effects }), host: 'live' });
  await app.start();
  await app.drained(signal);
  await app.stop();
}

const optionsOf = <S extends SendSpec | CustomSpec | ReactSpec>(spec: S, until = signal) => ({
  settings: stage.settings,
  services: stage.services,
  loaded: declaring(stage, { effects: [spec] }),
  spec,
  readLagMs: 0,
  viewsRefreshMs: VIEWS_REFRESH_MS,
  timings: { pollMs: 40, acquireMs: 100, stopMs: 300 },
  signal: until,
});
const viewOf = async (name: string) => (await new Views(stage.services.place.state, 'versions').read())?.[name];
const leases = async () =>
  (await stage.services.global.leases.items.query<string>('SELECT VALUE c.id FROM c').fetchAll()).resources.filter(
    (id) => /search|boards/.test(id),
  );

describe('a sink with a second content', () => {
  let shelves: Shelves;
  const spec = () => {
    const to = shelves.sink();
    return { ...search(to), to };
  };
  beforeEach(async () => {
    shelves = new Shelves();
    for (let n = 0; n < 8; n++) await write(order(`o${n}`, n + 1));
    await applied([spec()]);
  });

  it('a sink with a second content is filled from history and swapped: false rows are gone, and its leases too', async () => {
    shelves.contents.get('first')?.set('s1|ghost', { version: 'z', row: { id: 'ghost' } });
    shelves.contents.get('first')?.delete('s1|o3');
    const rebuilt = await rebuildSink(optionsOf(spec()));
    expect(rebuilt).toMatchObject({ projection: 'search@1', changes: 8, parked: 0, resumed: false });
    expect(shelves.current).toBe('first');
    await write(order('o1', 77));
    await applied([spec()]);
    expect(await swapSink(optionsOf(spec()))).toMatchObject({ projection: 'search@1', container: shelves.current });
    expect(shelves.current).toBe(rebuilt.container);
    expect(asText(shelves.rows())).toEqual(await rowsOf(stage, spec()));
    expect(shelves.rows().get('s1|o1')).toMatchObject({ cents: 77 });
    expect(await viewOf('search')).toMatchObject({ staged: null, promotions: 1 });
    expect(await leases()).toEqual([]);
    await expect(swapSink(optionsOf(spec()))).rejects.toMatchObject({ code: 'not-staged' });
  });

  it('a sink with a second content misses nothing if the swap came later than the promotion waited for it, once the promotion is run again', async () => {
    await rebuildSink(optionsOf(spec()));
    const sink = shelves.sink();
    const late: string[] = [];
    const rebuild = {
      ...sink.rebuild,
      swap: async (target: string) => {
        late.push(target);
        throw new Error('No answer');
      },
    };
    await expect(swapSink(optionsOf({ ...spec(), to: { ...sink, rebuild } }))).rejects.toThrow('No answer');
    expect(await viewOf('search')).toMatchObject({ staged: { phase: 'filled' } });
    // The hosts continue with the content before; then the swap lands.
    await write(order('o2', 99));
    await applied([spec()]);
    shelves.swap(late[0] ?? '');
    expect(shelves.rows().get('s1|o2')).toMatchObject({ cents: 3 });
    await swapSink(optionsOf(spec()));
    expect(asText(shelves.rows())).toEqual(await rowsOf(stage, spec()));
  });

  it('a sink with a second content misses nothing if the freeze ended before the swap took effect', async () => {
    await rebuildSink(optionsOf(spec()));
    const sink = shelves.sink();
    let asked = false;
    const rebuild = {
      ...sink.rebuild,
      // After the swap the target is slow: what its process doesn't wait for never arrives.
      open: async (target: string, until: AbortSignal) => {
        const { write: send } = await sink.rebuild.open(target, until);
        return {
          write: async (entries: readonly Entry[], fence: AbortSignal) => {
            if (asked) await delay(1_000, undefined, { signal: fence });
            await send(entries, fence);
          },
        };
      },
      // The promotion's process is suspended for longer than the freeze, and the hosts continue.
      swap: async (target: string) => {
        asked = true;
        await new Views(stage.services.place.state, 'versions').change('search', (view) => ({
          ...view,
          staged: view.staged && { ...view.staged, frozenUntil: new Date(0).toISOString() },
        }));
        await write(order('o2', 99));
        await applied([spec()]);
        shelves.swap(target);
      },
    };
    await swapSink(optionsOf({ ...spec(), to: { ...sink, rebuild } }));
    expect(asText(shelves.rows())).toEqual(await rowsOf(stage, spec()));
  });

  it('a sink with a second content is not swapped while the new content refuses a row that the current one has; a second rebuild redrives it', async () => {
    shelves.refuses = (row) => (row as { id?: string } | null)?.id === 'o6';
    expect(await rebuildSink(optionsOf(spec()))).toMatchObject({ parked: 1 });
    await expect(swapSink(optionsOf(spec()))).rejects.toMatchObject({ code: 'parked-in-new' });
    expect(shelves.current).toBe('first');
    const letters = new DeadLetters(stage.services.place.state);
    expect(await letters.list('search@1')).toEqual([]);
    shelves.refuses = () => false;
    expect(await rebuildSink(optionsOf(spec()))).toMatchObject({ parked: 0, resumed: true });
    await swapSink(optionsOf(spec()));
    expect(asText(shelves.rows())).toEqual(await rowsOf(stage, spec()));
  });

  it('a sink with a second content is promoted without a row that only the new content refuses, if asked to', async () => {
    shelves.refuses = (row) => (row as { id?: string } | null)?.id === 'o6';
    await rebuildSink(optionsOf(spec()));
    await swapSink({ ...optionsOf(spec()), evenParked: true });
    const rows = await rowsOf(stage, spec());
    rows.delete('s1|o6');
    expect(asText(shelves.rows())).toEqual(rows);
    expect(await new DeadLetters(stage.services.place.state).list('search-next@1')).toEqual([]);
  });

  it('a sink with a second content keeps to the start of its projection when it is filled, unless asked for the whole history', async () => {
    const later = (): ReturnType<typeof spec> => ({ ...spec(), name: 'later', start: 'now' });
    await applied([later()]);
    stage.emulator.advance(200_000);
    await write(order('o3', 33));
    await write(order('new', 34));
    const filled = await rebuildSink(optionsOf(later()));
    expect(filled).toMatchObject({ changes: 2, begins: expect.stringMatching(/^20/) });
    expect([...(shelves.contents.get(filled.container) ?? [])].map(([id]) => id).toSorted()).toEqual([
      's1|new',
      's1|o3',
    ]);
    await dropTarget(optionsOf(later()));
    const whole = await rebuildSink({ ...optionsOf(later()), wholeHistory: true });
    expect(whole).toMatchObject({ changes: 9 });
    expect('begins' in whole).toBe(false);
  });

  it('a sink with a second content can be dropped while it is being filled, and the current content stays', async () => {
    const { container } = await rebuildSink(optionsOf(spec()));
    expect(await dropTarget(optionsOf(spec()))).toMatchObject({ target: container });
    expect([...shelves.contents.keys()]).toEqual(['first']);
    expect(await viewOf('search')).toMatchObject({ staged: null });
    expect(await leases()).toEqual([]);
    const again = await rebuildSink(optionsOf(spec()));
    expect(again.resumed).toBe(false);
  });

  it('a sink with a second content is repaired row by row, more than once, and a later change still wins', async () => {
    const falsify = () => {
      const first = shelves.contents.get('first');
      const version = first?.get('s1|o1')?.version ?? '';
      first?.set('s1|o1', { version, row: { id: 'false' } });
      first?.set('s1|ghost', { version, row: { id: 'ghost' } });
      first?.delete('s1|o2');
    };
    const look = (repair: boolean) =>
      verify(declaring(stage, { effects: [spec()] }), stage.services, {
        signal,
        screen: { progress: () => undefined },
        only: 'search',
        readLagMs: 0,
        settings: stage.settings,
        repair,
      });
    for (let time = 0; time < 2; time++) {
      falsify();
      expect(await look(false)).toMatchObject({ different: 3 });
      expect(await look(true)).toMatchObject({
        different: 0,
        repaired: { repaired: 3, removed: 1, applied: 2, unrepaired: [] },
      });
    }
    expect(asText(shelves.rows())).toEqual(await rowsOf(stage, spec()));
    await write(order('o1', 1_001));
    await applied([spec()]);
    expect(shelves.rows().get('s1|o1')).toMatchObject({ cents: 1_001 });
  });

  it('a sink with a second content names a row that it can’t repair: the sink says that it has a newer version than its source', async () => {
    shelves.contents.get('first')?.set('s1|o1', { version: '99999999-0000000000000000-1', row: { id: 'false' } });
    const found = await verify(declaring(stage, { effects: [spec()] }), stage.services, {
      signal,
      screen: { progress: () => undefined },
      only: 'search',
      readLagMs: 0,
      settings: stage.settings,
      repair: true,
    });
    expect(found).toMatchObject({ different: 1, repaired: { repaired: 0, unrepaired: [{ document: 's1|o1' }] } });
    expect(found.repaired?.unrepaired[0]?.why).toContain('newer version');
  });

  it('a sink with a second content is sent to again by a replay', async () => {
    shelves.contents.get('first')?.clear();
    expect(await replay({ ...optionsOf(spec()), from: 'beginning', cold: true })).toMatchObject({
      container: 'the sink of search',
      changes: 8,
    });
    expect(asText(shelves.rows())).toEqual(await rowsOf(stage, spec()));
  });
});

describe('a custom projection with reset', () => {
  /** Keeps what it was given, in memory: a derived set that only a reset can make smaller. */
  const boards = (seen: Set<string>, reset?: (scope: ResetScope) => Promise<void>): CustomSpec => ({
    kind: 'custom',
    name: 'boards',
    version: 1,
    sources: [{ container: 'Orders', type: 'order' }],
    apply: async (changes) => {
      for (const { id, op } of changes as Change[]) if (op === 'upsert') seen.add(id);
    },
    ...(reset && { reset }),
  });

  it('a custom projection with reset forgets and gets its whole history again, also after a process died in the middle; it forgets only once', async () => {
    for (let n = 0; n < 5; n++) await write(order(`o${n}`, n));
    const seen = new Set<string>(['ghost']);
    let resets = 0;
    const reset = async ({ projection, sources }: ResetScope) => {
      resets += 1;
      expect({ projection, sources }).toEqual({
        projection: 'boards@1',
        sources: [{ container: 'Orders', type: 'order' }],
      });
      seen.clear();
    };
    const dying = new AbortController();
    const spec = { ...boards(seen, reset), reset };
    const interrupted = {
      ...spec,
      apply: async () => {
        dying.abort(new Error('It died'));
        throw new MillraceError('away', 'It died', { retryable: true });
      },
    };
    await expect(rebuildCustom(optionsOf(interrupted, dying.signal))).rejects.toThrow(/abort|died/);
    expect(await viewOf('boards')).toMatchObject({ staged: { phase: 'filling' } });
    expect(await rebuildCustom(optionsOf(spec))).toMatchObject({ changes: 5, resumed: true, inPlace: true });
    expect(resets).toBe(1);
    expect([...seen].toSorted()).toEqual(['o0', 'o1', 'o2', 'o3', 'o4']);
    expect(await viewOf('boards')).toMatchObject({ staged: null });
    expect(await leases()).toEqual([]);
    expect(await rebuildCustom(optionsOf(spec))).toMatchObject({ resumed: false });
    expect(resets).toBe(2);
  });

  it('a custom projection with reset leaves no lease, also if a process died before it removed them', async () => {
    await write(order('o1', 1));
    const spec = { ...boards(new Set()), reset: async () => undefined };
    const dying = { mayForget: () => Promise.reject(new Error('It died')) };
    await expect(rebuildCustom({ ...optionsOf(spec), ...dying })).rejects.toThrow('It died');
    expect(await leases()).not.toEqual([]);
    expect(await rebuildCustom(optionsOf(spec))).toMatchObject({ changes: 0, resumed: true });
    expect(await viewOf('boards')).toMatchObject({ staged: null });
    expect(await leases()).toEqual([]);
  });

  it('a custom projection with reset is continued by a process whose clock shows the same millisecond', async () => {
    await write(order('o1', 1));
    let resets = 0;
    const spec = { ...boards(new Set()), reset: async () => void (resets += 1) };
    const dying = { mayForget: () => Promise.reject(new Error('It died')) };
    vi.useFakeTimers({ toFake: ['Date'] });
    try {
      await expect(rebuildCustom({ ...optionsOf(spec), ...dying })).rejects.toThrow('It died');
      expect(await rebuildCustom(optionsOf(spec))).toMatchObject({ resumed: true });
    } finally {
      vi.useRealTimers();
    }
    expect(resets).toBe(1);
  });

  it('a custom projection with reset leaves no lease of another version whose rebuild was not continued', async () => {
    await write(order('o1', 1));
    const spec = { ...boards(new Set()), reset: async () => undefined };
    const dying = { mayForget: () => Promise.reject(new Error('It died')) };
    await expect(rebuildCustom({ ...optionsOf(spec), ...dying })).rejects.toThrow('It died');
    expect(await leases()).not.toEqual([]);
    expect(await rebuildCustom(optionsOf({ ...spec, version: 2 }))).toMatchObject({ changes: 1, resumed: false });
    expect(await leases()).toEqual([]);
  });

  it('a custom projection with reset whose reset fails is not given anything; a second reset at the same time is refused', async () => {
    await write(order('o1', 1));
    const seen = new Set<string>();
    const failing = async () => Promise.reject(new Error('No rights'));
    await expect(rebuildCustom(optionsOf({ ...boards(seen), reset: failing }))).rejects.toMatchObject({
      code: 'reset-failed',
      message: expect.stringContaining('No rights'),
    });
    expect(seen.size).toBe(0);
    const { promise, resolve } = Promise.withResolvers<void>();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const slow = { ...boards(seen), reset: () => (begin(), promise) };
    const first = rebuildCustom(optionsOf(slow));
    await begun;
    await expect(rebuildCustom(optionsOf(slow))).rejects.toMatchObject({ code: 'rebuild-under-way' });
    resolve();
    expect(await first).toMatchObject({ changes: 1 });
  });

  it('a custom projection with reset begins at its start again', async () => {
    await write(order('old', 1));
    const seen = new Set<string>();
    const spec = { ...boards(seen), start: 'now' as const, reset: async () => seen.clear() };
    await applied([spec]);
    stage.emulator.advance(200_000);
    await write(order('new', 2));
    expect(await rebuildCustom(optionsOf(spec))).toMatchObject({ changes: 1, begins: expect.stringMatching(/^20/) });
    expect([...seen]).toEqual(['new']);
    await rebuildCustom({ ...optionsOf(spec), wholeHistory: true });
    expect([...seen].toSorted()).toEqual(['new', 'old']);
  });

  it('a custom projection with reset is replayed without a reset', async () => {
    await write(order('o1', 1));
    const seen = new Set<string>();
    expect(await replay({ ...optionsOf(boards(seen)), from: 'beginning', cold: true })).toMatchObject({ changes: 1 });
    expect([...seen]).toEqual(['o1']);
  });
});

describe('a reaction, again', () => {
  it('a reaction that is run again runs for the listed documents as they are now, under a key of the repetition, and parks nothing', async () => {
    const calls: { id: string; cents: number; key: string }[] = [];
    let broken = true;
    const spec: ReactSpec = {
      kind: 'react',
      name: 'mail',
      version: 1,
      from: { container: 'Orders', type: 'order' },
      onDelete: 'remove',
      order: 'document',
      attempts: 1,
      timeoutMs: 5_000,
      restored: false,
      echoes: false,
      when: ({ cents }) => Number(cents) < 100,
      run: async (doc, { key }) => {
        if (broken && doc['id'] === 'o3') throw new Error('It is down');
        calls.push({ id: String(doc['id']), cents: Number(doc['cents']), key });
      },
    };
    for (const [id, cents] of [
      ['o1', 1],
      ['o2', 500],
      ['o3', 3],
    ] as const)
      await write(order(id, cents));
    await write(order('o4', 4, { cancelled: true }));
    await write(order('o1', 11));
    const documents = ['o1', 'o2', 'o3', 'o4', 'o5', 'o1'].map((id) => ({ key: ['s1'], id }));
    const again = (repeat: number) => rerun({ ...optionsOf(spec), documents, repeat });
    expect((await again(1)).map(({ id, outcome }) => `${id} ${outcome}`)).toEqual([
      'o1 ran',
      'o2 left out',
      'o3 failed',
      'o4 left out',
      'o5 missing',
    ]);
    expect(calls).toMatchObject([{ id: 'o1', cents: 11 }]);
    expect(calls[0]?.key).toMatch(/^Orders\/%5B%22s1%22%5D\/o1\/.+\/again-1\/mail%401$/);
    expect(await new DeadLetters(stage.services.place.state).list('mail@1')).toEqual([]);
    broken = false;
    await again(1);
    await again(2);
    const keys = calls.filter(({ id }) => id === 'o1').map(({ key }) => key);
    expect(keys[1]).toBe(keys[0]);
    expect(keys[2]).not.toBe(keys[0]);
  });

  it('a reaction that is run again of one tenant leaves out the documents of others', async () => {
    await write(order('o1', 1));
    await write({ ...order('o1', 2), storeId: 's2' });
    const calls: unknown[] = [];
    const spec: ReactSpec = {
      kind: 'react',
      name: 'mail',
      version: 1,
      from: { container: 'Orders', type: 'order' },
      onDelete: 'remove',
      order: 'document',
      attempts: 1,
      timeoutMs: 5_000,
      restored: false,
      echoes: false,
      run: async ({ storeId }) => {
        calls.push(storeId);
      },
    };
    const { loaded, ...options } = optionsOf(spec);
    const results = await rerun({
      ...options,
      loaded: { ...loaded, pipeline: { ...loaded.pipeline, tenant: 'storeId' } },
      documents: ['s1', 's2'].map((store) => ({ key: [store], id: 'o1' })),
      repeat: 1,
      tenant: 's2',
    });
    expect(results.map(({ outcome }) => outcome)).toEqual(['left out', 'ran']);
    expect(calls).toEqual(['s2']);
  });

  it('ordered by key runs for one document of a key at a time, in the order of the list', async () => {
    const ids = ['o3', 'o1', 'o2'];
    for (const id of ids) await write(order(id, 1));
    const steps: string[] = [];
    const spec: ReactSpec = {
      kind: 'react',
      name: 'mail',
      version: 1,
      from: { container: 'Orders', type: 'order' },
      onDelete: 'remove',
      order: 'partitionKey',
      attempts: 1,
      timeoutMs: 5_000,
      restored: false,
      echoes: false,
      run: async ({ id }) => {
        steps.push(`begin ${String(id)}`);
        await delay(5);
        steps.push(`end ${String(id)}`);
      },
    };
    await rerun({ ...optionsOf(spec), documents: ids.map((id) => ({ key: ['s1'], id })), repeat: 1 });
    expect(steps).toEqual(ids.flatMap((id) => [`begin ${id}`, `end ${id}`]));
  });
});
