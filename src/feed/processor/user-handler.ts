import type { Clock } from '../../base/clock.ts';
import { emit } from '../../base/telemetry/diagnostics.ts';
import { messageOf } from '../../base/errors.ts';
import { assertOwnedBy } from './assert-owned.ts';
import type { Change as FeedChange, Page } from '../reading/change.ts';
import type { Fence } from '../tenure/fence.ts';
import type { Notices } from './notices.ts';
import type { AnyOptions, ChangeContext, ChangeHandler, FailurePolicy } from './processor-options.ts';
import { FULL_RANGE } from '../../cosmos/ranges.ts';
import { Halt, type Handle, HandlerTimeout, type Tenure } from '../tenure/page-handler.ts';

const ATTEMPTS = 5;
const FIRST_BACKOFF_MS = 200;
const LONGEST_BACKOFF_MS = 10_000;

export interface HandlerOptions extends Pick<AnyOptions, 'failure' | 'handlerTimeoutMs'> {
  readonly handler: ChangeHandler<FeedChange>;
  readonly container: string;
  readonly clock: Clock;
  readonly notices: Notices;
}

type Handed = { readonly page: Page; readonly fence: Fence; readonly tenure: Tenure };

/** The user's handler as a supervisor calls it: with a context, a deadline and its failure policy. */
export function handlerOf(options: HandlerOptions): Handle {
  const { failure = { kind: 'retry' }, notices } = options;
  return async (page, fence, tenure) => {
    const handed = { page, fence, tenure };
    try {
      if (failure.kind === 'retry') await callHandler(options, handed, page.changes, 1);
      else await withPolicy(options, failure, handed);
    } catch (error) {
      if (!fence.signal.aborted) notices.handlingFailed(error, tenure.token, page);
      throw error;
    }
    notices.handled(tenure.token, page.changes);
  };
}

async function withPolicy(
  options: HandlerOptions,
  failure: Exclude<FailurePolicy<FeedChange>, { kind: 'retry' }>,
  handed: Handed,
): Promise<void> {
  const { clock, container } = options;
  const { page, fence, tenure } = handed;
  const { attempts = ATTEMPTS } = failure;
  for (let attempt = 1; ; attempt++) {
    try {
      return await callHandler(options, handed, page.changes, attempt);
    } catch (error) {
      // The lease is lost: its next host hands the changes on again.
      fence.signal.throwIfAborted();
      if (attempt < attempts) {
        await clock.sleep(Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (attempt - 1)), fence.signal);
        continue;
      }
      if (failure.kind === 'stop')
        throw new Halt(`The handler of ${container} failed ${attempts} times: ${messageOf(error)}`, error);
      const context = contextOf(handed, page.changes, fence.signal, attempt);
      return isolate(page.changes, error);

      async function isolate(changes: readonly FeedChange[], reason: unknown): Promise<void> {
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
  { handler, handlerTimeoutMs, clock, container, notices }: HandlerOptions,
  handed: Handed,
  changes: readonly FeedChange[],
  attempt: number,
): Promise<void> {
  const { page, fence, tenure } = handed;
  const deadline = new AbortController();
  const over = new AbortController();
  if (handlerTimeoutMs !== undefined)
    clock.sleep(handlerTimeoutMs, over.signal).then(
      () => deadline.abort(new HandlerTimeout(handlerTimeoutMs)),
      () => undefined,
    );
  const signal = handlerTimeoutMs === undefined ? fence.signal : AbortSignal.any([fence.signal, deadline.signal]);
  try {
    // A copy: a handler may sort or cut its array.
    await handler([...changes], contextOf(handed, changes, signal, attempt));
  } catch (error) {
    if (!fence.signal.aborted) {
      emit('handler:failed', { container, lease: tenure.token, changes: changes.length, attempt, error });
      notices.handlerThrew(error, tenure.token, page.range);
    }
    throw error;
  } finally {
    over.abort();
  }
}

const contextOf = (
  { page, fence, tenure }: Handed,
  given: readonly FeedChange[],
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
  checkpoint: async (some) => {
    const changes = some === undefined ? given : 'id' in some ? [some] : some;
    tenure.acknowledge(changes as readonly FeedChange[]);
    await tenure.flush();
  },
});
