// Keys move whose documents have dead letters, and fields of embeds, in a pipeline whose reactions can be refused.
import { channel } from 'node:diagnostics_channel';
import { join } from 'node:path';
import { type TestContext, expect, it, vi } from 'vitest';
import type { Redriven } from '../../../src/engine/redrive-letter.ts';
import { registry } from '../../../src/host/registry.ts';
import { jobHandlers } from '../../../src/host/run/jobs.ts';
import { cancelMove, moveMapping, planMove } from '../../../src/procedures/move/move.ts';
import type { MoveOptions } from '../../../src/procedures/move/options.ts';
import { movesOf } from '../../../src/procedures/move/record.ts';
import { openWorkspace } from '../../../src/runtime/open-workspace.ts';
import { cli } from '../../cli/cli.ts';
import { rows } from '../../runtime/application.ts';
import { defer } from './protocol/defer.ts';
import { given } from '../../runtime/spread-world.ts';

const FOLDER = join(import.meta.dirname, '../../fixtures/moving-letters');
const { signal } = new AbortController();

interface Question {
  readonly by: string;
  readonly key: string;
  readonly order: string;
  refused: boolean;
}

/** The store `s0` is in `north`, and `s1` in `west`. */
async function shop(context: Pick<TestContext, 'onTestFinished'>) {
  const world = await given(context, ['north', 'west'], { folder: FOLDER });
  const { stage, application, host } = world;
  for (const [name, value] of Object.entries(stage.env)) vi.stubEnv(name, value);
  context.onTestFinished(() => void vi.unstubAllEnvs());
  const refusing = new Set<string>();
  const effects: string[] = [];
  const questions = channel('test.letters');
  const listen = (message: unknown): void => {
    const question = message as Question;
    question.refused = refusing.has(`${question.by} ${question.order}`);
    if (!question.refused && question.key !== '') effects.push(`${question.by} ${question.order} ${question.key}`);
  };
  questions.subscribe(listen);
  context.onTestFinished(() => {
    questions.unsubscribe(listen);
  });
  await cli(['model', 'apply', '--pipeline', FOLDER]);
  const { map } = stage;
  const shards = await map.shards();
  const shardOf = (name: string) => shards.find(({ location }) => location.database === name)!;
  await map.createMapping({ shard: shardOf('north'), key: 's0' });
  await map.createMapping({ shard: shardOf('west'), key: 's1' });
  const app = await host();
  const options = (more: Partial<MoveOptions> = {}): MoveOptions => ({
    map,
    maps: stage.at('maps', 'shardmaps'),
    connect: ({ database }) => stage.at(database, 'Orders').database,
    endpointOf: () => stage.emulator.endpoint,
    stateContainer: 'millrace',
    leases: stage.services.global.leases,
    signal,
    readLagMs: 0,
    graceMs: 100,
    // The pause is not what this is about.
    holdMs: 30_000,
    ...more,
  });
  const move = async (to: string, more: Partial<MoveOptions> = {}) =>
    moveMapping(options(more), await map.mapping('s0'), shardOf(to));
  const letters = async (shard: string) =>
    (
      await stage
        .at(shard, 'millrace')
        .items.query<string>("SELECT VALUE CONCAT(c.projection, ' ', c.document) FROM c WHERE c.kind = 'dead-letter'")
        .fetchAll()
    ).resources.toSorted();
  const redrive = async (shard: string, ...more: string[]): Promise<string[]> => {
    const run = await cli(['dead-letters', 'redrive', '--shard', shard, '--pipeline', FOLDER, '--json', ...more]);
    const found = JSON.parse(run.stdout || run.stderr) as Redriven[];
    return found.map(({ projection, id, outcome }) => `${projection} ${id} ${outcome}`).toSorted();
  };
  /** Which effects there were, and under how many keys each. */
  const had = (): Record<string, number> => {
    const keys = Map.groupBy(effects, (one) => one.split(' ').slice(0, 2).join(' '));
    return Object.fromEntries([...keys].map(([one, all]) => [one, new Set(all).size]));
  };
  const drained = async (): Promise<void> => app.drained(signal);
  /** Each place is as if it were computed from its source documents. */
  const verify = async (): Promise<void> => {
    expect(await cli(['projections', 'verify', '--pipeline', FOLDER, '--json'])).toMatchObject({ code: 0 });
  };
  const names = async (shard: string, container: string, field: string) =>
    (
      await rows<{ id: string; storeId: string; said: string }>(
        stage.at(shard, container),
        `c.id, c.storeId, c.${field} AS said`,
      )
    )
      .filter(({ storeId }) => storeId === 's0')
      .map(({ id, said }) => `${id} ${said}`)
      .toSorted();
  return {
    ...world,
    app,
    application,
    refusing,
    effects,
    move,
    options,
    shardOf,
    letters,
    redrive,
    had,
    drained,
    verify,
    names,
  };
}

