// Whole numbers beyond 2^53, which the service keeps and JavaScript rounds (ASM-E90): nothing that was read is written
// back with another number.
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DeadLetters } from '../../src/engine/dead-letters/dead-letters.ts';
import { migrate } from '../../src/procedures/migrate/migrate.ts';
import type { App } from '../../src/runtime/hosts/processor-host.ts';
import { archiveStage, order } from '../archive/stage.ts';
import { emulate } from '../emulator/emulate.ts';
import { MoveStage } from '../procedures/move/move-stage.ts';
import { LARGE, digits, textsOf } from '../support/exact.ts';
import { type Stage, openStage } from '../support/stage.ts';
import { live } from '../verbs/projections/versions.ts';

const KEYLESS = join(import.meta.dirname, '../fixtures/keyless');
const { signal } = new AbortController();

describe('a pipeline', () => {
  let stage: Stage;
  let app: App;
  beforeEach(async () => {
    stage = await openStage({}, KEYLESS);
    app = await live(stage);
  });
  afterEach(async () => {
    await app.stop();
    await stage[Symbol.asyncDispose]();
  });
  const item = { id: 'x', type: 'item', team: 'red', ownerId: 'o1', n: 1 };
  const letters = async () =>
    (await new DeadLetters(stage.services.place.state).list()).map(({ projection, message }) => [projection, message]);

  it('parks what it makes of such a number, with its path', async () => {
    await stage.container('Items').items.create({ ...item, n: digits(LARGE) });
    await app.drained(signal);
    expect(Object.fromEntries(await letters())).toEqual({
      'totals@1': expect.stringContaining('beyond the integers that are exact') as string,
      'views@1': expect.stringMatching(/^views@1: \/n is the whole number .* 2\^53/) as string,
    });
    expect((await stage.container('Views').items.readAll().fetchAll()).resources).toEqual([]);
  });

  it('embeds into a document with such a number, which stays as it is', async () => {
    await stage.container('Owners').items.create({ id: 'o1', type: 'owner', name: 'Ada' });
    await stage.container('Items').items.create({ ...item, other: [{ large: digits(LARGE) }] });
    await app.drained(signal);
    const text = await textsOf(stage.emulator, 'shop', 'Items');
    expect(text).toContain('"ownerName":"Ada"');
    expect(text).toContain(`"large":${LARGE}`);
    expect(await letters()).toEqual([]);
  });
});

it('an archive lets no such document leave, and says which number it is', async () => {
  const stage = await archiveStage();
  await stage.orders.items.create({ ...order('large'), at: { ticks: digits(`-${LARGE}`) } });
  await stage.orders.items.create(order('other'));
  const notes: string[] = [];
  const swept = await stage.sweep({ note: (text: string) => void notes.push(text) } as never);
  expect(swept).toMatchObject({ archived: 1, refused: 1 });
  expect(JSON.stringify([swept, notes])).toContain('/at/ticks is the whole number -9007199254740992');
  expect(await stage.hot()).toEqual(['large']);
  expect(await textsOf(stage.emulator, 'd', 'Orders')).toContain(`"ticks":-${LARGE}`);
});

it('a migration and a move refuse such a document, and nothing is lost', async () => {
  const { container, database, client } = await emulate();
  await container.items.create({ id: 'x', pk: 'a', n: digits(LARGE) });
  await database.containers.create({ id: 'millrace', partitionKey: { paths: ['/pk'] } });
  const { container: target } = await database.containers.create({ id: 'to', partitionKey: { paths: ['/pk'] } });
  const state = client.database('d').container('millrace');
  await expect(migrate({ state, source: container, target, signal, readLagMs: 0 })).rejects.toMatchObject({
    code: 'value-invalid',
    message: expect.stringContaining('c/x: /n is the whole number') as string,
  });
  const stage = await MoveStage.open();
  await stage.orders(stage.west).items.create({ id: 'x', type: 'order', tenantId: 1, n: digits(LARGE) });
  await expect(stage.move(1, stage.east)).rejects.toMatchObject({ code: 'value-invalid' });
  expect(await textsOf(stage.emulator, 'west', 'Orders')).toContain(`"n":${LARGE}`);
  await stage[Symbol.asyncDispose]();
});
