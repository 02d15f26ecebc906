// What is deferred of a container that the pipeline no longer reads. docs/SPEC-tenants.md, TEN-F24.
import { expect, it } from 'vitest';
import { deadLettersDiscard } from '../../../src/verbs/dead-letters/discard.operation.ts';
import { doctor } from '../../../src/verbs/doctor.operation.ts';
import { changesOf, openQueues } from '../../engine/deferred/defer.ts';
import { leaseWorld } from '../../verbs/leases/lease-world.ts';

const ASKED = { deferred: 'Gone', reason: 'it was removed' };

it('what is deferred is reported by doctor, and can be discarded; what hosts drain can’t', async () => {
  const world = await leaseWorld();
  const { state } = world.stage.services.place;
  const { name } = world.stage.loaded.pipeline;
  for (const source of ['Gone', 'Orders'])
    await (await openQueues(state, name, source)).defer('s1', changesOf(source, 's1', 250));
  const stored = async (pk: string): Promise<string[]> =>
    (await state.items.query<string>(`SELECT VALUE c.id FROM c WHERE c.pk = '${pk}'`).fetchAll()).resources;
  expect(await stored(`deferred|${name}|Gone`)).toHaveLength(5);

  expect((await world.run(doctor)).text).toContain('1 queue of changes of Gone are deferred');
  expect(await world.refusal(deadLettersDiscard, { ...ASKED, deferred: 'Orders' })).toMatchObject({
    code: 'wrong-state',
  });
  expect(await world.refusal(deadLettersDiscard, { ...ASKED, deferred: 'Gon' })).toMatchObject({
    code: 'not-found',
  });
  expect(await world.plan(deadLettersDiscard, ASKED)).toEqual(['remove 1 queue of changes of Gone']);
  expect((await world.run(deadLettersDiscard, ASKED)).text).toBe('5 documents of the queues of Gone removed.');
  expect(await stored(`deferred|${name}|Gone`)).toEqual([]);
  expect(await stored(`deferred|${name}|Orders`)).toHaveLength(5);
  expect((await world.run(doctor)).text).not.toContain('of Gone');
});
