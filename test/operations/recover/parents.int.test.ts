// Parents of embeds after a disaster: their states are removed, corrected or made. docs/SPEC-recover.md
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Doc } from '../../../src/definition/specs.ts';
import { openWorkspace } from '../../../src/runtime/open-workspace.ts';
import { compose } from '../../../src/runtime/processor-host.ts';
import { openServices } from '../../../src/runtime/services.ts';
import { recover } from '../../../src/operations/recover/recover.operation.ts';
import type { Recovered } from '../../../src/operations/recover/recover.ts';
import { type Stage, openStage } from '../../support/stage.ts';
import { SteppingClock } from '../leases/lease-world.ts';

const TORN = join(import.meta.dirname, '../../fixtures/torn');
const HOUR = 3_600_000;

let stage: Stage;
beforeEach(async () => {
  stage = await openStage({ faults: { historyMs: HOUR } }, TORN);
});
afterEach(() => stage[Symbol.asyncDispose]());

async function afresh<T>(work: (now: Stage) => Promise<T>): Promise<T> {
  const services = await openServices(stage.settings);
  try {
    return await work({ ...stage, services });
  } finally {
    services.close();
  }
}

const put = (name: string, doc: Doc) =>
  afresh(async ({ services: { database } }) => void (await database.container(name).items.upsert(doc)));
const store = (name: string) => put('Stores', { id: 's1', type: 'store', storeId: 's1', name });
const customer = (id: string) => put('Customers', { id, type: 'customer', storeId: 's1', name: id });

const derive = () =>
  afresh(async (now) => {
    const app = await compose({ ...now, host: 'ours', readLagMs: 0, timings: { pollMs: 10, acquireMs: 50 } });
    await app.start();
    await app.drained(AbortSignal.timeout(30_000));
    await app.stop();
  });

const nameIn = (id: string) =>
  afresh(
    async ({ services: { database } }) =>
      (await database.container('Customers').item(id, 's1').read<Doc>()).resource?.['storeName'],
  );

const run = (input: Record<string, unknown> = {}) =>
  afresh(async ({ services, settings }) => {
    const opened = openWorkspace({ directory: import.meta.dirname, pipeline: TORN });
    const workspace = { ...opened, settings: () => settings, services: () => Promise.resolve(services) };
    const screen = { live: false, line: () => undefined, draw: () => undefined, progress: () => undefined };
    const signal = AbortSignal.timeout(150_000);
    const context = { workspace, actor: 'tester', signal, screen, clock: new SteppingClock() };
    const { value, ok } = (await recover.run(input, context)) as { value: Recovered; ok: boolean };
    expect({ ok, left: value.left }).toEqual({ ok: true, left: [] });
    return value;
  });

it('a parent that was lost gives its fields to no new child', async () => {
  await store('First');
  await customer('before');
  await derive();
  expect(await nameIn('before')).toBe('First');
  await afresh(({ services: { database } }) => database.container('Stores').delete());
  await run();
  await customer('after');
  await derive();
  expect(await nameIn('after')).toBeUndefined();
}, 120_000);

it('with --since, a parent that lost its last write gives new children the fields that it has now', async () => {
  await store('First');
  await derive();
  stage.emulator.advance(HOUR - 1_000);
  await store('Second');
  await derive();
  stage.emulator.failover('shop/Stores', HOUR / 2);
  const { parents } = await run({ since: new Date(Date.now() + 2 * HOUR).toISOString() });
  await customer('after');
  await derive();
  expect({ name: await nameIn('after'), parents }).toEqual({ name: 'First', parents: 1 });
}, 120_000);

it('with --since, a parent whose state was lost gives new children its fields', async () => {
  await store('First');
  await derive();
  await afresh(({ services: { state } }) => state.delete());
  const { parents } = await run({ since: new Date(Date.now() + HOUR).toISOString() });
  await customer('after');
  await derive();
  expect({ name: await nameIn('after'), parents }).toEqual({ name: 'First', parents: 1 });
}, 120_000);
