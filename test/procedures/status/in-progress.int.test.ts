// What `status` says is in progress: operations that run, versions, write gates, migrations, shares of the budget.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Shares } from '../../../src/cosmos/budget/split.ts';
import { ErasureRecords } from '../../../src/engine/erasures/record.ts';
import { Views } from '../../../src/engine/views/views.ts';
import { registry } from '../../../src/host/registry.ts';
import { promote } from '../../../src/procedures/promote/promote.ts';
import { rebuild } from '../../../src/procedures/rebuild/rebuild.ts';
import { readRunning, whileNoted } from '../../../src/procedures/journal/runs.ts';
import type { Status } from '../../../src/procedures/status/status.ts';
import { openWorkspace } from '../../../src/runtime/open-workspace.ts';
import { ensureGate } from '../../../src/shards/gate/write-gate.ts';
import { type Stage, openStage } from '../../support/stage.ts';
import { VERSIONS, live, options } from '../../verbs/projections/versions.ts';

let stage: Stage;
const { signal } = new AbortController();
beforeEach(async () => {
  stage = await openStage({}, VERSIONS);
  for (const [key, value] of Object.entries(stage.env)) vi.stubEnv(key, value);
  await stage.container('Orders').items.upsert({
    id: 'o1',
    type: 'order',
    storeId: 's1',
    customerId: 'c1',
    placedAt: '2026-01-01T10:00:00.000Z',
    cents: 1,
  });
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await stage[Symbol.asyncDispose]();
});

async function run(name: string, input: object, of = signal): Promise<{ value: unknown; text: string }> {
  const workspace = openWorkspace({ directory: VERSIONS, pipeline: VERSIONS });
  const screen = { live: false, line: () => undefined, draw: () => undefined, progress: () => undefined };
  try {
    const done = await registry.get(name)?.run(input, { workspace, actor: 'Ada', signal: of, screen });
    return done ?? { value: undefined, text: '' };
  } finally {
    await workspace.close();
  }
}
const status = async () => {
  const { value, text } = await run('status', {});
  return { ...(value as Status), text };
};

it('an operation that runs, with its operator, until it ends', async () => {
  const app = await live(stage);
  await app.drained(signal);
  stage.emulator.faults({ rules: [{ operation: 'query', container: 'Summaries', status: 429, retryAfterMs: 100 }] });
  const verifying = run('projections verify', { name: 'summaries' });
  await vi.waitUntil(async () => (await readRunning(stage.services.place.state, signal)).length > 0, 30_000);
  const { inProgress, text } = await status();
  expect(inProgress).toMatchObject([{ what: 'projections verify summaries', by: 'Ada', since: expect.any(String) }]);
  expect(text).toMatch(/projections verify summaries +Ada +\d+ s ago/);
  stage.emulator.faults({});
  await verifying;
  expect((await status()).inProgress).toEqual([]);
  await app.stop();
});

it('nothing of a process that died a while ago', async () => {
  const { state } = stage.services.place;
  let end = (): void => undefined;
  const dead = { verb: 'archive sweep', arguments: {}, actor: 'timer:sweep' };
  const working = whileNoted(state, dead, () => new Promise<void>((resolve) => (end = resolve)));
  await vi.waitUntil(async () => (await readRunning(state, signal)).length === 1, 30_000);
  expect(await readRunning(state, signal, Date.now() + 80_000)).toHaveLength(1);
  expect(await readRunning(state, signal, Date.now() + 100_000)).toEqual([]);
  end();
  await working;
});

it('a version that is built, frozen or kept; a closed gate; a migration', async () => {
  const app = await live(stage);
  await app.drained(signal);
  await rebuild(options(stage, 'summaries@2', signal));
  expect((await status()).inProgress).toMatchObject([{ what: 'rebuild of summaries@2: filled', by: null }]);
  await promote({ ...options(stage, 'summaries@2', signal), keepMs: 60_000 });
  const views = new Views(stage.services.place.state, 'versions');
  const frozenUntil = new Date(Date.now() + 60_000).toISOString();
  await views.change('summaries', (of) => ({ ...of, previous: of.previous && { ...of.previous, frozenUntil } }));
  const gate = await ensureGate(stage.services.place.state, 'Orders');
  await stage.services.place.state.items.upsert({ ...gate, state: 'closing' });
  const migration = { id: 'Orders', pk: 'migrations', type: 'millrace.migration', name: 'Orders', into: 'Other' };
  await stage.services.place.state.items.upsert({
    ...migration,
    rids: ['', ''],
    direction: 'forward',
    positions: [],
    reverse: null,
  });
  const { inProgress } = await status();
  expect(inProgress.map(({ what }) => what)).toEqual([
    'freeze of summaries: hosts hold back what it reads',
    'summaries@1 is kept',
    'write gate of Orders is closed: its writers wait',
    'migration of Orders to Other',
  ]);
  expect(inProgress.map(({ until }) => until !== undefined)).toEqual([true, true, false, false]);
  await app.stop();
});

it('the status shows who spends of the budget, and how much each may', async () => {
  const { state } = stage.services.place;
  const shares = new Shares({ state, database: 'shop', name: 'machine 1', ruPerSecond: 100 });
  shares.want('bulk', false);
  await vi.waitUntil(() => shares.now() > 0, 30_000);
  const { budget, text } = await status();
  expect(budget).toEqual([{ name: 'machine 1', share: 1, live: 0, bulk: true }]);
  expect(text).toMatch(/machine 1 +100 % +0 % +yes/);
  await shares.close();
  expect((await status()).budget).toEqual([]);
});

it('an erasure that has not ended, by its id, also when no process works on it', async () => {
  const records = new ErasureRecords(stage.services.place.state, stage.loaded.pipeline.name);
  const { id, at } = await records.begin('store-4711', Date.now());
  const { inProgress, text } = await status();
  expect(inProgress).toEqual([{ what: `erasure ${id} of a tenant: stopping`, by: null, since: at }]);
  expect(text).not.toContain('4711');
  await records.update(id, (record) => ({ ...record, state: 'erased' }));
  expect((await status()).inProgress).toEqual([]);
});
