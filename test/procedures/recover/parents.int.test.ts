// Parents of embeds after a disaster: their states are removed, corrected or made. docs/SPEC-recover.md
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Doc } from '../../../src/pipeline/specs.ts';
import type { Recovered } from '../../../src/procedures/recover/recover.ts';
import { type Stage, openStage } from '../../support/stage.ts';
import { afresh, derive, newRun, recoverOn } from './recovery.ts';

const TORN = join(import.meta.dirname, '../../fixtures/torn');
const HOUR = 3_600_000;

let stage: Stage;
beforeEach(async () => {
  stage = await openStage({ faults: { historyMs: HOUR } }, TORN);
});
afterEach(() => stage[Symbol.asyncDispose]());

const put = (name: string, doc: Doc) =>
  afresh(
    stage,
    async ({
      services: {
        place: { database },
      },
    }) => void (await database.container(name).items.upsert(doc)),
  );
const store = (name: string) => put('Stores', { id: 's1', type: 'store', storeId: 's1', name });
const customer = (id: string) => put('Customers', { id, type: 'customer', storeId: 's1', name: id });

const nameIn = (id: string) =>
  afresh(
    stage,
    async ({
      services: {
        place: { database },
      },
    }) => (await database.container('Customers').item(id, 's1').read<Doc>()).resource?.['storeName'],
  );

async function run(input: Record<string, unknown> = {}): Promise<Recovered> {
  const { value, ok } = await afresh(stage, (now) => recoverOn(now, newRun(), input));
  expect({ ok, left: value.left }).toEqual({ ok: true, left: [] });
  return value;
}

it('a parent that was lost gives its fields to no new child', async () => {
  await store('First');
  await customer('before');
  await derive(stage);
  expect(await nameIn('before')).toBe('First');
  await afresh(
    stage,
    ({
      services: {
        place: { database },
      },
    }) => database.container('Stores').delete(),
  );
  await run();
  await customer('after');
  await derive(stage);
  expect(await nameIn('after')).toBeUndefined();
}, 120_000);

it('with --since, a parent that lost its last write gives new children the fields that it has now', async () => {
  await store('First');
  await derive(stage);
  stage.emulator.advance(HOUR - 1_000);
  await store('Second');
  await derive(stage);
  stage.emulator.failover('shop/Stores', HOUR / 2);
  const { parents } = await run({ since: new Date(Date.now() + 2 * HOUR).toISOString() });
  await customer('after');
  await derive(stage);
  expect({ name: await nameIn('after'), parents }).toEqual({ name: 'First', parents: 1 });
}, 120_000);

it('with --since, a parent whose state was lost gives new children its fields', async () => {
  await store('First');
  await derive(stage);
  await afresh(
    stage,
    ({
      services: {
        place: { state },
      },
    }) => state.delete(),
  );
  const { parents } = await run({ since: new Date(Date.now() + HOUR).toISOString() });
  await customer('after');
  await derive(stage);
  expect({ name: await nameIn('after'), parents }).toEqual({ name: 'First', parents: 1 });
}, 120_000);
