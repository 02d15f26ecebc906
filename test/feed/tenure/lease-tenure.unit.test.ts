import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { WRITE_BOUND_MS } from '../../../src/base/bounds.ts';
import { LeaseLost } from '../../../src/feed/leases/lease.ts';
import { LeaseInDoubt, PageTooOld } from '../../../src/feed/tenure/lease-tenure.ts';
import { type HeldStore, LEASE, begin } from './tenure-stage.ts';

const positions = ({ asked }: HeldStore): (string | undefined)[] => asked.map(({ position }) => position);

describe('checkpoints', () => {
  it('checkpoints are written one at a time, the latest position winning, each under the ETag of the one before', async () => {
    const { tenure, store } = begin();
    for (const position of ['"1"', '"2"', '"3"']) tenure.checkpoint(position);
    const flushed = tenure.flush();
    expect(positions(store)).toEqual(['"1"']);
    store.asked[0]?.answer();
    await vi.waitFor(() => expect(positions(store)).toEqual(['"1"', '"3"']), 20_000);
    expect(store.asked[1]?.etag).toBe('"1"');
    store.asked[1]?.answer();
    await flushed;
    expect(tenure.lease).toMatchObject({ position: '"3"', etag: '"2"' });
    expect(store.mostUnderway).toBe(1);
  });

  it('checkpoints cost nothing more when nothing waits', async () => {
    const { tenure, store } = begin();
    tenure.checkpoint('"1"');
    tenure.checkpoint('"2"');
    store.answers = true;
    store.asked[0]?.answer();
    await tenure.flush();
    for (let i = 0; i < 5; i++) await turn();
    expect(positions(store)).toEqual(['"1"', '"2"']);
  });

  it('checkpoints that fail are written again after a pause, unless a later one came', async () => {
    const { tenure, store, pass } = begin();
    tenure.checkpoint('"1"');
    store.asked[0]?.fail(new Error('unavailable'));
    for (let i = 0; i < 5; i++) await turn();
    expect(store.asked).toHaveLength(1);
    await pass(500);
    expect(positions(store)).toEqual(['"1"', '"1"']);
    store.asked[1]?.fail(new Error('unavailable'));
    await turn();
    tenure.checkpoint('"2"');
    expect(store.asked).toHaveLength(2);
    await pass(500);
    await vi.waitFor(() => expect(positions(store)).toEqual(['"1"', '"1"', '"2"']), 20_000);
    expect(tenure.signal.aborted).toBe(false);
  });
});

describe('with a least time between two of them, checkpoints', () => {
  const checkpointMs = 3_000;

  it('checkpoints with a least time between two of them come once in it, the latest position alone', async () => {
    const { tenure, store, pass } = begin({ checkpointMs, renewMs: 5_000 });
    store.answers = true;
    for (let n = 1; n <= 36; n++) {
      tenure.checkpoint(`"${n}"`);
      await pass(250);
    }
    expect(positions(store)).toEqual(['"12"', '"24"', '"36"']);
    await pass(4_000);
    expect(positions(store)).toHaveLength(3);
  });

  it('checkpoints with a least time between two of them go along with a renewal, which begins it again', async () => {
    const { tenure, store, pass } = begin({ checkpointMs, renewMs: 1_000 });
    store.answers = true;
    await pass(1_000);
    tenure.checkpoint('"1"');
    await pass(250);
    expect(positions(store)).toEqual(['"1"']);
    tenure.checkpoint('"2"');
    await pass(750);
    expect(positions(store)).toEqual(['"1"']);
    await pass(500);
    expect(positions(store)).toEqual(['"1"', '"2"']);
  });

  it('checkpoints with a least time between two of them are written at once where somebody waits for them, and not again', async () => {
    const { tenure, store, pass } = begin({ checkpointMs, renewMs: 5_000 });
    store.answers = true;
    tenure.checkpoint('"1"');
    await tenure.flush();
    expect(positions(store)).toEqual(['"1"']);
    await pass(4_000);
    expect(positions(store)).toEqual(['"1"']);
  });

  it('checkpoints with a least time between two of them are written before the lease is offered', async () => {
    const { tenure, store } = begin({ checkpointMs, renewMs: 5_000 });
    store.answers = true;
    tenure.checkpoint('"7"');
    await tenure.end(true);
    expect(positions(store)).toEqual(['"7"']);
    expect(store.released).toEqual(['"1"']);
  });

  it('checkpoints with a least time between two of them that fail are tried again without waiting for it', async () => {
    const { tenure, store, pass } = begin({ checkpointMs, renewMs: 5_000 });
    await pass(3_000);
    tenure.checkpoint('"1"');
    store.asked[0]?.fail(new Error('unavailable'));
    await pass(1_250);
    expect(positions(store)).toEqual(['"1"', '"1"']);
  });

  it('checkpoints with a least time between two of them are not written once the lease is lost', async () => {
    const { tenure, store, pass } = begin({ checkpointMs, renewMs: 5_000 });
    tenure.checkpoint('"1"');
    tenure.abandon('it was enough');
    await pass(4_000);
    expect(store.asked).toEqual([]);
  });
});

