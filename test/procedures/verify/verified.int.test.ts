import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { doctor } from '../../../src/verbs/doctor.operation.ts';
import type { DoctorFinding } from '../../../src/procedures/doctor/finding.ts';
import { recordVerified } from '../../../src/procedures/verify/verified.ts';
import { projectionsVerify } from '../../../src/verbs/projections/verify.operation.ts';
import { status } from '../../../src/verbs/status.operation.ts';
import { openWorkspace } from '../../../src/runtime/open-workspace.ts';
import { SHOP } from '../../support/stage.ts';
import { leaseWorld } from '../../verbs/leases/lease-world.ts';

it('status and doctor know when all projections were last verified, and what was found', async () => {
  const world = await leaseWorld(1);
  const { state } = world.stage.services.place;
  const verified = async () => ((await world.run(status)).value as { verified: unknown }).verified;
  const findings = async () =>
    ((await world.run(doctor)).value as DoctorFinding[]).filter(({ check }) => check === 'verification');
  expect(await verified()).toBeNull();
  expect(await findings()).toMatchObject([{ verdict: 'doubtful', what: expect.stringContaining('not been verified') }]);

  // One projection alone is not all of them.
  await world.run(projectionsVerify, { name: 'summaries' });
  expect(await verified()).toBeNull();

  await world.run(projectionsVerify);
  expect(await verified()).toMatchObject({ different: 0, compared: 0, differences: {} });
  expect((await world.run(status)).text).toMatch(/Last verified \d+ \S+ ago: 0 differences in 0 sink documents\./);
  expect(await findings()).toMatchObject([{ verdict: 'good' }]);

  const wrong = { id: 'x', type: 'summary', storeId: 's1', cents: 5 };
  await world.stage.container('Summaries').items.create(wrong);
  await world.run(projectionsVerify);
  expect(await verified()).toMatchObject({ different: 1, compared: 1, differences: { 'summaries@1': 1 } });
  expect(await findings()).toMatchObject([{ verdict: 'bad', what: expect.stringContaining('1 difference at') }]);

  const old = new Date(Date.now() - 9 * 86_400_000).toISOString();
  const none = { actor: 'a', seconds: 1, sources: 3, compared: 3, different: 0, differences: {} };
  await recordVerified(state, world.stage.loaded.pipeline.name, 'whole', { at: old, ...none });
  expect(await findings()).toMatchObject([{ verdict: 'doubtful', what: expect.stringContaining('more than a week') }]);

  await state.items.upsert({ id: world.stage.loaded.pipeline.name, pk: 'verification', at: 5, format: 1 });
  expect(await verified()).toBeNull();
});

it('status and doctor say of a verification what it did not compare, and that it compared nothing', async () => {
  const world = await leaseWorld(1);
  const bad = (n: number) => ({ id: `bad${n}`, type: 'order', storeId: 's1', customerId: 'c1', placedAt: 5 });
  await world.orders.items.create(bad(1));
  await world.derive();
  const findings = async () => {
    await world.run(projectionsVerify);
    return ((await world.run(doctor)).value as DoctorFinding[]).filter(({ check }) => check === 'verification');
  };
  const left = /\d source documents? not compared, nor what derives from older versions: .*\d parked \(.*\)/.source;
  expect(await findings()).toMatchObject([
    { verdict: 'doubtful', what: expect.stringMatching(new RegExp(`^nothing was compared at \\S+: ${left}$`)) },
  ]);
  expect((await world.run(status)).text).toMatch(new RegExp(`0 differences in 0 sink documents\\.\n {2}${left}\\.\n`));
  await world.write(0, 1);
  await world.derive();
  expect(await findings()).toMatchObject([
    {
      verdict: 'good',
      what: expect.stringMatching(new RegExp(`^no difference in 2 sink documents at \\S+; ${left}$`)),
    },
  ]);
});

it('a verification of the only projection by its name counts, and of one of its keys it does not', async () => {
  await leaseWorld(1);
  const folder = mkdtempSync(join(tmpdir(), 'millrace-only-'));
  const workspace = openWorkspace({ directory: folder, pipeline: folder });
  onTestFinished(async () => {
    await workspace.close();
    rmSync(folder, { recursive: true });
  });
  const only = `import shop from ${JSON.stringify(join(SHOP, 'pipeline.ts'))};
export default { ...shop, projections: shop.projections.slice(0, 1) };`;
  writeFileSync(join(folder, 'pipeline.ts'), only);
  const skip = (): undefined => undefined;
  const screen = { live: false, line: skip, draw: skip, progress: skip };
  const context = { workspace, actor: 'tester', signal: AbortSignal.timeout(50_000), screen };
  const verified = async () => ((await status.run({}, context)).value as { verified: unknown }).verified;
  await projectionsVerify.run({ name: 'summaries', key: '["s1"]' }, context);
  expect(await verified()).toBeNull();
  await projectionsVerify.run({ name: 'summaries' }, context);
  expect(await verified()).toMatchObject({ different: 0 });
});
