import { expect, it } from 'vitest';
import { MoveStage } from './move-stage.ts';

it('a document that is archived after the move began ends the move before it copies', async () => {
  await using stage = await MoveStage.open();
  await stage.orders(stage.west).items.create({ id: 'o1', type: 'order', tenantId: 1, n: 1 });
  const entry = {
    id: 'e1',
    pk: 'archive|1',
    type: 'millrace.archived',
    state: 'archived',
    source: { container: 'Orders', key: [1], id: 'o2', type: 'order' },
  };
  const say = async (text: string): Promise<void> => {
    if (text === 'preparing') await stage.database('west').container('millrace').items.create(entry);
  };
  const moving = stage.move(1, stage.east, { archives: ['Orders'], sweepMs: 20, say });
  await expect(moving).rejects.toMatchObject({ code: 'move-archived' });
  expect([await stage.stored(stage.west, 1), await stage.everything(stage.east, 1)]).toMatchObject([
    [{ id: 'o1' }],
    [],
  ]);
});