describe('positions that are only noted', () => {
  it('positions that are only noted are written with the next write, so that a page costs one', async () => {
    const { tenure, store, pass } = begin();
    store.answers = true;
    for (let n = 1; n < 50; n++) tenure.note(`"${n}"`);
    await turn();
    expect(positions(store)).toEqual([]);
    tenure.note('"60"');
    await pass(1_250);
    expect(positions(store)).toEqual(['"60"']);
    tenure.note('"70"');
    await tenure.flush();
    expect(positions(store)).toEqual(['"60"', '"70"']);
  });
});

describe('renewal', () => {
  it('a renewal comes by itself, without a position, only once it is due', async () => {
    const { store, fence, pass } = begin();
    await pass(1_000);
    fence.assert();
    expect(store.asked).toHaveLength(0);
    await pass(250);
    expect(store.asked).toHaveLength(1);
    expect(store.asked[0]).toMatchObject({ etag: '"0"', position: undefined });
  });

  it('a renewal comes from the fence of a handler that leaves no time for timers', () => {
    const { store, clock, fence } = begin();
    clock.advance(1_001);
    fence.assert();
    expect(store.asked).toHaveLength(1);
  });

  it('a renewal comes before a handler is begun with less than half of the expiration left', async () => {
    const { clock, store, tenure } = begin();
    clock.advance(5_000);
    expect(tenure.fresh()).toBeUndefined();
    clock.advance(1);
    let fresh = false;
    const waiting = tenure.fresh()?.then(() => (fresh = true));
    expect(store.asked).toHaveLength(1);
    store.asked[0]?.fail(new Error('throttled'));
    for (let n = 0; n < 10; n++) await turn();
    expect(fresh).toBe(false);
    clock.advance(250);
    for (let n = 0; n < 10; n++) await turn();
    store.asked[1]?.answer();
    await waiting;
    expect(fresh).toBe(true);
    expect(tenure.fresh()).toBeUndefined();
  });

  it('a renewal is asked for once before a handler is begun, however slow the store is', async () => {
    const { clock, store, tenure } = begin();
    clock.advance(5_001);
    const waiting = tenure.fresh();
    clock.advance(4_500);
    store.asked[0]?.answer();
    await waiting;
    clock.advance(1_000);
    expect(tenure.fresh()).toBeUndefined();
    expect(store.asked.length).toBeLessThanOrEqual(2);
  });

  it('a renewal is not waited for once the lease is lost', async () => {
    const { clock, tenure } = begin();
    clock.advance(6_000);
    const waiting = tenure.fresh();
    tenure.abandon('it was taken');
    await expect(waiting).rejects.toThrow(LeaseLost);
  });

  it('a renewal waits a quarter longer for what is in hand, whose checkpoint is one with it', async () => {
    const { tenure, store, pass } = begin();
    store.answers = true;
    const page = tenure.watch('a handler', 5_000);
    await pass(1_250);
    expect(store.asked).toHaveLength(0);
    page.done();
    tenure.checkpoint('"1"');
    tenure.watch('a handler', 5_000);
    await pass(1_250);
    expect(positions(store)).toEqual(['"1"']);
    await pass(250);
    expect(positions(store)).toEqual(['"1"', undefined]);
  });

  it('a renewal is one with a checkpoint', async () => {
    const { tenure, store, fence, pass } = begin();
    store.answers = true;
    await pass(900);
    tenure.checkpoint('"1"');
    await tenure.flush();
    await pass(900);
    fence.assert();
    expect(positions(store)).toEqual(['"1"']);
  });
});

describe('a process that stood still for longer than its lease lasts', () => {
  it('a process that stood still for longer than its lease lasts may do nothing before it has asked whether the lease is still its own, and goes on if it is', async () => {
    const { tenure, store, clock, fence } = begin();
    clock.advance(50_000);
    expect(() => fence.assert()).toThrow(LeaseInDoubt);
    expect(() => fence.assert()).toThrow('could not be renewed in time');
    expect(tenure.signal.aborted).toBe(false);
    expect(positions(store)).toEqual([undefined]);
    store.asked[0]?.answer();
    await turn();
    tenure.fence({ readAt: clock.monotonic() }).assert();
    await turn();
    expect(tenure.signal.aborted).toBe(false);
  });

  it('a process that stood still for longer than its lease lasts has lost it if another host took it', async () => {
    const { tenure, store, clock, fence } = begin();
    clock.advance(50_000);
    await turn();
    store.asked[0]?.fail(new LeaseLost('P..0', 'another host wrote it'));
    await turn();
    expect(tenure.signal.aborted).toBe(true);
    expect(() => fence.assert()).toThrow(LeaseLost);
  });

  it('a process that stood still for longer than its lease lasts gives it up if it gets no answer', async () => {
    const { tenure, clock, pass } = begin();
    clock.advance(50_000);
    await pass(1_500);
    expect(tenure.signal.aborted).toBe(true);
  });
});

