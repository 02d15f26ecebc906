import type { Clock } from '../../base/clock.ts';
import { emit } from '../../base/diagnostics.ts';
import { messageOf } from '../../base/errors.ts';
import { assertOwnedBy } from './assert-owned.ts';
import type { Change, Page } from '../reading/change.ts';
import type { Fence } from '../tenure/fence.ts';
import type { ChangeContext, ChangeFeedProcessorOptions, ChangeHandler, FailurePolicy } from './processor-options.ts';
import { FULL_RANGE } from '../../cosmos/ranges.ts';
import { Halt, type Handle, HandlerTimeout, type Tenure } from '../tenure/handle.ts';

const ATTEMPTS = 5;
const FIRST_BACKOFF_MS = 200;
const LONGEST_BACKOFF_MS = 10_000;

export interface HandlerOptions extends Pick<ChangeFeedProcessorOptions, 'failure' | 'handlerTimeoutMs'> {
  readonly handler: ChangeHandler;
  readonly container: string;
  readonly clock: Clock;
}

/** What a supervisor hands on. */
type Handed = { readonly page: Page; readonly fence: Fence; readonly tenure: Tenure };

/** The user's handler as a supervisor's: with a context, a deadline, and its failure policy. */
export function handlerOf(options: HandlerOptions): Handle {
  const { failure = { kind: 'retry' } } = options;
  return async (page, fence, tenure) => {
    const handed = { page, fence, tenure };
    if (failure.kind === 'retry') await callHandler(options, handed, page.changes, 1);
    else await withPolicy(options, failure, handed);
  };
}

async function withPolicy(
  options: HandlerOptions,
  failure: Exclude<FailurePolicy, { kind: 'retry' }>,
  handed: Handed,
): Promise<void> {
  const { clock, container } = options;
  const { page, fence, tenure } = handed;
  const { attempts = ATTEMPTS } = failure;
  for (let attempt = 1; ; attempt++) {
    try {
      return await callHandler(options, handed, page.changes, attempt);
    } catch (error) {
      // Not its doing: whoever has the lease now hands the changes on again.
      fence.signal.throwIfAborted();
      if (attempt < attempts) {
        await clock.sleep(Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (attempt - 1)), fence.signal);
        continue;
      }
      if (failure.kind === 'stop')
        throw new Halt(`The handler of ${container} failed ${attempts} times: ${messageOf(error)}`, error);
      const context = contextOf(handed, page.changes, fence.signal, attempt);
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
            await callHandler(options, handed, half, attempt + 1);
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
  handed: Handed,
  changes: readonly Change[],
  attempt: number,
): Promise<void> {
  const { fence, tenure } = handed;
  const deadline = new AbortController();
  const over = new AbortController();
  if (handlerTimeoutMs !== undefined)
    clock.sleep(handlerTimeoutMs, over.signal).then(
      () => deadline.abort(new HandlerTimeout(handlerTimeoutMs)),
      () => undefined,
    );
  const signal = handlerTimeoutMs === undefined ? fence.signal : AbortSignal.any([fence.signal, deadline.signal]);
  try {
    await handler(changes, contextOf(handed, changes, signal, attempt));
  } catch (error) {
    if (!fence.signal.aborted)
      emit('handler:failed', { container, lease: tenure.token, changes: changes.length, attempt, error });
    throw error;
  } finally {
    over.abort();
  }
}

const contextOf = (
  { page, fence, tenure }: Handed,
  given: readonly Change[],
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
