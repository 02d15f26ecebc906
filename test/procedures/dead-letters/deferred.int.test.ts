// What is set aside of a container that the pipeline no longer reads. docs/SPEC-tenants.md, TEN-F24.
import { expect, it } from 'vitest';
import { deadLettersDiscard } from '../../../src/verbs/dead-letters/discard.operation.ts';
import { doctor } from '../../../src/verbs/doctor.operation.ts';
import { changesOf, openBacklog } from '../../engine/deferred/set-aside.ts';
import { leaseWorld } from '../../verbs/leases/lease-world.ts';

const ASKED = { deferred: 'Gone', reason: 'it was removed' };

it('what is set aside is reported by doctor, and can be discarded; what hosts drain can’t', async () => {
  const world = await leaseWorld();
  const { state } = world.stage.services.place;
  const { name } = world.stage.loaded.pipeline;
  for (const source of ['Gone', 'Orders'])
    await (await openBacklog(state, name, source)).setAside('s1', changesOf(source, 's1', 250));
  const stored = async (pk: string): Promise<string[]> =>
    (await state.items.query<string>(`SELECT VALUE c.id FROM c WHERE c.pk = '${pk}'`).fetchAll()).resources;
  expect(await stored(`backlog|${name}|Gone`)).toHaveLength(5);

  expect((await world.run(doctor)).text).toContain('1 queue of changes of Gone are set aside');
  expect(await world.refusal(deadLettersDiscard, { ...ASKED, deferred: 'Orders' })).toMatchObject({
    code: 'wrong-state',
  });
  expect(await world.refusal(deadLettersDiscard, { ...ASKED, deferred: 'Gon' })).toMatchObject({
    code: 'not-found',
  });
  expect(await world.plan(deadLettersDiscard, ASKED)).toEqual(['remove 1 queue of changes of Gone']);
  expect((await world.run(deadLettersDiscard, ASKED)).text).toBe('5 documents of the backlog of Gone removed.');
  expect(await stored(`backlog|${name}|Gone`)).toEqual([]);
  expect(await stored(`backlog|${name}|Orders`)).toHaveLength(5);
  expect((await world.run(doctor)).text).not.toContain('of Gone');
});
