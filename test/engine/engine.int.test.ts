import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { CosmosClient, type Database } from '@azure/cosmos';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MillraceError } from '../../src/base/errors.ts';
import { withRetry } from '../../src/cosmos/retry.ts';
import { DeadLetters } from '../../src/engine/dead-letters/dead-letters.ts';
import { Engine } from '../../src/engine/engine.ts';
import type { Change } from '../../src/feed/reading/change.ts';
import type { Fence } from '../../src/feed/tenure/fence.ts';
import { whileFresh } from '../../src/feed/tenure/fences.ts';
import { LeaseLost } from '../../src/feed/leases/lease.ts';
import { evaluate, type Runner } from '../../src/kinds/runner.ts';
import type { DocumentAccess, Write } from '../../src/access/document-access.ts';
import { clientOf, emulate } from '../emulator/emulate.ts';

const fence = (assert: () => void = () => undefined): Fence => ({
  kind: 'lease',
  tenure: {},
  signal: new AbortController().signal,
  assert,
});
const change = (id: string, lsn: number, doc: object = {}): Change => ({
  container: 'Orders',
  type: 'order',
  key: ['t1'],
  id,
  version: { epoch: 1, lsn, etag: `"${lsn}"` },
  at: lsn * 1_000,
  op: 'upsert',
  doc: { id, ...doc },
});
const page = (...changes: Change[]) => ({ changes, charge: 0, readAt: performance.now() });

/** Writes each document to the sink until it is there: a projection as small as can be. */
async function put(changes: readonly Change[], sink: DocumentAccess, pk: string): Promise<void> {
  for (const { id, version } of changes) {
    for (let kind = 'conflict'; kind === 'conflict';) {
      const [before] = await sink.read('sink', [pk], [id]);
      if (Number(before?.['lsn'] ?? 0) >= version.lsn) break;
      const body = { id, pk, lsn: version.lsn };
      const write: Write = before ? { op: 'replace', id, body, ifMatch: before._etag } : { op: 'create', id, body };
      ({ kind } = await sink.commit('sink', [pk], [write]));
    }
  }
}

const runner = (name: string, apply: Runner['apply'] = (changes, sink) => put(changes, sink, name)): Runner => ({
  id: `${name}@1`,
  order: 'document',
  sources: [{ container: 'Orders', type: 'order' }],
  apply,
});

/** Throws for a document that says `bad`, and says so of that one. */
const naming = runner('naming', (changes, sink) => {
  evaluate(changes, ({ doc }) => {
    if (doc?.['bad']) throw new Error('It is bad');
  });
  return put(changes, sink, 'naming');
});

/** Throws where any is bad, and doesn't say which. */
const silent = runner('silent', (changes, sink) => {
  if (changes.some(({ doc }) => doc?.['bad'])) throw new TypeError('Something is bad');
  return put(changes, sink, 'silent');
});

async function engineOf(runners: readonly Runner[], of: { database?: Database } = {}) {
  const { emulator, database } = await emulate();
  await database.containers.create({ id: 'sink', partitionKey: { paths: ['/pk'] } });
  const { container: state } = await database.containers.create({ id: 'state', partitionKey: { paths: ['/pk'] } });
  const letters = new DeadLetters(state);
  const engine = (more: { database?: Database; runners?: readonly Runner[] } = {}): Engine =>
    new Engine({ database, runners, deadLetters: new DeadLetters(state), ...of, ...more });
  const written = async (pk: string): Promise<Record<string, number>> => {
    const found = await withRetry(
      () =>
        database
          .container('sink')
          .items.query<{ id: string; lsn: number }>(`SELECT * FROM c WHERE c.pk = '${pk}'`)
          .fetchAll(),
      { reads: true },
    );
    return Object.fromEntries(found.resources.map(({ id, lsn }) => [id, lsn]));
  };
  return { emulator, database, letters, engine: engine(), another: engine, written };
}

