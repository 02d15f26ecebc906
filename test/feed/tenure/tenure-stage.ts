import { setImmediate as turn } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { type Lease, LeaseLost } from '../../../src/feed/leases/lease.ts';
import { LeaseTenure, type LeaseTenureOptions } from '../../../src/feed/tenure/lease-tenure.ts';
import { ManualClock } from '../../support/clock.ts';

export const LEASE: Lease = { id: 'P..0', token: '0', range: { min: '', max: 'FF' }, owner: 'me', etag: '"0"' };

type TenureStore = LeaseTenureOptions['store'];

interface Asked {
  readonly etag: string;
  readonly position: string | undefined;
  readonly answer: () => void;
  readonly fail: (error: unknown) => void;
}

/** A store whose answers the test gives; every write makes a new ETag, as the server's do. */
export class HeldStore implements TenureStore {
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
    if (this.stored?.takenFrom) return Promise.reject(new LeaseLost(lease.id, 'it was taken'));
    this.released.push(lease.etag);
    return Promise.resolve();
  }

  /** As others have left it; undefined: it was deleted. */
  stored: Lease | undefined;
  readonly handedOver: (string | undefined)[] = [];
  readonly takenOver: string[] = [];

  read(): Promise<Lease | undefined> {
    return Promise.resolve(this.stored);
  }

  takeOver(lease: Lease): Promise<Lease> {
    this.takenOver.push(lease.etag);
    const { takenFrom: _, ...rest } = lease;
    return Promise.resolve({ ...rest, etag: `"${++this.#writes}"` });
  }

  handOver(_lease: Lease, position?: string): Promise<void> {
    this.handedOver.push(position);
    return Promise.resolve();
  }
}

/** A tenure over a store whose answers the test gives, in time that passes as the test says. */
export function begin(timings: Partial<LeaseTenureOptions> = {}, heldFor = 0, lease = LEASE) {
  const clock = new ManualClock();
  const store = new HeldStore();
  const options = { container: 'c', store, clock, renewMs: 1_000, expirationMs: 10_000, ...timings };
  const tenure = new LeaseTenure(lease, clock.monotonic() - heldFor, options);
  onTestFinished(() => {
    store.answers = true;
    return tenure.end(false);
  });
  const page = { readAt: clock.monotonic() };
  /** Time passes, and the event loop with it. */
  const pass = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 250) {
      clock.advance(Math.min(left, 250));
      await turn();
    }
  };
  return { clock, store, tenure, fence: tenure.fence(page), pass };
}
