import { expect, it } from 'vitest';
import { audit } from '../../../src/verbs/audit/audit.operation.ts';
import { checkpointsDelete } from '../../../src/verbs/checkpoints/delete.operation.ts';
import { checkpointsList } from '../../../src/verbs/checkpoints/list.operation.ts';
import { checkpointsRestore } from '../../../src/verbs/checkpoints/restore.operation.ts';
import { checkpointsSave } from '../../../src/verbs/checkpoints/save.operation.ts';
import { leasesRewind } from '../../../src/verbs/leases/rewind.operation.ts';
import { leaseWorld } from '../leases/lease-world.ts';

it('a checkpoint is saved, listed, gone back to, gone forward to, and forgotten', async () => {
  const world = await leaseWorld(2);
  await world.write(0, 10);
  await world.derive();
  const own = await world.ownPrefix();
  const positions = async () => (await world.documents(own)).map(({ ContinuationToken }) => String(ContinuationToken));
  const before = await positions();
  expect(await world.plan(checkpointsSave, { name: 'release-7' })).toHaveLength(2);
  expect((await world.run(checkpointsList)).text).toContain('checkpoints save');
  await world.run(checkpointsSave, { name: 'release-7' });
  expect((await world.run(checkpointsList)).value).toMatchObject([{ name: 'release-7', actor: 'tester' }]);

  await world.write(10, 20);
  await world.derive();
  const after = await positions();
  const steps = await world.plan(checkpointsRestore, { name: 'release-7' });
  expect(steps.join('\n')).toContain(`${after[0]} → ${before[0]}`);
  await world.run(checkpointsRestore, { name: 'release-7' });
  expect(await positions()).toEqual(before);
  expect((await world.run(checkpointsRestore, { name: 'release-7' })).text).toContain('already at its position');

  await world.run(leasesRewind, { to: '2000-01-01', container: 'Orders' });
  expect((await world.plan(checkpointsRestore, { name: 'release-7' })).join('\n')).toContain('skip the changes');
  await world.run(checkpointsRestore, { name: 'release-7' });
  expect(await positions(), 'forward too: it was handled before').toEqual(before);

  // The ranges of today, whatever they were when it was saved.
  world.stage.emulator.split('shop/Orders');
  await world.derive();
  await world.run(checkpointsRestore, { name: 'release-7' });
  expect(new Set(await positions())).toEqual(new Set(before));

  await world.run(checkpointsDelete, { name: 'release-7' });
  expect((await world.run(checkpointsList)).value).toEqual([]);
  const { value, text } = await world.run(audit, { most: 3 });
  expect(value).toMatchObject([
    { verb: 'checkpoints delete', outcome: 'done' },
    { verb: 'checkpoints restore', outcome: 'done' },
    { verb: 'checkpoints restore', outcome: 'done' },
  ]);
  expect(text).toContain('name=release-7');
});

it('what can’t be done is refused, by name', async () => {
  const world = await leaseWorld(1);
  expect(await world.refusal(checkpointsSave, { name: 'a' })).toMatchObject({ code: 'leases-none' });
  await world.write(0, 5);
  await world.derive();
  await world.run(checkpointsSave, { name: 'first' });
  expect(await world.refusal(checkpointsSave, { name: 'first' })).toMatchObject({ code: 'exists' });
  expect(await world.refusal(checkpointsSave, { name: 'a b' })).toMatchObject({ code: 'input-invalid' });
  expect(await world.refusal(checkpointsSave, { name: 'a/b' })).toMatchObject({ code: 'input-invalid' });
  for (const operation of [checkpointsRestore, checkpointsDelete]) {
    const error = await world.refusal(operation, { name: 'firs' });
    expect(error).toMatchObject({ code: 'not-found' });
    expect(error.message).toContain('did you mean first?');
  }
  await world.orders.delete();
  const { database } = world.stage.services.place;
  await database.containers.create({ id: 'Orders', partitionKey: { paths: ['/storeId'] } });
  await world.derive();
  expect(await world.refusal(checkpointsRestore, { name: 'first' })).toMatchObject({
    code: 'position-unusable',
  });
  await world.stage.services.place.state.delete();
  expect(await world.refusal(checkpointsList)).toMatchObject({ code: 'container-missing' });
});

it('a checkpoint is saved once, though the answer was lost', async () => {
  const world = await leaseWorld(1);
  await world.write(0, 5);
  await world.derive();
  world.stage.emulator.faults({
    rules: [{ operation: 'create', container: 'millrace', nth: 1, status: 503, effect: 'after' }],
  });
  await world.run(checkpointsSave, { name: 'once' });
  expect((await world.run(checkpointsList)).value).toHaveLength(1);
});
