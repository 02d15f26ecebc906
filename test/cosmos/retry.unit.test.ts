import { describe, expect, it, vi } from 'vitest';
import { Meter } from '../../src/cosmos/budget/charge-meter.ts';
import { AmbiguousOutcome, Unavailable, impatiently, withRetry } from '../../src/cosmos/retry.ts';
import { ManualClock } from '../support/clock.ts';

const answer = (code: number | string, more: object = {}): Error =>
  Object.assign(new Error(`It says ${code}`), { code, ...more });

/** Fails with each error in turn, then gives `done`. */
function server(...errors: Error[]) {
  const rest = [...errors];
  const call = vi.fn<() => Promise<string>>(async () => {
    const error = rest.shift();
    if (error) throw error;
    return 'done';
  });
  return call;
}

/** A clock whose sleeps end as soon as they begin. */
class HastyClock extends ManualClock {
  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const sleeping = super.sleep(ms, signal);
    this.advance(ms);
    return sleeping;
  }
}

describe('a request is sent again', () => {
  it.each([429, 449, 'ECONNREFUSED', 'ENOTFOUND'])(
    'a request is sent again after %s, whether it reads or writes: nothing happened',
    async (code) => {
      for (const reads of [true, false]) {
        const call = server(answer(code), answer(code));
        await expect(withRetry(call, { reads, clock: new HastyClock() })).resolves.toBe('done');
        expect(call).toHaveBeenCalledTimes(3);
      }
    },
  );

  it.each([408, 500, 503, 'ECONNRESET', 'ETIMEDOUT'])(
    'a request is sent again after %s if it only reads',
    async (code) => {
      const call = server(answer(code));
      await expect(withRetry(call, { reads: true, clock: new HastyClock() })).resolves.toBe('done');
      expect(call).toHaveBeenCalledTimes(2);
    },
  );

  it('a request is sent again when the server said, else later each time', async () => {
    const clock = new HastyClock();
    await withRetry(server(answer(429, { retryAfterInMs: 123 }), ...Array.from({ length: 6 }, () => answer(503))), {
      reads: true,
      clock,
    });
    const [told, ...chosen] = clock.slept;
    expect(told).toBe(123);
    for (const [n, ms] of chosen.entries()) {
      const middle = Math.min(2_000, 10 * 2 ** (n + 2));
      expect(ms).toBeGreaterThanOrEqual(middle * 0.5);
      expect(ms).toBeLessThanOrEqual(middle * 1.5);
    }
  });

  it('throttled answers are counted', async () => {
    const meter = new Meter();
    await withRetry(server(answer(429), answer(503), answer(429)), { reads: true, clock: new HastyClock(), meter });
    expect(meter.throttled).toBe(2);
  });
});

describe('it ends', () => {
  it.each([408, 500, 503, 'ECONNRESET'])(
    'the repetition of a request ends for a write after %s: its outcome is for the caller to find out',
    async (code) => {
      const error = answer(code);
      const call = server(error);
      const outcome = withRetry(call, { reads: false, clock: new HastyClock() });
      await expect(outcome).rejects.toBeInstanceOf(AmbiguousOutcome);
      await expect(outcome).rejects.toMatchObject({ code: 'ambiguous-outcome', retryable: true, cause: error });
      expect(call).toHaveBeenCalledTimes(1);
    },
  );

  it.each([400, 401, 403, 404, 409, 410, 412, 413, 'ERR_OF_SOMEBODY'])(
    'the repetition of a request ends with %s as it came',
    async (code) => {
      const error = answer(code);
      await expect(withRetry(server(error), { reads: true, clock: new HastyClock() })).rejects.toBe(error);
    },
  );

  it('the repetition of a request ends with Unavailable, when it has gone on for too long', async () => {
    const clock = new HastyClock();
    const call = vi.fn<() => Promise<never>>(() => Promise.reject(answer(429, { retryAfterInMs: 400 })));
    const outcome = withRetry(call, { reads: false, clock, withinMs: 1_000 });
    await expect(outcome).rejects.toBeInstanceOf(Unavailable);
    await expect(outcome).rejects.toMatchObject({
      code: 'unavailable',
      retryable: true,
      message: expect.stringContaining('4 attempts') as string,
    });
    expect(call).toHaveBeenCalledTimes(4);
  });

  it('the repetition of a request ends with the signal’s reason, while it waits', async () => {
    const stop = new AbortController();
    const waiting = withRetry(server(answer(429)), { reads: true, clock: new ManualClock(), signal: stop.signal });
    const reason = new Error('stopped');
    stop.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  });

  it('the repetition of a request ends with what the fence throws, asked before every attempt', async () => {
    const lost = new Error('lease lost');
    let asked = 0;
    const call = server(answer(429), answer(429));
    const before = (): void => {
      if (++asked === 2) throw lost;
    };
    await expect(withRetry(call, { reads: false, clock: new HastyClock(), before })).rejects.toBe(lost);
    expect(call).toHaveBeenCalledTimes(1);
  });
});

describe('what a person waits for', () => {
  it('a verb gives up together once no request had an answer for 20 s, and says that it was refused by 429', async () => {
    const clock = new HastyClock();
    const storm = (): Promise<string> => Promise.reject(answer(429, { retryAfterInMs: 1_000 }));
    const ask = (call: () => Promise<string>) => withRetry(call, { reads: true, clock });
    await impatiently(async () => {
      await expect(ask(storm)).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringMatching(/after 21 attempts in 20 s, because Cosmos DB answers 429/),
      });
      const next = vi.fn<() => Promise<string>>(storm);
      await expect(ask(next)).rejects.toMatchObject({ code: 'unavailable' });
      expect(next).toHaveBeenCalledTimes(1);
      // An answer, whichever, begins the time again.
      await expect(ask(server(answer(404)))).rejects.toMatchObject({ code: 404 });
      await expect(ask(server(answer(429), answer(429)))).resolves.toBe('done');
    });
    await expect(ask(storm)).rejects.toMatchObject({ message: expect.stringMatching(/in 6[01] s/) });
  });
});
