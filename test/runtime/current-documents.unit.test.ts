import { describe, expect, it } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { currentDocuments, mayBeRewritten } from '../../src/runtime/current-documents.ts';
import type { SinkDocument, DocumentAccess } from '../../src/access/document-access.ts';

/** Time passes only while somebody sleeps. */
const steppingClock = (): Clock => {
  let time = 0;
  return {
    now: () => time,
    monotonic: () => time,
    sleep: async (ms) => {
      time += Math.max(1, ms);
    },
  };
};

/** Answers reads from a script, the last answer for ever: stale replicas can't be had on demand from a server. */
const scripted = (...answers: (SinkDocument | undefined)[]): DocumentAccess & { reads: number } => {
  const access = {
    reads: 0,
    fence: { kind: 'host' as const, tenure: {}, signal: new AbortController().signal, assert: () => {} },
    read: async () => [answers[Math.min(access.reads++, answers.length - 1)]],
    commit: () => Promise.reject(new Error('nothing may be written')),
    query: () => Promise.reject(new Error('nothing is queried')),
  };
  return access;
};

const source = { name: 'Orders', keyPaths: [['storeId']], types: new Map() };
const delivered = { id: 'o', storeId: 's', placedAt: '2026-01-01T10:00:00Z', _etag: 'b', _ts: 100, _lsn: 7 };
const stored = (etag: string, ts: number): SinkDocument => ({
  id: 'o',
  storeId: 's',
  placedAt: '2026-01-01T10:00:00.000Z',
  _etag: etag,
  _ts: ts,
});

const current = async (access: DocumentAccess) =>
  (
    await currentDocuments(source, [delivered], access, {
      readLagMs: 5_000,
      signal: new AbortController().signal,
      clock: steppingClock(),
    })
  ).get(delivered);

describe('the current document of a delivered one', () => {
  it('the current document of a delivered one is what is stored under the delivered etag, with the delivered lsn', async () => {
    const access = scripted(stored('b', 100));
    expect(await current(access)).toEqual({ ...stored('b', 100), _lsn: 7 });
    expect(access.reads).toBe(1);
  });

  it('the current document of a delivered one is waited for while a replica is behind, older version or none', async () => {
    expect(await current(scripted(undefined, stored('a', 99), stored('b', 100)))).toMatchObject({
      placedAt: '2026-01-01T10:00:00.000Z',
    });
  });

  it('the current document of a delivered one is left out at once where a newer version is there: that one is still to be delivered', async () => {
    const access = scripted(stored('c', 101));
    expect(await current(access)).toBeUndefined();
    expect(access.reads).toBe(1);
  });

  it.each([
    ['gone', undefined],
    ['another version of the same second', stored('c', 100)],
  ])('the current document of a delivered one is left out once reads are settled and it is %s', async (_, answer) => {
    const access = scripted(answer);
    expect(await current(access)).toBeUndefined();
    expect(access.reads).toBeGreaterThan(1);
  });
});

it('the reader of delivered documents reads a document without a key value by the key that lacks it', async () => {
  const raw = { id: 'o', placedAt: '2026-01-01T10:00:00Z', _rid: 'r', _etag: 'b', _ts: 100, _lsn: 7 };
  const kept = { id: 'o', placedAt: '2026-01-01T10:00:00.000Z', _rid: 'r', _etag: 'b', _ts: 100 };
  const asked: unknown[] = [];
  const access: DocumentAccess = {
    ...scripted(),
    read: async (container, key, ids) => {
      asked.push([container, key, ids]);
      return [kept];
    },
  };
  const signal = new AbortController().signal;
  const found = await currentDocuments(source, [raw], access, { readLagMs: 5_000, signal, clock: steppingClock() });
  expect(found.get(raw)).toEqual({ ...kept, _lsn: 7 });
  expect(asked).toEqual([['Orders', [{}], ['o']]]);
});

it('the reader of delivered documents tells texts that the host rewrites from others', () => {
  expect(mayBeRewritten({ a: [{ b: '2026-01-01T10:00:00Z' }] })).toBe(true);
  expect(mayBeRewritten({ a: '2026-01-01', b: 5, c: null, d: ['T10:00:00'] })).toBe(false);
});
