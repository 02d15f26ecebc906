import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { WRITE_BOUND_MS } from '../../src/base/bounds.ts';
import { type Lease, LeaseLost, type LeaseStore } from '../../src/feed/lease.ts';
import { LeaseSession, PageTooOld, type SessionOptions } from '../../src/feed/lease-session.ts';
import { ManualClock } from '../support/clock.ts';

const LEASE: Lease = { id: 'P..0', token: '0', range: { min: '', max: 'FF' }, owner: 'me', etag: '"0"' };

interface Asked {
  readonly etag: string;
  readonly position: string | undefined;
  readonly answer: () => void;
  readonly fail: (error: unknown) => void;
}

/** A store whose answers the test gives; every write makes a new ETag, as the server's do. */
class HeldStore implements Pick<LeaseStore, 'renew' | 'release'> {
  readonly asked: Asked[] = [];
  readonly released: string[] = [];
  underway = 0;
  mostUnderway = 0;
  /** Answers by itself. */
  answers = false;
  #writes = 0;

  renew(lease: Lease, position?: string): Promise<Lease> {
    const { promise, resolve, reject } = Promise.withResolvers<Lease>();
    this.mostUnderway = Math.max(this.mostUnderway, ++this.underway);
    const written = { ...lease, ...(position === undefined ? {} : { position }), etag: `"${++this.#writes}"` };
    const end = (): void => void (this.underway -= 1);
    const answer = (): void => (end(), resolve(written));
    this.asked.push({ etag: lease.etag, position, answer, fail: (error) => (end(), reject(error)) });
    if (this.answers) answer();
    return promise;
  }

  release(lease: Lease): Promise<void> {
    this.mostUnderway = Math.max(this.mostUnderway, this.underway + 1);
    this.released.push(lease.etag);
    return Promise.resolve();
  }

  prepare(): Promise<void> {
    throw new Error('A session prepares nothing');
  }

  list(): Promise<Lease[]> {
    throw new Error('A session lists nothing');
  }

  acquire(): Promise<Lease> {
    throw new Error('A session acquires nothing');
  }
}

function begin(timings: Partial<SessionOptions> = {}, heldFor = 0) {
  const clock = new ManualClock();
  const store = new HeldStore();
  const options = { container: 'c', store, clock, renewMs: 1_000, expirationMs: 10_000, stallMs: 100_000, ...timings };
  const session = new LeaseSession(LEASE, clock.monotonic() - heldFor, options);
  onTestFinished(() => {
    store.answers = true;
    return session.end(false);
  });
  const page = { readAt: clock.monotonic() };
  return { clock, store, session, fence: session.fence(page) };
}

const positions = ({ asked }: HeldStore): (string | undefined)[] => asked.map(({ position }) => position);

describe('checkpoints', () => {
  it('are written one at a time, the latest position winning, each under the ETag of the one before', async () => {
    const { session, store } = begin();
    for (const position of ['"1"', '"2"', '"3"']) session.checkpoint(position);
    const settled = session.settled();
    expect(positions(store)).toEqual(['"1"']);
    store.asked[0]?.answer();
    await vi.waitFor(() => expect(positions(store)).toEqual(['"1"', '"3"']));
    expect(store.asked[1]?.etag).toBe('"1"');
    store.asked[1]?.answer();
    await settled;
    expect(session.lease).toMatchObject({ position: '"3"', etag: '"2"' });
    expect(store.mostUnderway).toBe(1);
  });

  it('cost nothing more when nothing waits', async () => {
    const { session, store } = begin();
    session.checkpoint('"1"');
    session.checkpoint('"2"');
    store.answers = true;
    store.asked[0]?.answer();
    await session.settled();
    for (let i = 0; i < 5; i++) await turn();
    expect(positions(store)).toEqual(['"1"', '"2"']);
  });

  it('that fail are written again after a pause, unless a later one came', async () => {
    const { session, store, clock } = begin();
    session.checkpoint('"1"');
    store.asked[0]?.fail(new Error('unavailable'));
    await vi.waitFor(() => expect(clock.slept).toHaveLength(1));
    for (let i = 0; i < 5; i++) await turn();
    expect(store.asked).toHaveLength(1);
    clock.advance(1_000);
    await vi.waitFor(() => expect(positions(store)).toEqual(['"1"', '"1"']));
    store.asked[1]?.fail(new Error('unavailable'));
    await vi.waitFor(() => expect(clock.slept).toHaveLength(2));
    session.checkpoint('"2"');
    clock.advance(1_000);
    await vi.waitFor(() => expect(positions(store)).toEqual(['"1"', '"1"', '"2"']));
    expect(session.signal.aborted).toBe(false);
  });
});

