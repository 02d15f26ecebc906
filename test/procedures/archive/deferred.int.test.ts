// A flood of one tenant in a pipeline: what judges by positions knows what is deferred (TEN-F15 to TEN-F18).
import { afterEach, expect, it, vi } from 'vitest';
import { registeredOf } from '../../../src/engine/deferred/registered.ts';
import { sweep } from '../../../src/procedures/archive/sweep.ts';
import { promote } from '../../../src/procedures/promote/promote.ts';
import { promoteBack } from '../../../src/procedures/promote/promote-back.ts';
import { rebuild } from '../../../src/procedures/rebuild/rebuild.ts';
import { formatVerification, verify } from '../../../src/procedures/verify/verify.ts';
import { type App, compose } from '../../../src/runtime/hosts/processor-host.ts';
import { startAzurite } from '../../support/azurite.ts';
import { COLD, type Stage, openStage } from '../../support/stage.ts';
import { VERSIONS, compare, fast, options } from '../../verbs/projections/versions.ts';

const FLOOD = 2_000;
const QUIET = 10;
const { signal } = new AbortController();
const screen = { progress: () => undefined, draw: () => undefined, line: () => undefined };

const closing: (() => PromiseLike<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function open(...how: Parameters<typeof openStage>): Promise<Stage> {
  const stage = await openStage(...how);
  closing.push(() => stage[Symbol.asyncDispose]());
  return stage;
}

/** A host whose windows are so small that the flood doesn't fit. Not started yet. */
async function hostOf(stage: Stage, host: string): Promise<App> {
  const app = await compose({ ...stage, ...fast, host, pageSize: 50, mostUnacknowledged: 100 });
  closing.push(() => app.stop());
  return app;
}

const order = (id: string, storeId: string) => ({
  id,
  type: 'order',
  storeId,
  customerId: 'c1',
  placedAt: '2026-01-01T10:00:00.000Z',
  cents: 1,
});

/** Orders of store `flood`, and then some of store `quiet`. */
async function writeFlood(stage: Stage, count = FLOOD): Promise<void> {
  const write = async (storeId: string, from: number, to: number): Promise<void> => {
    const operations = Array.from({ length: to - from }, (_, n) => {
      const resourceBody = order(`${storeId}${from + n}`, storeId);
      return { operationType: 'Upsert', resourceBody } as const;
    });
    await stage.container('Orders').items.batch(operations, storeId);
  };
  for (let n = 0; n < count; n += 100) await write('flood', n, n + 100);
  await write('quiet', 0, QUIET);
}

const waitingOf = ({ services, loaded }: Stage) =>
  registeredOf(services.place.state, { pipeline: loaded.pipeline.name, source: 'Orders' }, signal);

/** The number of orders that `Days` has of a store. */
async function applied(stage: Stage, storeId: string, container = 'Days'): Promise<number> {
  const query = `SELECT VALUE c.orders FROM c WHERE c.storeId = '${storeId}' AND c.type = 'day'`;
  const { resources } = await stage.container(container).items.query<number>(query).fetchAll();
  return resources[0] ?? 0;
}

/** A host defers the flood, and stops when it has applied what stands behind it. */
async function stoppedInFlood(stage: Stage): Promise<number> {
  const app = await hostOf(stage, 'first');
  await app.start();
  const quiet = async () => expect(await applied(stage, 'quiet')).toBe(QUIET);
  await vi.waitFor(quiet, { timeout: 60_000, interval: 5 });
  await app.stop();
  const left = FLOOD - (await applied(stage, 'flood'));
  expect(left, 'otherwise nothing is left in the queues').toBeGreaterThan(0);
  return left;
}

it('a flood of one tenant waits in a queue, which verify and other hosts know, until another host has drained it', async () => {
  const stage = await open({}, VERSIONS);
  await writeFlood(stage);
  const left = await stoppedInFlood(stage);
  const [queue] = await waitingOf(stage).waiting();
  expect(queue).toMatchObject({ tenant: 'flood' });
  expect(queue?.bundles).toBeGreaterThanOrEqual(Math.floor(left / 100));

  const look = () => verify(stage.loaded, stage.services, { signal, screen, settings: stage.settings, readLagMs: 0 });
  const first = await look();
  expect(first).toMatchObject({ different: 0, differences: [] });
  expect(first.deferred).toBeGreaterThan(left);
  expect(formatVerification(first)).toContain('changes of their tenants are deferred');
  // Of a tenant without a queue every difference is found.
  await stage.container('Summaries').item('quiet1', 'quiet').delete();
  expect((await look()).differences).toMatchObject([{ document: '["quiet","quiet1"]', kind: 'missing' }]);

  const watching = await hostOf(stage, 'watching');
  let done = false;
  const drained = watching.drained(signal).then(() => (done = true));
  const listings = (): number => stage.emulator.stats().requests['query'] ?? 0;
  const before = listings();
  await vi.waitFor(() => expect(listings()).toBeGreaterThan(before + 10), { timeout: 20_000, interval: 5 });
  expect(done).toBe(false);
  const second = await hostOf(stage, 'second');
  await second.start();
  await drained;
  expect(await waitingOf(stage).queues()).toEqual([]);
  await stage.container('Orders').items.upsert(order('quiet1', 'quiet'));
  await second.drained(signal);
  expect(await look()).toMatchObject({ different: 0, documents: { sources: FLOOD + QUIET } });
  for (const id of ['summaries@1', 'days@1']) {
    const { expected, found } = await compare(stage, id);
    expect(found).toEqual(expected);
  }
});

it('a version that comes back has what is deferred, before any host has drained it', async () => {
  const stage = await open({}, VERSIONS);
  await stage.container('Orders').items.upsert(order('o1', 'quiet'));
  const app = await hostOf(stage, 'begin');
  await app.start();
  await app.drained(signal);
  await app.stop();
  const opts = { ...options(stage, 'days@2', signal), keepMs: 3_600_000 };
  await rebuild(opts);
  await promote(opts);
  await writeFlood(stage);
  const first = await hostOf(stage, 'first');
  await first.start();
  const quiet = async () => expect(await applied(stage, 'quiet', 'DaysTwo')).toBe(QUIET + 1);
  await vi.waitFor(quiet, { timeout: 60_000, interval: 5 });
  await first.stop();
  const waiting = await waitingOf(stage).waiting();
  expect(waiting).not.toEqual([]);
  await promoteBack({ ...options(stage, 'days@1', signal), keepMs: 3_600_000 });
  expect(await applied(stage, 'flood')).toBe(FLOOD);
  expect(await waitingOf(stage).waiting()).toEqual(waiting);
  expect(await applied(stage, 'flood', 'DaysTwo')).toBeLessThan(FLOOD);
  const second = await hostOf(stage, 'second');
  await second.start();
  await second.drained(signal);
  expect(await applied(stage, 'flood')).toBe(FLOOD);
  expect(await applied(stage, 'flood', 'DaysTwo')).toBe(FLOOD);
});

it('what is deferred is drained though the pipeline no longer declares the tenant', async () => {
  const stage = await open({}, VERSIONS);
  await writeFlood(stage);
  await stoppedInFlood(stage);
  const { tenant: _, ...pipeline } = stage.loaded.pipeline;
  const second = await hostOf({ ...stage, loaded: { ...stage.loaded, pipeline } }, 'second');
  await second.start();
  await second.drained(signal);
  expect(await waitingOf(stage).queues()).toEqual([]);
  expect(await applied(stage, 'flood')).toBe(FLOOD);
});

it('no document of a tenant with a queue leaves for the archive', async () => {
  const azurite = await startAzurite();
  closing.push(() => azurite.close());
  const stage = await open({}, COLD, { connectionString: azurite.connectionString, container: 'archive' });
  await writeFlood(stage);
  await stoppedInFlood(stage);
  expect(await sweep({ ...stage, signal, screen })).toMatchObject([{ archived: QUIET, held: FLOOD }]);
  const second = await hostOf(stage, 'second');
  await second.start();
  await second.drained(signal);
  expect(await applied(stage, 'flood')).toBe(FLOOD);
  await second.stop();
  expect(await sweep({ ...stage, signal, screen })).toMatchObject([{ archived: FLOOD, held: 0 }]);
  const found = await verify(stage.loaded, stage.services, { signal, screen, settings: stage.settings, readLagMs: 0 });
  expect(found).toMatchObject({ different: 0 });
});
