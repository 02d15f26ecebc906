// How long an erasure waits, and for what. ERASE-S7.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { LANDING_BOUND_MS, WRITE_BOUND_MS } from '../../../src/base/bounds.ts';
import type { Clock } from '../../../src/base/clock.ts';
import { ErasureRecords } from '../../../src/engine/erasures/record.ts';
import { VIEWS_REFRESH_MS } from '../../../src/engine/views/view-control.ts';
import { passed, stopped } from '../../../src/procedures/erase/erase-wait.ts';
import { whileNoted } from '../../../src/procedures/journal/runs.ts';
import { type Stage, openStage } from '../../support/stage.ts';

const READ_LAG_MS = 5_000;
const BOUND_MS = 2 * READ_LAG_MS + VIEWS_REFRESH_MS + WRITE_BOUND_MS + LANDING_BOUND_MS;
const { signal } = new AbortController();

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

/** Time that passes while somebody sleeps, and takes none. `after` is called after each sleep. */
class PassingClock implements Clock {
  #now = 0;
  readonly #after: (now: number) => Promise<void>;

  constructor(after: (now: number) => Promise<void> = () => Promise.resolve()) {
    this.#after = after;
  }

  now = (): number => this.#now;
  monotonic = (): number => this.#now;
  sleep = async (ms: number): Promise<void> => {
    this.#now += ms;
    await this.#after(this.#now);
  };
}

/** A long operation, which runs until it is ended. */
async function operation(verb: string): Promise<() => Promise<void>> {
  const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const running = whileNoted(stage.services.place.state, { verb, arguments: {}, actor: 'Ada' }, () => {
    begun.resolve();
    return end.promise;
  });
  await begun.promise;
  return () => {
    end.resolve();
    return running;
  };
}

const options = (clock: Clock) => ({ state: stage.services.place.state, readLagMs: READ_LAG_MS, clock });

it('an erasure waits until no host acts on what it read before, and no longer', async () => {
  const clock = new PassingClock();
  await passed(options(clock))(signal);
  expect(clock.monotonic()).toBe(BOUND_MS);
});

it('an erasure waits until long operations have ended that ran before, and for no later one', async () => {
  const endSweep = await operation('archive sweep');
  const endVerify = await operation('projections verify');
  let endLater: (() => Promise<void>) | undefined;
  const clock = new PassingClock(async (now) => {
    if (now > 60_000) endLater ??= await operation('projections rebuild');
    if (now > 600_000) await endSweep();
  });
  const said = new Set<string>();
  const waiting = (_: number, operations: readonly string[]): void =>
    operations.forEach((one) => void said.add(one.replace(/ since .*/, '')));
  await passed({ ...options(clock), waiting })(signal);
  expect(clock.monotonic()).toBeGreaterThan(600_000);
  expect(clock.monotonic()).toBeLessThan(612_000);
  expect([...said]).toEqual(['archive sweep of Ada']);
  await Promise.all([endVerify(), endLater?.()]);
});

it('an erasure waits again in full after a process died in the wait, and not at all once it was waited for', async () => {
  const records = new ErasureRecords(stage.services.place.state, 'waits');
  // A clock that is years behind, and one that is years ahead, say the same.
  const record = await records.begin('gone', Date.parse('2001-01-01T00:00:00Z'));
  const clock = new PassingClock();
  await stopped(options(clock))(record, signal);
  expect(clock.monotonic()).toBe(BOUND_MS);
  await stopped(options(clock))({ ...record, state: 'removing' }, signal);
  expect(clock.monotonic()).toBe(BOUND_MS);
});