it('the retry of a reaction that waits while its key moves runs in the new shard, once', async (context) => {
  const { application, refusing, move, letters, had, drained } = await shop(context);
  refusing.add('told s0-o1');
  await application.order('s0', 'north', 'o1', 1);
  await drained();
  const workspace = openWorkspace({ directory: process.cwd(), pipeline: FOLDER });
  context.onTestFinished(() => workspace.close());
  // The payload of the job that a host has added (`jobs/over-shards.int`).
  const payload = { projection: 'told@1', id: 'o1', key: ['s0'], shard: 'north' };
  const run = { id: '1', askedAt: Date.now(), attempt: 1, signal, progress: () => undefined };
  const retry = () => jobHandlers(registry, workspace).reaction!(payload, run);
  await expect(retry()).rejects.toMatchObject({ code: 'reaction-failed' });
  await move('west');
  expect(await letters('west')).toEqual(['told@1 o1']);
  await expect(retry()).rejects.toMatchObject({ code: 'reaction-failed' });
  // Work that was queued for the letters of the key, where they were.
  const queued = (input: object) =>
    jobHandlers(registry, workspace).operation!(
      { name: 'dead-letters redrive', input: { shard: 'north', ...input }, actor: 'a' },
      run,
    );
  expect(await queued({ id: 'o1', key: '["s0"]' })).toMatchObject({
    places: [{ place: 'west', ok: false, value: [{ projection: 'told@1', id: 'o1', outcome: 'refused' }] }],
  });
  expect(await queued({ tenant: 's0', code: 'another' })).toMatchObject({
    places: ['north', 'west'].map((place) => ({ place, ok: true, value: [] })),
  });
  await expect(queued({ id: 'o9', key: '["s0"]' })).rejects.toMatchObject({ code: 'not-found' });
  // An id alone may be another tenant's in another shard.
  await expect(queued({ id: 'o1' })).rejects.toMatchObject({ code: 'not-found' });
  refusing.clear();
  expect(await retry()).toMatchObject([{ outcome: 'applied' }]);
  expect(await retry()).toEqual([]);
  expect(had()['told s0-o1']).toBe(1);
  expect([await letters('north'), await letters('west')]).toEqual([[], []]);
});

it('what is parked is redriven where its document is, with one effect', async (context) => {
  const { stage, application, refusing, move, options, shardOf, letters, redrive, had, drained, verify } =
    await shop(context);
  for (const what of ['told', 'ordered', 'summaries']) refusing.add(`${what} s0-o1`);
  // Of a country that there isn't, so that no embed writes into them.
  for (const id of ['o1', 'o2']) await application.order('s0', 'north', id, 1, { countryId: 'XX' as 'AT' });
  await drained();
  const parked = ['ordered@1 o1', 'ordered@1 o2', 'summaries@1 o1', 'told@1 o1'];
  expect(await letters('north')).toEqual(parked);
  expect(await planMove(options(), await stage.map.mapping('s0'), shardOf('west'))).toMatchObject({
    documents: { Orders: 2 },
    letters: 4,
  });
  expect(await move('west')).toMatchObject({ letters: 3, parked: [] });
  await drained();
  expect([await letters('north'), await letters('west')]).toEqual([[], parked]);
  expect(had()).toEqual({ 'told s0-o2': 1 });
  // There they can be refused again, and moved on.
  expect(await redrive('west', '--only', 'told')).toEqual(['told@1 o1 refused']);
  expect(await move('north')).toMatchObject({ letters: 3, parked: [] });
  await drained();
  expect([await letters('north'), await letters('west')]).toEqual([parked, []]);
  refusing.clear();
  expect(await redrive('north')).toEqual(['ordered@1 o1 applied', 'summaries@1 o1 applied', 'told@1 o1 applied']);
  expect(await letters('north')).toEqual([]);
  expect(had()).toEqual({ 'ordered s0-o1': 1, 'ordered s0-o2': 1, 'told s0-o1': 1, 'told s0-o2': 1 });
  await verify();
}, 400_000);

it('what the application writes in the new home replaces what is parked, and a cancelled move leaves the letters', async (context) => {
  const { stage, application, refusing, move, options, letters, had, drained } = await shop(context);
  refusing.add('told s0-o1');
  await application.order('s0', 'north', 'o1', 1);
  await drained();
  const stopping = new AbortController();
  const say = (text: string): void => {
    if (text === 'waiting for the hosts of the target') stopping.abort();
  };
  await expect(move('west', { say, signal: stopping.signal })).rejects.toBeDefined();
  const [left] = await movesOf(stage.at('maps', 'shardmaps'), 'tenants', signal);
  await cancelMove(options({ takeOver: true }), left!.id);
  expect([await letters('north'), await letters('west')]).toEqual([['told@1 o1'], []]);

  const written = { done: false };
  await move('west', {
    say: async (text) => {
      if (!text.startsWith('the map gives') || written.done) return;
      written.done = true;
      refusing.clear();
      await application.order('s0', 'west', 'o1', 2);
    },
  });
  await drained();
  expect([await letters('north'), await letters('west')]).toEqual([[], []]);
  expect(had()).toMatchObject({ 'told s0-o1': 1 });
}, 400_000);

