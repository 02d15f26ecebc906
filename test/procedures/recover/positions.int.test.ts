// Saved positions after a disaster: they mean nothing in another container, and may stand for other changes in one that
// lost changes. docs/SPEC-recover.md, REC-C1.
import { afterEach, expect, it } from 'vitest';
import { checkpointsRestore } from '../../../src/verbs/checkpoints/restore.operation.ts';
import { checkpointsSave } from '../../../src/verbs/checkpoints/save.operation.ts';
import { leasesRewind } from '../../../src/verbs/leases/rewind.operation.ts';
import type { Operation } from '../../../src/verbs/operation.ts';
import { projectionsReplay } from '../../../src/verbs/projections/replay.operation.ts';
import { type Stage, SHOP, openStage } from '../../support/stage.ts';
import { afresh, derive, newRun, operateOn, recoverOn } from './recovery.ts';

const HOUR = 3_600_000;

let stage: Stage;
afterEach(() => stage[Symbol.asyncDispose]());

const place = (...numbers: number[]) =>
  afresh(stage, async (now) => {
    for (const n of numbers)
      await now.container('Orders').items.upsert({
        id: `o${n}`,
        type: 'order',
        storeId: 's1',
        customerId: 'c1',
        placedAt: '2026-01-01T10:00:00.000Z',
        cents: n,
      });
  });
const run = (operation: Operation, input: Record<string, unknown>) =>
  afresh(stage, (now) => operateOn(now, newRun(), operation, input));

/** Orders of an hour ago and of now, and a checkpoint behind them. */
async function saved(): Promise<void> {
  stage = await openStage({ faults: { historyMs: HOUR } }, SHOP);
  await place(1, 2, 3);
  await derive(stage);
  stage.emulator.advance(HOUR - 1_000);
  await place(4, 5);
  await derive(stage);
  await run(checkpointsSave, { name: 'before' });
}

const USES: readonly (readonly [Operation, Record<string, unknown>])[] = [
  [checkpointsRestore, { name: 'before' }],
  [leasesRewind, { to: 'checkpoint:before', container: 'Orders' }],
  [projectionsReplay, { name: 'summaries', checkpoint: 'before' }],
];

it('a checkpoint of a container that lost changes is refused after the recovery, and a new one is not', async () => {
  await saved();
  stage.emulator.failover('shop/Orders', HOUR / 2);
  // They use the lsns of the lost ones again: nothing shows the loss.
  await place(6, 7, 8);
  const { ok, value } = await afresh(stage, (now) => recoverOn(now, newRun()));
  expect(ok).toBe(true);
  expect(value.findings).toContainEqual(
    expect.objectContaining({
      about: 'checkpoint before',
      what: expect.stringContaining('Orders may use its positions again') as string,
    }),
  );
  await derive(stage);
  for (const [operation, input] of USES)
    await expect(run(operation, input)).rejects.toMatchObject({ code: 'checkpoint-renumbered' });
  await run(checkpointsSave, { name: 'after' });
  await place(9);
  await derive(stage);
  await run(leasesRewind, { to: 'checkpoint:after', container: 'Orders' });
  await run(checkpointsRestore, { name: 'after' });
  await expect(run(projectionsReplay, { name: 'summaries', checkpoint: 'after' })).resolves.toMatchObject({
    value: { changes: 1 },
  });
}, 120_000);

it('a checkpoint of a container that was restored is named, and refused by every use', async () => {
  await saved();
  stage.emulator.restore('shop/Orders', HOUR / 2);
  const { ok, value } = await afresh(stage, (now) => recoverOn(now, newRun()));
  expect(ok).toBe(true);
  expect(value.findings).toContainEqual(
    expect.objectContaining({
      about: 'checkpoint before',
      what: expect.stringContaining('of an earlier container Orders') as string,
      hint: expect.stringContaining('checkpoints delete before --yes') as string,
    }),
  );
  await derive(stage);
  const codes = await Promise.all(
    USES.map(([operation, input]) =>
      run(operation, input).then(
        () => 'done',
        (error: { code: string }) => error.code,
      ),
    ),
  );
  // All containers were recovered, and a restore of all of them meets another one first.
  expect(codes).toEqual(['checkpoint-renumbered', 'position-unusable', 'position-unusable']);
}, 120_000);

it('a rewind doesn’t make a checkpoint unusable: its positions stay in one order', async () => {
  await saved();
  await run(leasesRewind, { to: 'beginning', container: 'Orders' });
  await derive(stage);
  await expect(run(projectionsReplay, { name: 'summaries', checkpoint: 'before' })).resolves.toMatchObject({
    value: { changes: 0 },
  });
}, 120_000);
