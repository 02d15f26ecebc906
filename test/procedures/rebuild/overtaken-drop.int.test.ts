// A drop of a sink's content that goes on after another run has ended it, and the next content was begun.
import { expect, it } from 'vitest';
import { DeadLetters } from '../../../src/engine/dead-letters/dead-letters.ts';
import { dropTarget, rebuildSink } from '../../../src/procedures/rebuild/rebuild-sink.ts';
import { openStage } from '../../support/stage.ts';
import { Shelves, declaring, search } from '../../verbs/projections/shelves.ts';
import { VERSIONS, options } from '../../verbs/projections/versions.ts';

it('a drop of a sink’s content that is overtaken leaves the dead letters of the next content', async () => {
  await using stage = await openStage({}, VERSIONS);
  const placedAt = '2026-01-01T10:00:00.000Z';
  const order = { id: 'o1', type: 'order', storeId: 's1', customerId: 'c1', placedAt, cents: 11 };
  await stage.container('Orders').items.create(order);
  const shelves = new Shelves();
  shelves.refuses = () => true;
  const sink = shelves.sink();
  const [still, going] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const stands = { ...sink.rebuild, drop: () => (still.resolve(), going.promise) };
  const of = (to: typeof sink) => {
    const spec = { ...search(to), to };
    return {
      ...options(stage, 'days@2', new AbortController().signal),
      loaded: declaring(stage, { effects: [spec] }),
      spec,
    };
  };
  await rebuildSink(of(sink));
  const late = dropTarget(of({ ...sink, rebuild: stands }));
  await still.promise;
  await dropTarget(of(sink));
  expect(await rebuildSink(of(sink))).toMatchObject({ parked: 1, resumed: false });
  going.resolve();
  await expect(late).rejects.toMatchObject({ code: 'not-staged' });
  expect(await new DeadLetters(stage.services.place.state).list('search-next@1')).toHaveLength(1);
});
