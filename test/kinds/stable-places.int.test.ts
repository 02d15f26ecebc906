// What becomes of a pipeline that says `stable: true` where it isn't so.
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DeadLetters } from '../../src/engine/dead-letters/dead-letters.ts';
import { formatVerification, verify } from '../../src/procedures/verify/verify.ts';
import { type Stage, openStage } from '../support/stage.ts';
import { live } from '../verbs/projections/versions.ts';

const { signal } = new AbortController();
let stage: Stage;
beforeEach(async () => {
  stage = await openStage({}, join(import.meta.dirname, '../fixtures/unstable'));
});
afterEach(() => stage[Symbol.asyncDispose]());

const write = async (day: string, more: object = {}): Promise<void> => {
  const order = {
    id: 'o1',
    type: 'order',
    storeId: 's1',
    customerId: 'c1',
    placedAt: `${day}T10:00:00.000Z`,
    cents: 5,
  };
  await stage.container('Orders').items.upsert({ ...order, ...more });
};
const parked = async (): Promise<string[]> =>
  (await new DeadLetters(stage.services.place.state).list())
    .map(({ projection, code }) => `${projection} ${code}`)
    .toSorted();

describe('a projection that is stable by declaration only', () => {
  it('A host that has seen the document parks a change that leads it to another place', async () => {
    const app = await live(stage);
    await write('2026-03-01');
    await app.drained(signal);
    await write('2026-03-02');
    await app.drained(signal);
    expect(await parked()).toEqual(['days@1 place-changed', 'summaries@1 place-changed']);
    // The document is what it was, so its letters have no cause any more.
    await write('2026-03-01', { cents: 6 });
    await app.drained(signal);
    expect(await parked()).toEqual([]);
    await app.stop();
  });

  it('A change that no host has noticed leaves something behind, and verify says what isn’t so', async () => {
    for (const day of ['2026-03-01', '2026-03-02']) {
      const app = await live(stage);
      await write(day);
      await app.drained(signal);
      await app.stop();
    }
    expect(await parked()).toEqual([]);
    const found = await verify(stage.loaded, stage.services, {
      signal,
      screen: { progress: () => undefined },
      readLagMs: 0,
      settings: stage.settings,
    });
    expect(found.differences.map(({ container, why }) => `${container}: ${why}`).toSorted()).toEqual([
      'Days: days@1 is declared `stable`, but ["s1","o1"] has left this place; declare a new version without it',
      'Summaries: summaries@1 is declared `stable`, but ["s1","o1"] has left this place; declare a new version without it',
    ]);
    expect(formatVerification(found)).toContain('is declared `stable`');
  });
});
