import type { Clock } from '../../base/clock.ts';
import { emit } from '../../base/diagnostics.ts';
import { messageOf } from '../../base/errors.ts';
import { assertOwnedBy } from './assert-owned.ts';
import type { Change, Page } from '../reading/change.ts';
import type { Fence } from '../tenure/fence.ts';
import type { ChangeContext, ChangeFeedProcessorOptions, ChangeHandler, FailurePolicy } from './processor-options.ts';
import { HandlerTimeout } from '../tenure/handler-timeout.ts';
import { FULL_RANGE } from '../../cosmos/ranges.ts';
import { Halt, type Handle, type Tenure } from '../tenure/handle.ts';

const ATTEMPTS = 5;
const FIRST_BACKOFF_MS = 200;
const LONGEST_BACKOFF_MS = 10_000;

export interface HandlerOptions extends Pick<ChangeFeedProcessorOptions, 'failure' | 'handlerTimeoutMs'> {
  readonly handler: ChangeHandler;
  readonly container: string;
  readonly clock: Clock;
}

/** The user's handler as a supervisor's: with a context, a deadline, and its failure policy. */
export function handlerOf(options: HandlerOptions): Handle {
  const { failure = { kind: 'retry' } } = options;
  return async (page, fence, tenure) => {
    const call = (changes: readonly Change[], attempt: number): Promise<void> =>
      callHandler(options, page, changes, fence, tenure, attempt);
    if (failure.kind === 'retry') return call(page.changes, 1);
    await withPolicy(options, failure, page, fence, tenure, call);
  };
}

async function withPolicy(
  { clock, container }: HandlerOptions,
  failure: Exclude<FailurePolicy, { kind: 'retry' }>,
  page: Page,
  fence: Fence,
  tenure: Tenure,
  call: (changes: readonly Change[], attempt: number) => Promise<void>,
): Promise<void> {
  const { attempts = ATTEMPTS } = failure;
  for (let attempt = 1; ; attempt++) {
    try {
      return await call(page.changes, attempt);
    } catch (error) {
      // Not its doing: whoever has the lease now hands the changes on again.
      fence.signal.throwIfAborted();
      if (attempt < attempts) {
        await clock.sleep(Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (attempt - 1)), fence.signal);
        continue;
      }
      if (failure.kind === 'stop')
        throw new Halt(`The handler of ${container} failed ${attempts} times: ${messageOf(error)}`, error);
      const context = contextOf(page, page.changes, fence, tenure, fence.signal, attempt);
      return isolate(page.changes, error);

      async function isolate(changes: readonly Change[], reason: unknown): Promise<void> {
        const [only] = changes;
        if (changes.length === 1 && only && failure.kind === 'park') {
          await failure.park(only, reason, context);
          return tenure.acknowledge(changes);
        }
        const middle = changes.length >> 1;
        for (const half of [changes.slice(0, middle), changes.slice(middle)]) {
          try {
            await call(half, attempt + 1);
            tenure.progress();
          } catch (again) {
            fence.signal.throwIfAborted();
            await isolate(half, again);
          }
        }
      }
    }
  }
}

async function callHandler(
  { handler, handlerTimeoutMs, clock, container }: HandlerOptions,
  page: Page,
  changes: readonly Change[],
  fence: Fence,
  tenure: Tenure,
  attempt: number,
): Promise<void> {
  const deadline = new AbortController();
  const over = new AbortController();
  if (handlerTimeoutMs !== undefined)
    clock.sleep(handlerTimeoutMs, over.signal).then(
      () => deadline.abort(new HandlerTimeout(handlerTimeoutMs)),
      () => undefined,
    );
  const signal = handlerTimeoutMs === undefined ? fence.signal : AbortSignal.any([fence.signal, deadline.signal]);
  try {
    await handler(changes, contextOf(page, changes, fence, tenure, signal, attempt));
  } catch (error) {
    if (!fence.signal.aborted)
      emit('handler:failed', { container, lease: tenure.token, changes: changes.length, attempt, error });
    throw error;
  } finally {
    over.abort();
  }
}

const contextOf = (
  page: Page,
  given: readonly Change[],
  fence: Fence,
  tenure: Tenure,
  signal: AbortSignal,
  attempt: number,
): ChangeContext => ({
  range: page.range ?? FULL_RANGE,
  leaseToken: tenure.token,
  signal,
  charge: page.charge,
  sessionToken: page.session,
  attempt,
  assertOwned: assertOwnedBy(
    () => fence.assert(),
    async () => {
      await tenure.confirm();
      fence.assert();
    },
  ),
  checkpoint: async (changes = given) => {
    tenure.acknowledge('id' in changes ? [changes] : changes);
    await tenure.settled();
  },
});