describe('acting stops', () => {
  it('a host stops acting when somebody else wrote the lease', async () => {
    const { tenure, store, fence } = begin();
    fence.assert();
    tenure.checkpoint('"1"');
    const flushed = tenure.flush();
    store.asked[0]?.fail(new LeaseLost('P..0', 'another host wrote it'));
    await expect(flushed).rejects.toBeInstanceOf(LeaseLost);
    expect(fence.signal.aborted).toBe(true);
    expect(() => fence.assert()).toThrow(LeaseLost);
    tenure.checkpoint('"2"');
    await turn();
    expect(positions(store)).toEqual(['"1"']);
    await tenure.end(true);
    expect(store.released).toEqual([]);
  });

  it('a host stops acting when the lease could not be renewed before others may take it', async () => {
    const { fence, pass } = begin();
    await pass(10_000);
    fence.assert();
    await pass(1);
    expect(() => fence.assert()).toThrow('could not renew it in time');
  });

  it('the time to act is counted from when the renewal was sent, not from when it was answered', async () => {
    const { store, tenure, fence, pass } = begin();
    await pass(2_000);
    expect(store.asked).toHaveLength(1);
    await pass(7_000);
    store.asked[0]?.answer();
    await tenure.flush();
    // It was sent after 1,250 ms, and the next one isn't answered.
    await pass(2_250);
    fence.assert();
    await pass(1);
    expect(() => fence.assert()).toThrow('could not renew it in time');
  });

  it('the time to act is counted from when the lease was taken, however late that was answered', async () => {
    const { fence, pass } = begin({}, 9_000);
    await pass(1_000);
    fence.assert();
    await pass(1);
    expect(() => fence.assert()).toThrow('could not renew it in time');
  });

  it('a host stops acting when something takes too long, however well renewals go, and says what', async () => {
    const { store, tenure, fence, pass } = begin();
    store.answers = true;
    tenure.watch('a read', 5_000).done();
    tenure.watch('a handler', 5_000);
    await pass(5_000);
    fence.assert();
    await pass(250);
    expect(() => fence.assert()).toThrow('a handler has taken more than 5 s');
  });

  it('a host stops acting for one page when it is too old, and for that page alone', () => {
    const { clock, tenure, fence } = begin({ expirationMs: 10 * WRITE_BOUND_MS });
    clock.advance(WRITE_BOUND_MS);
    fence.assert();
    clock.advance(1);
    expect(() => fence.assert()).toThrow(PageTooOld);
    tenure.fence({ readAt: clock.monotonic() }).assert();
    expect(tenure.signal.aborted).toBe(false);
  });
});

describe('the end', () => {
  it('the end of a tenure comes after what waits to be written, and offers the lease under its newest ETag', async () => {
    const { tenure, store } = begin();
    tenure.checkpoint('"1"');
    tenure.checkpoint('"2"');
    const ended = tenure.end(true);
    store.answers = true;
    store.asked[0]?.answer();
    await ended;
    expect(positions(store)).toEqual(['"1"', '"2"']);
    expect(store.released).toEqual(['"2"']);
    expect(store.mostUnderway).toBe(1);
    expect(() => tenure.fence({ readAt: 0 }).assert()).toThrow(LeaseLost);
    tenure.checkpoint('"3"');
    expect(store.asked).toHaveLength(2);
  });

  it('the end of a tenure comes before what is acknowledged while the lease is given back, which is refused', async () => {
    const { tenure, store } = begin();
    store.answers = true;
    const ended = tenure.end(true);
    for (let i = 0; store.released.length === 0; i++) {
      expect(i).toBeLessThan(100);
      await Promise.resolve();
    }
    tenure.checkpoint('"1"');
    await expect(tenure.flush()).rejects.toBeInstanceOf(LeaseLost);
    await ended;
    expect(positions(store)).toEqual([]);
  });

  it('the end of a tenure does not wait for ever for a lease that can’t be written', async () => {
    const { tenure, store, pass } = begin();
    tenure.checkpoint('"1"');
    const ended = tenure.end(true);
    store.asked[0]?.fail(new Error('unavailable'));
    await pass(10_250);
    expect(tenure.signal.aborted).toBe(true);
    await ended;
    expect(store.released).toEqual([]);
  });

  it('the end of a tenure comes at once when the lease is abandoned, whatever hangs', async () => {
    const { tenure, store } = begin();
    tenure.checkpoint('"1"');
    const ended = tenure.end(true);
    tenure.abandon('stopping took too long');
    await ended;
    expect(store.released).toEqual([]);
    expect(tenure.signal.reason).toMatchObject({ code: 'lease-lost' });
  });

  it.each([undefined, '"1"'])(
    'the end of a tenure answers a host that took the lease meanwhile and waits, with position %s',
    async (position) => {
      const { tenure, store } = begin({}, 0, { ...LEASE, tenure: 'mine' });
      store.stored = { ...LEASE, owner: 'other', tenure: 'theirs', takenFrom: { owner: 'me', tenure: 'mine' } };
      if (position !== undefined) tenure.checkpoint(position);
      store.asked[0]?.fail(new LeaseLost(LEASE.id, 'it was taken'));
      await tenure.end(true);
      expect(store.handedOver).toEqual([position]);
      expect(tenure.isKept).toBe(false);
    },
  );
});
