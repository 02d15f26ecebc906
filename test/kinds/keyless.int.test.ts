// Documents that lack their partition key, or levels of it, beside those whose key is null: they lie in different
// partitions, so one id can stand for several documents (ASM-A35).
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { DeadLetters } from '../../src/engine/dead-letters/dead-letters.ts';
import { redrive } from '../../src/procedures/dead-letters/redrive.ts';
import { type VerifyOptions, verify } from '../../src/procedures/verify/verify.ts';
import type { App } from '../../src/runtime/hosts/processor-host.ts';
import { type Stage, openStage } from '../support/stage.ts';
import { live } from '../verbs/projections/versions.ts';

const KEYLESS = join(import.meta.dirname, '../fixtures/keyless');
const { signal } = new AbortController();
const screen = { progress: () => undefined };
let stage: Stage;
let app: App;

beforeEach(async () => {
  stage = await openStage({}, KEYLESS);
  app = await live(stage);
  await stage.container('Owners').items.create({ id: 'o1', type: 'owner', name: 'Ada' });
});
afterEach(async () => {
  await app.stop();
  await stage[Symbol.asyncDispose]();
});

/** Without a key, with null, and with a value. */
const TEAMS = [{}, { team: null }, { team: 'red' }];
const put = (team: object, more: object = {}) =>
  stage.container('Items').items.upsert({ id: 'x', type: 'item', ownerId: 'o1', n: 1, ...team, ...more });
const all = async (container: string, fields: string): Promise<unknown[]> =>
  (
    await stage
      .container(container)
      .items.query(`SELECT ${fields} FROM c WHERE NOT STARTSWITH(c.type, "millrace.")`)
      .fetchAll()
  ).resources;
const total = async (type: string): Promise<unknown> =>
  (await all('Totals', 'c.type, c.count, c.n')).find((one) => (one as { type: string }).type === type);
const letters = () => new DeadLetters(stage.services.place.state).list();
const look = (more: Partial<VerifyOptions> = {}) =>
  verify(stage.loaded, stage.services, { signal, screen, readLagMs: 0, settings: stage.settings, ...more });

it('three documents of one id are three, in a copy, a sum and an embed', async () => {
  for (const [at, team] of TEAMS.entries()) await put(team, { n: 10 ** at });
  await app.drained(signal);
  expect(await total('total')).toEqual({ type: 'total', count: 3, n: 111 });
  expect(await all('Views', 'c.id, c.n, c.ownerName')).toEqual(
    expect.arrayContaining([
      { id: 'undefined-x', n: 1, ownerName: 'Ada' },
      { id: 'null-x', n: 10, ownerName: 'Ada' },
      { id: 'red-x', n: 100, ownerName: 'Ada' },
    ]),
  );
  expect(await all('Items', 'c.team, c.ownerName')).toEqual(
    expect.arrayContaining(TEAMS.map((team) => ({ ...team, ownerName: 'Ada' }))),
  );
  await stage.container('Owners').items.upsert({ id: 'o1', type: 'owner', name: 'Eve' });
  await app.drained(signal);
  expect(await all('Items', 'c.team, c.ownerName')).toEqual(
    expect.arrayContaining(TEAMS.map((team) => ({ ...team, ownerName: 'Eve' }))),
  );
  expect((await all('Views', 'c.ownerName')).map((one) => (one as { ownerName: string }).ownerName)).toEqual(
    Array(3).fill('Eve'),
  );
  expect(await letters()).toEqual([]);
  expect(await look()).toMatchObject({ different: 0, parked: [] });
  await put({}, { gone: true });
  await app.drained(signal);
  expect(await total('total')).toMatchObject({ count: 2, n: 110 });
  expect(await all('Views', 'c.id')).toHaveLength(2);
  expect(await look()).toMatchObject({ different: 0 });
});

it('parts that lack different levels of one key are different documents', async () => {
  const levels = [{}, { region: null }, { region: 'eu' }, { team: 'red' }, { region: null, team: 'red' }];
  for (const [at, of] of levels.entries())
    await stage.container('Parts').items.create({ id: 'x', type: 'part', n: 10 ** at, ...of });
  await app.drained(signal);
  expect(await total('parts')).toEqual({ type: 'parts', count: 5, n: 11_111 });
  expect(await look()).toMatchObject({ different: 0 });
});

it('a dead letter of a document without a key is redriven by that document, and not taken for deleted', async () => {
  for (const team of TEAMS) await put(team);
  await app.drained(signal);
  await put({}, { n: -1 });
  await app.drained(signal);
  expect(await letters()).toMatchObject([{ id: 'x', key: [{}] }]);
  // Its parked version is what it has, and the null one isn't touched by what happens to it.
  const again = () => redrive({ ...stage, signal, readLagMs: 0 });
  expect(await again()).toMatchObject([{ outcome: 'refused' }]);
  await put({}, { n: 5 });
  await app.drained(signal);
  expect(await letters()).toEqual([]);
  expect(await total('total')).toMatchObject({ count: 3, n: 7 });
  await put({}, { n: -2 });
  await app.drained(signal);
  await stage.container('Items').item('x', [{}]).delete();
  expect(await again()).toMatchObject([{ outcome: 'deleted' }]);
  expect((await all('Views', 'c.id')).map((one) => (one as { id: string }).id).toSorted()).toEqual(['null-x', 'red-x']);
});

it('verify finds what is wrong of a document without a key, and repairs it', async () => {
  for (const team of TEAMS) await put(team);
  await app.drained(signal);
  await stage.container('Views').item('undefined-x', 'p').delete();
  await stage
    .container('Items')
    .item('x', [{}])
    .patch([{ op: 'set', path: '/ownerName', value: 'Mallory' }]);
  await app.stop();
  expect(await look()).toMatchObject({ different: 2 });
  expect(await look({ repair: true })).toMatchObject({ different: 0, repaired: { repaired: 2, unrepaired: [] } });
  expect(await all('Views', 'c.id')).toHaveLength(3);
  expect(await look({ sample: '100%' })).toMatchObject({ different: 0 });
});
