// A queue that is drained through an engine, on the embedded server.
import { expect, it } from 'vitest';
import { effectivePartitionKey } from '../../../src/cosmos/effective-partition-key.ts';
import { Meter } from '../../../src/cosmos/budget/charge-meter.ts';
import { FULL_RANGE } from '../../../src/cosmos/ranges.ts';
import { DeferredQueues } from '../../../src/engine/deferred/deferred.ts';
import { CosmosDeferredStore } from '../../../src/engine/deferred/cosmos-store.ts';
import { drainNext } from '../../../src/engine/deferred/drain.ts';
import { DeadLetters } from '../../../src/engine/dead-letters/dead-letters.ts';
import { Engine } from '../../../src/engine/engine.ts';
import { readAgain } from '../../../src/engine/read-again.ts';
import type { Change } from '../../../src/feed/reading/change.ts';
import { evaluate } from '../../../src/kinds/runner.ts';
import { CosmosAccess } from '../../../src/access/cosmos-access.ts';
import { emulate } from '../../emulator/emulate.ts';

const fence = { kind: 'lease', tenure: {}, signal: new AbortController().signal, assert: () => undefined } as const;
const HOUR = 3_600_000;

async function stage() {
  const { database, container: orders } = await emulate();
  const { container: state } = await database.containers.create({ id: 'state', partitionKey: { paths: ['/pk'] } });
  const applied: Change[] = [];
  const apply = (changes: readonly Change[]): Promise<void> => {
    evaluate(changes, ({ doc }) => {
      if (doc?.['bad']) throw new Error('It is bad');
    });
    applied.push(...changes);
    return Promise.resolve();
  };
  const deadLetters = new DeadLetters(state);
  const runners = [{ id: 'copy@1', order: 'document', sources: [{ container: 'c', type: 'order' }], apply }] as const;
  const engine = new Engine({ database, runners, deadLetters });
  const deferred = await DeferredQueues.open(
    {
      store: new CosmosDeferredStore(state, { pipeline: 'p', source: 'c' }, fence, new Meter()),
      range: FULL_RANGE,
      token: 't',
      hashOf: (key) => effectivePartitionKey(key, 'Hash', 2),
      confirm: () => Promise.resolve(),
    },
    0,
  );
  let lsn = 0;
  /** Writes a document. Returns its change, as written an hour ago: longer than any replica lags. */
  const write = async (id: string, more: object = {}): Promise<Change> => {
    const { resource } = await orders.items.upsert({ id, pk: 'k', type: 'order', ...more });
    const version = { epoch: 1, lsn: (lsn += 1), etag: resource!._etag };
    return { container: 'c', type: 'order', tenant: 'a', key: ['k'], id, version, at: Date.now() - HOUR, op: 'upsert' };
  };
  const source = { name: 'c', keyPaths: [['pk']], types: new Map([['order', {}]]) };
  const drain = (readLagMs: number): Promise<string> =>
    drainNext(deferred, 'a', Infinity, {
      again: (item) =>
        readAgain(item, {
          sources: new Map([['c', source]]),
          access: new CosmosAccess(database, fence, new Meter()),
          cold: () => Promise.resolve(undefined),
          readLagMs,
          signal: fence.signal,
        }),
      apply: async (changes, readAt) => void (await engine.consume({ changes, charge: 0, readAt }, fence)),
    });
  return { orders, deferred, deadLetters, applied, write, drain };
}

it('a drain applies what the source has, leaves out what it has newer, and deletes what is gone', async () => {
  const { orders, deferred, applied, write, drain } = await stage();
  const changes = [await write('same', { v: 1 }), await write('newer'), await write('gone')];
  await deferred.defer('a', changes);
  await write('newer', { v: 2 });
  await orders.item('gone', 'k').delete();
  expect(await drain(0)).toBe('drained');
  expect(applied.map(({ id, op, version, doc }) => [id, op, version.lsn, doc?.['v']])).toEqual([
    ['same', 'upsert', 1, 1],
    ['gone', 'delete', 3.5, undefined],
  ]);
  expect(await drain(0)).toBe('none');
});

it('a drain waits out no lag for a change that is older than the lag', async () => {
  const { orders, deferred, applied, write, drain } = await stage();
  await deferred.defer('a', [await write('gone')]);
  await orders.item('gone', 'k').delete();
  // With a wait this test would not end.
  expect(await drain(HOUR / 2)).toBe('drained');
  expect(applied).toMatchObject([{ id: 'gone', op: 'delete' }]);
});

it('a drain parks a change that is refused, and then it leaves its bundle', async () => {
  const { deferred, deadLetters, applied, write, drain } = await stage();
  await deferred.defer('a', [await write('good'), await write('poison', { bad: true })]);
  await drain(0);
  expect(applied.map(({ id }) => id)).toEqual(['good']);
  expect(await deadLetters.list()).toMatchObject([{ id: 'poison', projection: 'copy@1' }]);
  expect(await drain(0)).toBe('none');
});

it('a drain keeps the bundle where it can’t be applied now', async () => {
  const { deferred, applied, write, drain } = await stage();
  const lost = Object.assign(new Error('aborted'), { name: 'AbortError' });
  await deferred.defer('a', [await write('one')]);
  const options = { again: () => Promise.reject(lost), apply: () => Promise.resolve() };
  await expect(drainNext(deferred, 'a', Infinity, options)).rejects.toBe(lost);
  expect(deferred.holds('a')).toBe(true);
  await drain(0);
  expect(applied.map(({ id }) => id)).toEqual(['one']);
});