describe('renewal', () => {
  it('comes by itself, without a position, only once it is due', async () => {
    const { store, clock, fence } = begin();
    clock.advance(1_000);
    fence.assert();
    expect(store.asked).toHaveLength(0);
    clock.advance(1);
    await vi.waitFor(() => expect(store.asked).toHaveLength(1), { timeout: 3_000 });
    expect(store.asked[0]).toMatchObject({ etag: '"0"', position: undefined });
  });

  it('comes from the fence of a handler that leaves no time for timers', () => {
    const { store, clock, fence } = begin();
    clock.advance(1_001);
    fence.assert();
    expect(store.asked).toHaveLength(1);
  });

  it('is one with a checkpoint', async () => {
    const { session, store, clock, fence } = begin();
    store.answers = true;
    clock.advance(900);
    session.checkpoint('"1"');
    await session.settled();
    clock.advance(900);
    fence.assert();
    expect(positions(store)).toEqual(['"1"']);
  });
});

describe('acting stops', () => {
  it('when somebody else wrote the lease', async () => {
    const { session, store, fence } = begin();
    fence.assert();
    session.checkpoint('"1"');
    const settled = session.settled();
    store.asked[0]?.fail(new LeaseLost('P..0', 'another host wrote it'));
    await expect(settled).rejects.toBeInstanceOf(LeaseLost);
    expect(fence.signal.aborted).toBe(true);
    expect(() => fence.assert()).toThrow(LeaseLost);
    session.checkpoint('"2"');
    await turn();
    expect(positions(store)).toEqual(['"1"']);
    await session.end(true);
    expect(store.released).toEqual([]);
  });

  it('when the lease could not be renewed before others may take it', () => {
    const { clock, fence } = begin();
    clock.advance(10_000);
    fence.assert();
    clock.advance(1);
    expect(() => fence.assert()).toThrow(LeaseLost);
  });

  it('counted from when the renewal was sent, not from when it was answered', async () => {
    const { clock, store, session, fence } = begin();
    clock.advance(2_000);
    fence.assert();
    clock.advance(7_000);
    store.asked[0]?.answer();
    await session.settled();
    clock.advance(3_000);
    fence.assert();
    clock.advance(1);
    expect(() => fence.assert()).toThrow('renewed in time');
  });

  it('counted from when the lease was taken, however late that was answered', () => {
    const { clock, fence } = begin({}, 9_000);
    clock.advance(1_000);
    fence.assert();
    clock.advance(1);
    expect(() => fence.assert()).toThrow('renewed in time');
  });

  it('when there is no progress, however well renewals go', async () => {
    const { clock, store, session, fence } = begin({ stallMs: 5_000 });
    store.answers = true;
    for (let i = 0; i < 5; i++) {
      clock.advance(1_000);
      fence.assert();
      session.checkpoint('"1"');
      await session.settled();
    }
    session.progress();
    clock.advance(5_000);
    fence.assert();
    await session.settled();
    clock.advance(1);
    expect(() => fence.assert()).toThrow('no progress');
  });

  it('for one page when it is too old, and for that page alone', () => {
    const { clock, session, fence } = begin({ expirationMs: 10 * WRITE_BOUND_MS, stallMs: 10 * WRITE_BOUND_MS });
    clock.advance(WRITE_BOUND_MS);
    fence.assert();
    clock.advance(1);
    expect(() => fence.assert()).toThrow(PageTooOld);
    session.fence({ readAt: clock.monotonic() }).assert();
    expect(session.signal.aborted).toBe(false);
  });
});

describe('the end', () => {
  it('comes after what waits to be written, and offers the lease under its newest ETag', async () => {
    const { session, store } = begin();
    session.checkpoint('"1"');
    session.checkpoint('"2"');
    const ended = session.end(true);
    store.answers = true;
    store.asked[0]?.answer();
    await ended;
    expect(positions(store)).toEqual(['"1"', '"2"']);
    expect(store.released).toEqual(['"2"']);
    expect(store.mostUnderway).toBe(1);
    expect(() => session.fence({ readAt: 0 }).assert()).toThrow(LeaseLost);
    session.checkpoint('"3"');
    expect(store.asked).toHaveLength(2);
  });

  it('does not wait for ever for a lease that can’t be written', async () => {
    const { session, store, clock } = begin();
    session.checkpoint('"1"');
    const ended = session.end(true);
    store.asked[0]?.fail(new Error('unavailable'));
    await vi.waitFor(() => expect(clock.slept).toHaveLength(1));
    clock.advance(10_001);
    await vi.waitFor(() => expect(session.signal.aborted).toBe(true), { timeout: 3_000 });
    store.asked[1]?.fail(new Error('unavailable'));
    await ended;
    expect(store.released).toEqual([]);
  });
});
