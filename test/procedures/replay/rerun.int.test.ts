import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { ReactSpec } from '../../../src/pipeline/specs.ts';
import { DeadLetters } from '../../../src/engine/dead-letters/dead-letters.ts';
import { rerun } from '../../../src/procedures/replay/rerun.ts';
import { effectsStage, order } from '../../support/effects-stage.ts';

const { stage, write, optionsOf } = effectsStage();

it('a reaction that is run again runs for the listed documents as they are now, under a key of the repetition, and parks nothing', async () => {
  const calls: { id: string; cents: number; key: string }[] = [];
  let broken = true;
  const spec: ReactSpec = {
    kind: 'react',
    name: 'mail',
    version: 1,
    from: { container: 'Orders', type: 'order' },
    onDelete: 'remove',
    order: 'document',
    attempts: 1,
    timeoutMs: 5_000,
    restored: false,
    echoes: false,
    when: ({ cents }) => Number(cents) < 100,
    run: async (doc, { key }) => {
      if (broken && doc['id'] === 'o3') throw new Error('It is down');
      calls.push({ id: String(doc['id']), cents: Number(doc['cents']), key });
    },
  };
  for (const [id, cents] of [
    ['o1', 1],
    ['o2', 500],
    ['o3', 3],
  ] as const)
    await write(order(id, cents));
  await write(order('o4', 4, { cancelled: true }));
  await write(order('o1', 11));
  const documents = ['o1', 'o2', 'o3', 'o4', 'o5', 'o1'].map((id) => ({ key: ['s1'], id }));
  const again = (repeat: number) => rerun({ ...optionsOf(spec), documents, repeat });
  expect((await again(1)).map(({ id, outcome }) => `${id} ${outcome}`)).toEqual([
    'o1 ran',
    'o2 left out',
    'o3 failed',
    'o4 left out',
    'o5 missing',
  ]);
  expect(calls).toMatchObject([{ id: 'o1', cents: 11 }]);
  expect(calls[0]?.key).toMatch(/^Orders\/%5B%22s1%22%5D\/o1\/.+\/again-1\/mail%401$/);
  expect(await new DeadLetters(stage().services.place.state).list('mail@1')).toEqual([]);
  broken = false;
  await again(1);
  await again(2);
  const keys = calls.filter(({ id }) => id === 'o1').map(({ key }) => key);
  expect(keys[1]).toBe(keys[0]);
  expect(keys[2]).not.toBe(keys[0]);
});

it('a reaction that is run again of one tenant leaves out the documents of others', async () => {
  await write(order('o1', 1));
  await write({ ...order('o1', 2), storeId: 's2' });
  const calls: unknown[] = [];
  const spec: ReactSpec = {
    kind: 'react',
    name: 'mail',
    version: 1,
    from: { container: 'Orders', type: 'order' },
    onDelete: 'remove',
    order: 'document',
    attempts: 1,
    timeoutMs: 5_000,
    restored: false,
    echoes: false,
    run: async ({ storeId }) => {
      calls.push(storeId);
    },
  };
  const { loaded, ...options } = optionsOf(spec);
  const results = await rerun({
    ...options,
    loaded: { ...loaded, pipeline: { ...loaded.pipeline, tenant: 'storeId' } },
    documents: ['s1', 's2'].map((store) => ({ key: [store], id: 'o1' })),
    repeat: 1,
    tenant: 's2',
  });
  expect(results.map(({ outcome }) => outcome)).toEqual(['left out', 'ran']);
  expect(calls).toEqual(['s2']);
});

it('ordered by key runs for one document of a key at a time, in the order of the list', async () => {
  const ids = ['o3', 'o1', 'o2'];
  for (const id of ids) await write(order(id, 1));
  const steps: string[] = [];
  const spec: ReactSpec = {
    kind: 'react',
    name: 'mail',
    version: 1,
    from: { container: 'Orders', type: 'order' },
    onDelete: 'remove',
    order: 'partitionKey',
    attempts: 1,
    timeoutMs: 5_000,
    restored: false,
    echoes: false,
    run: async ({ id }) => {
      steps.push(`begin ${String(id)}`);
      await delay(5);
      steps.push(`end ${String(id)}`);
    },
  };
  await rerun({ ...optionsOf(spec), documents: ids.map((id) => ({ key: ['s1'], id })), repeat: 1 });
  expect(steps).toEqual(ids.flatMap((id) => [`begin ${id}`, `end ${id}`]));
});