it('a reaction that is deferred on the source has its effect there, whichever of both dies: the mover or the host', async (context) => {
  const { stage, application, refusing, app, host, effects, move, letters, had, drained } = await shop(context);
  refusing.add('told s0-o1');
  await application.order('s0', 'north', 'o1', 1);
  await drained();
  // It is as if no host had applied it.
  expect(
    await cli([
      'dead-letters',
      'discard',
      '--shard',
      'north',
      '--only',
      'told',
      '--reason',
      'test',
      '--yes',
      '--pipeline',
      FOLDER,
    ]),
  ).toMatchObject({ code: 0 });
  expect([await letters('north'), had()]).toEqual([[], { 'ordered s0-o1': 1 }]);
  refusing.clear();
  await app.stop();
  await defer(stage.at('north', 'millrace'), stage.at('north', 'Orders'), {
    pipeline: 'moving-letters',
    storeId: 's0',
  });
  const stopping = new AbortController();
  const say = (text: string): void => {
    if (text.startsWith('waiting for hosts')) stopping.abort();
  };
  await expect(move('west', { say, signal: stopping.signal, takeOver: true })).rejects.toBeDefined();
  const again = await host('again');
  await move('west', { takeOver: true });
  await again.drained(signal);
  expect(had()).toEqual({ 'ordered s0-o1': 1, 'told s0-o1': 1 });
  expect(effects.filter((one) => one.startsWith('told'))).toHaveLength(1);
}, 400_000);

it('fields of embeds are right on both sides, there and back, and no write to them is an event', async (context) => {
  const { stage, application, move, names, had, drained, verify, options, shardOf } = await shop(context);
  await application.order('s0', 'north', 'o1', 1);
  await drained();
  const country = (name: string) => stage.container('Countries').items.upsert({ id: 'AT', type: 'country', name });
  // In the source's shard the country has a version that is above those of the target's.
  for (let n = 0; n < 30; n++)
    await stage.at('north', 'ShardCountries').items.create({ id: `n${n}`, type: 'other', name: 'other' });
  await country('Austria.');
  await drained();
  expect(await names('north', 'Customers', 'name')).toEqual(['c1 s0']);
  expect(await names('north', 'Orders', 'customerId')).toEqual(['o1 Austria.']);
  expect((await planMove(options(), await stage.map.mapping('s0'), shardOf('west'))).embedded).toBe(2);
  const effects = had();
  const store = (shard: string, name: string) =>
    stage.at(shard, 'Stores').items.upsert({ id: 's0', type: 'store', storeId: 's0', name });

  // Parents change while the target's hosts have the copies, and so does a child.
  const changed = { done: false };
  await move('west', {
    say: async (text) => {
      if (text !== 'waiting for the hosts of the target' || changed.done) return;
      changed.done = true;
      await drained();
      await store('north', 'Elsewhere');
      await country('Austria!');
      await drained();
      await application.order('s0', 'north', 'o1', 5);
      await drained();
      // What the target's embeds wrote before the switch would be newer.
      expect(await rows(stage.container('AllOrders'), 'c.id, c.cents')).toEqual([{ id: 's0-o1', cents: 5 }]);
    },
  });
  await drained();
  expect(await names('west', 'Customers', 'name')).toEqual(['c1 Elsewhere']);
  expect(await names('west', 'Orders', 'customerId')).toEqual(['o1 Austria!']);
  expect(await names('west', 'Orders', 'cents')).toEqual(['o1 5']);
  await store('west', 'Anew');
  await country('Österreich');
  await drained();
  expect(await names('west', 'Customers', 'name')).toEqual(['c1 Anew']);
  expect(await names('west', 'Orders', 'customerId')).toEqual(['o1 Österreich']);
  await verify();
  await move('north');
  await country('AT');
  await drained();
  expect(await names('north', 'Customers', 'name')).toEqual(['c1 Anew']);
  expect(await names('north', 'Orders', 'customerId')).toEqual(['o1 AT']);
  expect(await names('west', 'Orders', 'customerId')).toEqual([]);
  await verify();
  // The order was written once more, and nothing else was an event.
  expect(had()).toEqual(Object.fromEntries(Object.entries(effects).map(([one, keys]) => [one, keys + 1])));
}, 400_000);
