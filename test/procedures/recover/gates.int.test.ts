// Write gates and migrations that are older than the documents, or newer. docs/SPEC-recover.md, REC-G1, REC-G2.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type MigrateOptions, migrate } from '../../../src/procedures/migrate/migrate.ts';
import type { RecoveryFinding } from '../../../src/procedures/recover/finding.ts';
import { type WriteGate, openWriteGate } from '../../../src/shards/gate/write-gate.ts';
import { type Stage, SHOP, openStage } from '../../support/stage.ts';
import { afresh, derive, newRun, recoverOn } from './recovery.ts';

const HOUR = 3_600_000;
const { signal } = new AbortController();

let stage: Stage;
let gates: WriteGate[] = [];

beforeEach(async () => {
  stage = await openStage({ faults: { historyMs: HOUR } }, SHOP);
  await createTarget();
  await place('Orders', 'o1', 1);
  await place('Orders', 'o2', 1);
  await derive(stage);
});
afterEach(async () => {
  await Promise.all(gates.map((gate) => gate[Symbol.asyncDispose]()));
  gates = [];
  await stage[Symbol.asyncDispose]();
});

const createTarget = async (): Promise<void> => {
  const partitionKey = { paths: ['/customerId'] };
  await stage.services.place.database.containers.create({ id: 'ByCustomer', partitionKey, defaultTtl: -1 });
};
const order = (id: string, cents: number) => ({
  id,
  type: 'order',
  storeId: 's1',
  customerId: 'c1',
  placedAt: '2026-01-01T10:00:00.000Z',
  cents,
});
const place = (container: string, id: string, cents: number) =>
  afresh(stage, async (now) => void (await now.container(container).items.upsert(order(id, cents))));
const move = (more: Partial<MigrateOptions> = {}) =>
  afresh(stage, (now) =>
    migrate({
      state: now.services.place.state,
      source: now.container('Orders'),
      target: now.container('ByCustomer'),
      signal,
      readLagMs: 0,
      ...more,
    }),
  );
const run = (input: Record<string, unknown> = {}) => afresh(stage, (now) => recoverOn(now, newRun(), input));
const ofGates = (findings: readonly RecoveryFinding[]) =>
  findings.filter(({ about }) => about.startsWith('write gate'));
type Stored = { readonly id: string; readonly pk: string };
const stored = () =>
  afresh(
    stage,
    async (now) => (await now.services.place.state.items.query<Stored>('SELECT * FROM c').fetchAll()).resources,
  );
/** Restores the state into the same container, so that the clients of running processes are not cut off. */
const putBack = (documents: readonly Stored[]) =>
  afresh(stage, async (now) => {
    const { state } = now.services.place;
    for (const { id, pk } of await stored())
      if (!documents.some((of) => of.id === id && of.pk === pk)) await state.item(id, pk).delete();
    for (const document of documents) await state.items.upsert(document);
  });
/** A process that writes through the gate of Orders. */
async function open(): Promise<() => Promise<string>> {
  const gate = await openWriteGate(stage.services.place.state, 'Orders', { pollMs: 20 });
  gates.push(gate);
  return async () => {
    using pass = await gate.enter();
    return pass.target.container;
  };
}

