import { expect, it, vi } from 'vitest';
import { MillraceError } from '../../../src/base/errors.ts';
import type { CustomSpec, ResetScope } from '../../../src/pipeline/specs.ts';
import type { Change } from '../../../src/feed/reading/change.ts';
import { rebuildCustom } from '../../../src/procedures/rebuild/rebuild-custom.ts';
import { replay } from '../../../src/procedures/replay/replay.ts';
import { effectsStage, order } from '../../support/effects-stage.ts';

const { stage, write, applied, optionsOf, viewOf, leases } = effectsStage();

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
  stage().emulator.advance(200_000);
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
