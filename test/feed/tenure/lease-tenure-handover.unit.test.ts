import { describe, expect, it } from 'vitest';
import { type Lease, LeaseDeleted, LeaseLost } from '../../../src/feed/leases/lease.ts';
import { LeaseInDoubt } from '../../../src/feed/tenure/lease-tenure.ts';
import { LEASE, begin } from './tenure-stage.ts';

describe('a lease that another host has taken', () => {
  const TAKEN: Lease = { ...LEASE, tenure: 't1', etag: '"0"' };
  const theirs: Lease = {
    ...TAKEN,
    owner: 'other',
    tenure: 't2',
    takenFrom: { owner: 'me', tenure: 't1' },
    etag: '"9"',
  };
  const taken = (stored: Lease | undefined, lease = TAKEN) => {
    const begun = begin({}, 0, lease);
    begun.store.stored = stored;
    return begun;
  };

  it('a lease that another host has taken and waits for, lets handlers end and none begin, and is answered with how far they came', async () => {
    const { tenure, store, fence, pass } = taken(theirs);
    tenure.checkpoint('"5"');
    store.asked[0]?.fail(new LeaseLost('P..0', 'another host wrote it'));
    await pass(250);
    expect(tenure.takenAway.aborted).toBe(true);
    expect(tenure.signal.aborted).toBe(false);
    fence.assert();
    expect(() => tenure.assertMayBegin()).toThrow(LeaseLost);
    await expect(tenure.flush()).rejects.toBeInstanceOf(LeaseLost);
    await expect(tenure.confirm()).rejects.toBeInstanceOf(LeaseLost);
    tenure.checkpoint('"7"');
    await tenure.answer();
    expect(store.handedOver).toEqual(['"7"']);
    expect(tenure.signal.aborted).toBe(true);
    expect(store.asked, 'nothing but the answer is written').toHaveLength(1);
  });

  it('a lease that another host has taken is lost without an answer when its last renewal has expired', async () => {
    const { tenure, store, fence, pass } = taken(theirs);
    tenure.noteTaken(theirs);
    await pass(9_750);
    fence.assert();
    await pass(750);
    expect(() => fence.assert()).toThrow(LeaseLost);
    expect(store.handedOver).toEqual([]);
  });

  it('a lease that another host has taken and doesn’t wait for, is lost at once', async () => {
    const { takenFrom: _, ...foreign } = theirs;
    const { tenure, store, pass } = taken(foreign);
    tenure.checkpoint('"5"');
    store.asked[0]?.fail(new LeaseLost('P..0', 'another host wrote it'));
    await pass(250);
    expect(tenure.signal.aborted).toBe(true);
  });

  it('a lease that another host has taken and that was deleted since, is lost at once, though an old read still shows that other host', async () => {
    const { tenure, store, fence, pass } = taken(theirs);
    tenure.checkpoint('"5"');
    store.asked[0]?.fail(new LeaseDeleted('P..0'));
    await pass(250);
    expect(tenure.takenAway.aborted).toBe(false);
    expect(() => fence.assert()).toThrow(LeaseDeleted);
  });

  it('a lease that another host has taken is in doubt while who took it isn’t known', async () => {
    const { tenure, store, fence, pass } = taken(TAKEN);
    tenure.checkpoint('"5"');
    store.asked[0]?.fail(new LeaseLost('P..0', 'another host wrote it'));
    await pass(250);
    expect(() => fence.assert()).toThrow(LeaseInDoubt);
    expect(() => fence.assert()).toThrow('was changed by another process');
    store.stored = theirs;
    await pass(1_000);
    store.asked[1]?.fail(new LeaseLost('P..0', 'another host wrote it'));
    await pass(250);
    expect(tenure.takenAway.aborted).toBe(true);
    fence.assert();
  });

  it('a lease that another host has taken is read by that one once it was answered, from where the answer says', async () => {
    const { tenure, store, pass, clock } = taken(theirs, theirs);
    const alone = tenure.alone(clock.monotonic() + 10_000, tenure.signal);
    await pass(500);
    const { takenFrom: _, ...answered } = { ...theirs, position: '"7"', etag: '"10"' };
    store.stored = answered;
    await pass(500);
    expect(await alone).toBe(true);
    expect(tenure.lease).toEqual(answered);
    expect(store.takenOver).toEqual([]);
  });

  it('a lease that another host has taken is taken over when the host doesn’t answer, by a write', async () => {
    const { tenure, store, pass, clock } = taken(theirs, theirs);
    store.answers = true;
    const alone = tenure.alone(clock.monotonic() + 8_000, tenure.signal);
    await pass(7_750);
    expect(store.takenOver).toEqual([]);
    await pass(500);
    expect(await alone).toBe(false);
    expect(store.takenOver).toHaveLength(1);
    expect(tenure.lease.takenFrom).toBeUndefined();
  });
});