describe('a page', () => {
  it('a page goes to every projection that wants its types, and to no other', async () => {
    const seen: string[] = [];
    const noting = (name: string, container: string, type: string): Runner => ({
      ...runner(name, (changes) => {
        seen.push(...changes.map(({ id }) => `${name}:${id}`));
        return Promise.resolve();
      }),
      sources: [{ container, type }],
    });
    const { engine } = await engineOf([
      noting('a', 'Orders', 'order'),
      noting('b', 'Orders', 'order'),
      noting('c', 'Orders', 'line'),
      noting('d', 'Customers', 'order'),
    ]);
    expect(await engine.consume(page(change('o1', 1), change('o2', 2)), fence())).toEqual({ applied: 4, parked: 0 });
    expect(seen.toSorted()).toEqual(['a:o1', 'a:o2', 'b:o1', 'b:o2']);
    expect(await engine.consume(page(), fence())).toEqual({ applied: 0, parked: 0 });
  });

  it('a page is counted: changes, requests, writes, and how new it was', async () => {
    const { engine, emulator } = await engineOf([runner('copy')]);
    const before = emulator.stats();
    await engine.consume(page(change('o1', 1), change('o2', 7), change('o3', 5)), fence());
    const [stats] = engine.stats;
    expect(stats).toMatchObject({ id: 'copy@1', changes: 3, parked: 0 });
    expect(stats?.meter.writes).toBe(3);
    expect(stats?.meter.requests).toBeGreaterThan(0);
    expect(stats?.meter.charge).toBeLessThanOrEqual(emulator.stats().charge - before.charge);
    expect(stats?.meter.charge).toBeGreaterThan(0);
  });
});

describe.each([naming, silent])('a document that $id can’t take', (one) => {
  const name = one.id.split('@')[0] ?? '';

  it('a document that a projection can’t take is parked, and the rest of its page applied', async () => {
    const { engine, letters, written } = await engineOf([one, runner('other')]);
    const changes = Array.from({ length: 9 }, (_, n) => change(`o${n}`, n + 1, { bad: n === 4 }));
    expect(await engine.consume(page(...changes), fence())).toEqual({ applied: 8 + 9, parked: 1 });
    expect(Object.keys(await written(name))).toEqual(['o0', 'o1', 'o2', 'o3', 'o5', 'o6', 'o7', 'o8']);
    expect(Object.keys(await written('other'))).toHaveLength(9);
    expect(await letters.list()).toMatchObject([
      {
        projection: one.id,
        id: 'o4',
        version: { lsn: 5 },
        message: expect.stringContaining('bad') as string,
        attempts: 1,
      },
    ]);
    expect(engine.stats.map(({ changes: count, parked }) => [count, parked])).toEqual([
      [9, 1],
      [9, 0],
    ]);
  });

  it('a document that a projection can’t take is resolved by a good version, on another host and after a redelivery too', async () => {
    const { engine, another, letters, written } = await engineOf([one]);
    const idle = another();
    await idle.consume(page(change('o1', 1)), fence());
    for (let times = 1; times <= 2; times++) await engine.consume(page(change('o1', 2, { bad: true })), fence());
    expect(await letters.list()).toMatchObject([{ id: 'o1', attempts: 1 }]);
    await engine.consume(page(change('o1', 2, { bad: true })), fence(), { only: one.id });
    expect(await letters.list()).toMatchObject([{ id: 'o1', attempts: 2 }]);
    // The range has come to a host that looked at what is parked before it was.
    await idle.consume(page(change('o1', 3)), fence());
    expect(await letters.list()).toEqual([]);
    expect(await written(name)).toEqual({ o1: 3 });
  });

  it('a document that a projection can’t take is looked for again by each batch of a Functions host, whose batches share a signal', async () => {
    const { engine, another, letters } = await engineOf([one]);
    const { signal } = new AbortController();
    const batch = (): Fence => whileFresh(performance.now(), signal);
    const instance = another();
    await instance.consume(page(change('o1', 1)), batch());
    await engine.consume(page(change('o1', 2, { bad: true })), fence());
    await instance.consume(page(change('o1', 3)), batch());
    expect(await letters.list()).toEqual([]);
  });

  it('a document that a projection can’t take is told on the diagnostics channel', async () => {
    const told: unknown[] = [];
    const listen = (event: unknown): void => void told.push(event);
    subscribe('millrace:engine:parked', listen);
    onTestFinished(() => void unsubscribe('millrace:engine:parked', listen));
    const { engine } = await engineOf([one]);
    await engine.consume(page(change('o1', 1, { bad: true })), fence());
    expect(told).toMatchObject([
      { projection: one.id, container: 'Orders', id: 'o1', error: { code: 'projection-threw' } },
    ]);
  });
});

