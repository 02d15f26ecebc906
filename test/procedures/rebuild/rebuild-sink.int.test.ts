import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, expect, it } from 'vitest';
import type { Entry } from '../../../src/pipeline/specs.ts';
import { DeadLetters } from '../../../src/engine/dead-letters/dead-letters.ts';
import { Views } from '../../../src/engine/views/views.ts';
import { dropTarget, rebuildSink, swapSink } from '../../../src/procedures/rebuild/rebuild-sink.ts';
import { replay } from '../../../src/procedures/replay/replay.ts';
import { verify } from '../../../src/procedures/verify/verify.ts';
import { effectsStage, order } from '../../support/effects-stage.ts';
import { Shelves, asText, declaring, rowsOf, search } from '../../verbs/projections/shelves.ts';

const { stage, write, applied, optionsOf, viewOf, leases } = effectsStage();
const { signal } = new AbortController();

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
  expect(asText(shelves.rows())).toEqual(await rowsOf(stage(), spec()));
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
  expect(asText(shelves.rows())).toEqual(await rowsOf(stage(), spec()));
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
      await new Views(stage().services.place.state, 'versions').change('search', (view) => ({
        ...view,
        staged: view.staged && { ...view.staged, frozenUntil: new Date(0).toISOString() },
      }));
      await write(order('o2', 99));
      await applied([spec()]);
      shelves.swap(target);
    },
  };
  await swapSink(optionsOf({ ...spec(), to: { ...sink, rebuild } }));
  expect(asText(shelves.rows())).toEqual(await rowsOf(stage(), spec()));
});

it('a sink with a second content is not swapped while the new content refuses a row that the current one has; a second rebuild redrives it', async () => {
  shelves.refuses = (row) => (row as { id?: string } | null)?.id === 'o6';
  expect(await rebuildSink(optionsOf(spec()))).toMatchObject({ parked: 1 });
  await expect(swapSink(optionsOf(spec()))).rejects.toMatchObject({ code: 'parked-in-new' });
  expect(shelves.current).toBe('first');
  const letters = new DeadLetters(stage().services.place.state);
  expect(await letters.list('search@1')).toEqual([]);
  shelves.refuses = () => false;
  expect(await rebuildSink(optionsOf(spec()))).toMatchObject({ parked: 0, resumed: true });
  await swapSink(optionsOf(spec()));
  expect(asText(shelves.rows())).toEqual(await rowsOf(stage(), spec()));
});

it('a sink with a second content is promoted without a row that only the new content refuses, if asked to', async () => {
  shelves.refuses = (row) => (row as { id?: string } | null)?.id === 'o6';
  await rebuildSink(optionsOf(spec()));
  await swapSink({ ...optionsOf(spec()), evenParked: true });
  const rows = await rowsOf(stage(), spec());
  rows.delete('s1|o6');
  expect(asText(shelves.rows())).toEqual(rows);
  expect(await new DeadLetters(stage().services.place.state).list('search-next@1')).toEqual([]);
});

it('a sink with a second content keeps to the start of its projection when it is filled, unless asked for the whole history', async () => {
  const later = (): ReturnType<typeof spec> => ({ ...spec(), name: 'later', start: 'now' });
  await applied([later()]);
  stage().emulator.advance(200_000);
  await write(order('o3', 33));
  await write(order('new', 34));
  const filled = await rebuildSink(optionsOf(later()));
  expect(filled).toMatchObject({ changes: 2, begins: expect.stringMatching(/^20/) });
  expect([...(shelves.contents.get(filled.container) ?? [])].map(([id]) => id).toSorted()).toEqual(['s1|new', 's1|o3']);
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

it('a sink with a second content that is down says so while it is filled, once', async () => {
  const said: string[] = [];
  const { to, ...of } = spec();
  let left = 3;
  const open: typeof to.rebuild.open = async (...given) => {
    const content = await to.rebuild.open(...given);
    return {
      write: async (...entries) => {
        if (left-- > 0) throw new Error('The index is down');
        return content.write(...entries);
      },
    };
  };
  const down = { ...of, to: { ...to, rebuild: { ...to.rebuild, open } } };
  expect(await rebuildSink({ ...optionsOf(down), refused: (why) => said.push(why) })).toMatchObject({ parked: 0 });
  expect(said).toEqual([expect.stringContaining('The index is down')]);
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
    verify(declaring(stage(), { effects: [spec()] }), stage().services, {
      signal,
      screen: { progress: () => undefined },
      only: 'search',
      readLagMs: 0,
      settings: stage().settings,
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
  expect(asText(shelves.rows())).toEqual(await rowsOf(stage(), spec()));
  await write(order('o1', 1_001));
  await applied([spec()]);
  expect(shelves.rows().get('s1|o1')).toMatchObject({ cents: 1_001 });
});

it('a sink with a second content names a row that it can’t repair: the sink says that it has a newer version than its source', async () => {
  shelves.contents.get('first')?.set('s1|o1', { version: '99999999-0000000000000000-1', row: { id: 'false' } });
  const found = await verify(declaring(stage(), { effects: [spec()] }), stage().services, {
    signal,
    screen: { progress: () => undefined },
    only: 'search',
    readLagMs: 0,
    settings: stage().settings,
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
  expect(asText(shelves.rows())).toEqual(await rowsOf(stage(), spec()));
});