describe('a state that is older than a migration', () => {
  it('a state that is older than a migration is named, and the writers go where the operator says: those that run, and those that start', async () => {
    const running = await open();
    const before = await stored();
    await move();
    await vi.waitUntil(async () => (await running()) === 'ByCustomer', 20_000);
    await place('ByCustomer', 'o1', 2);
    await putBack(before);
    const starting = await open();
    expect([await starting(), await running()], 'torn').toEqual(['Orders', 'ByCustomer']);
    const { ok, value } = await run();
    expect(ok).toBe(false);
    expect(ofGates(value.left)).toMatchObject([
      {
        about: 'write gate of Orders',
        what: expect.stringContaining('ByCustomer has documents that were copied from it') as string,
        hint: expect.stringContaining('--writers Orders=ByCustomer') as string,
      },
    ]);
    expect([await starting(), await running()], 'not decided').toEqual(['Orders', 'ByCustomer']);
    const decided = await run({ writers: 'Orders=ByCustomer' });
    expect(ofGates(decided.value.left)).toEqual([]);
    expect({ ok: decided.ok, writers: decided.value.writers }).toEqual({ ok: true, writers: { Orders: 'ByCustomer' } });
    await vi.waitUntil(async () => (await starting()) === 'ByCustomer', 20_000);
    expect(await running()).toBe('ByCustomer');
    await expect(move()).rejects.toMatchObject({ code: 'wrong-state' });
    expect(ofGates((await run()).value.findings)).toEqual([]);
  }, 120_000);

  it('a state that is older than a migration is named without any state, and --writers resolves it in the other direction too', async () => {
    const running = await open();
    await move();
    await move({ rollback: true });
    await vi.waitUntil(async () => (await running()) === 'Orders', 20_000);
    await stage.container('millrace').delete();
    expect(ofGates((await run()).value.left).map(({ about }) => about)).toContain('write gate of Orders');
    const { ok, value } = await run({ writers: 'Orders=Orders' });
    expect({ ok, left: value.left }).toEqual({ ok: true, left: [] });
    expect(await running()).toBe('Orders');
    expect(await (await open())()).toBe('Orders');
  }, 120_000);
});

it('a migration that was half-way is given up by --writers, and begins again in an empty target', async () => {
  stage.emulator.advance(HOUR - 1_000);
  await place('Orders', 'o3', 1);
  const ending = new AbortController();
  await expect(move({ signal: ending.signal, progress: () => ending.abort() })).rejects.toMatchObject({
    name: 'AbortError',
  });
  stage.emulator.restore('shop/Orders', HOUR / 2);
  expect(ofGates((await run()).value.left)).toMatchObject([
    { what: expect.stringContaining('a migration to ByCustomer is half-way') as string },
  ]);
  await expect(move()).rejects.toMatchObject({ code: 'wrong-state' });
  expect((await run({ writers: 'Orders=Orders' })).ok).toBe(true);
  await stage.container('ByCustomer').delete();
  await createTarget();
  expect(await move()).toMatchObject({ copied: 2 });
  const query = 'SELECT VALUE c.id FROM c ORDER BY c.id';
  await afresh(stage, async (now) => {
    const { resources } = await now.container('ByCustomer').items.query<string>(query).fetchAll();
    expect(resources).toEqual(['o1', 'o2']);
  });
}, 120_000);

it('a state that is newer than the containers sends writers to one that does not exist', async () => {
  await move();
  await stage.container('ByCustomer').delete();
  const { value } = await run();
  expect(ofGates(value.left)).toMatchObject([
    { what: 'writers write to ByCustomer, which does not exist', hint: expect.stringContaining('--writers') as string },
  ]);
  await expect(run({ writers: 'Orders=ByCustomer' })).rejects.toMatchObject({ code: 'input-invalid' });
  await expect(run({ writers: 'Orders' })).rejects.toMatchObject({ code: 'input-invalid' });
  expect((await run({ writers: 'Orders=Orders' })).ok).toBe(true);
  expect(await (await open())()).toBe('Orders');
}, 120_000);

it('a state that is older than a way back is named', async () => {
  const running = await open();
  await move();
  await vi.waitUntil(async () => (await running()) === 'ByCustomer', 20_000);
  stage.emulator.advance(HOUR - 1_000);
  await place('ByCustomer', 'o1', 2);
  await move({ rollback: true });
  stage.emulator.restore('shop/millrace', HOUR / 2);
  expect(ofGates((await run()).value.left)).toMatchObject([
    { what: expect.stringContaining('the state may be older than a way back') as string },
  ]);
}, 120_000);

it('migrations that the state knows are nothing to decide: there, back, and there again', async () => {
  for (const rollback of [false, true, false]) {
    await move({ rollback });
    await place(rollback ? 'Orders' : 'ByCustomer', 'o2', rollback ? 3 : 4);
    const { ok, value } = await run();
    expect({ rollback, ok, gates: ofGates(value.findings) }).toEqual({ rollback, ok: true, gates: [] });
  }
}, 120_000);