it('what upcast threw is parked as any other poison', async () => {
  const { engine, letters } = await engineOf([naming]);
  const failed = { ...change('o1', 1), failed: new Error('an old format') };
  expect(await engine.consume(page(failed, change('o2', 2)), fence())).toEqual({ applied: 1, parked: 1 });
  expect(await letters.list()).toMatchObject([{ id: 'o1', message: 'an old format' }]);
});

describe('infrastructure', () => {
  const bad = [change('o1', 1), change('o2', 2, { bad: true }), change('o3', 3)];

  it('infrastructure that can’t be had rejects, and parks nothing', async () => {
    const { emulator, another, letters } = await engineOf([naming]);
    const stranger = new CosmosClient({ endpoint: emulator.endpoint, key: Buffer.from('wrong').toString('base64') });
    onTestFinished(() => stranger.dispose());
    const refused = another({ database: stranger.database('d') });
    await expect(refused.consume(page(...bad), fence())).rejects.toMatchObject({ code: 401 });
    const nowhere = another({ database: clientOf(emulator).database('none') });
    await expect(nowhere.consume(page(...bad), fence())).rejects.toMatchObject({ code: 'container-missing' });
    expect(await letters.list()).toEqual([]);
  });

  it('infrastructure that is a lost lease rejects with it, writes and parks nothing', async () => {
    const { engine, letters, written } = await engineOf([naming, silent]);
    const lost = new LeaseLost('l', 'another host wrote it');
    const shut = fence(() => {
      throw lost;
    });
    await expect(engine.consume(page(...bad), shut)).rejects.toBe(lost);
    expect(await written('naming')).toEqual({});
    expect(await letters.list()).toEqual([]);
  });

  it('infrastructure that fails one projection rejects only when the others have ended', async () => {
    let ended = false;
    const slow = runner('slow', async (changes, sink) => {
      await put(changes, sink, 'slow');
      ended = true;
    });
    const failing = runner('failing', () =>
      Promise.reject(new MillraceError('unavailable', 'later', { retryable: true })),
    );
    const { engine, written } = await engineOf([failing, slow]);
    await expect(engine.consume(page(change('o1', 1)), fence())).rejects.toMatchObject({ code: 'unavailable' });
    expect(ended).toBe(true);
    expect(await written('slow')).toEqual({ o1: 1 });
  });

  it('infrastructure that fails while a dead letter is stored rejects: the page comes again, and the letter with it', async () => {
    const { database, emulator, another, letters } = await engineOf([naming]);
    await database.container('state').delete();
    const engine = another();
    await expect(engine.consume(page(...bad), fence())).rejects.toMatchObject({ code: 404 });
    await database.containers.create({ id: 'state', partitionKey: { paths: ['/pk'] } });
    expect(await engine.consume(page(...bad), fence())).toEqual({ applied: 2, parked: 1 });
    expect(await letters.list()).toMatchObject([{ id: 'o2' }]);
    expect(emulator.stats().statuses['404']).toBeGreaterThan(0);
  });

  it('infrastructure that throttles, lags and loses answers is lived with', async () => {
    const { engine, emulator, letters, written } = await engineOf([naming]);
    emulator.faults({ throttle: 0.3, failAfterEffect: 0.2, replicaLagMs: 20 });
    const changes = Array.from({ length: 30 }, (_, n) => change(`o${n}`, n + 1, { bad: n % 10 === 3 }));
    const consumed = await engine.consume(page(...changes), fence());
    emulator.faults({});
    expect(consumed).toEqual({ applied: 27, parked: 3 });
    expect(Object.keys(await written('naming'))).toHaveLength(27);
    expect((await letters.list()).map(({ id }) => id).toSorted()).toEqual(['o13', 'o23', 'o3']);
  });
});
