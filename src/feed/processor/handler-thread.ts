// A thread that runs a user's handler (handler-threads.ts), so that its computation doesn't delay renewals.
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { MillraceError, messageOf } from '../../base/errors.ts';
import { assertOwnedBy } from './assert-owned.ts';
import type { Change as FeedChange } from '../reading/change.ts';
import type { ChangeContext, ChangeHandler } from './processor-options.ts';

/** A thread starts with the URL of the module whose default export is the handler. */
export type ThreadData = string;

/** An error that crosses threads loses its class. */
export interface Refusal {
  readonly code: string;
  readonly message: string;
}

/** The part of a handler's context that needs no answer from the other thread. */
export type PassedContext = Pick<ChangeContext, 'range' | 'leaseToken' | 'charge' | 'sessionToken' | 'attempt'>;

export type ToThread =
  | {
      readonly kind: 'handle';
      readonly call: number;
      readonly changes: readonly FeedChange[];
      readonly context: PassedContext;
      /** For `assertOwned`: the thread sleeps until `flag` isn't 0, and then takes an error from `port`, if there is one. */
      readonly flag: Int32Array;
      readonly port: MessagePort;
    }
  | { readonly kind: 'abort'; readonly call: number; readonly why: Refusal }
  | { readonly kind: 'answered'; readonly asked: number; readonly refused?: Refusal };

export type FromThread =
  | { readonly kind: 'ready' }
  | { readonly kind: 'unusable'; readonly why: string }
  | { readonly kind: 'assert'; readonly call: number }
  /** `places`: the changes, by their index in the call's array. */
  | { readonly kind: 'checkpoint'; readonly call: number; readonly asked: number; readonly places: readonly number[] }
  | { readonly kind: 'confirm'; readonly call: number; readonly asked: number }
  | { readonly kind: 'ended'; readonly call: number; readonly failed?: { readonly error: unknown } };

/** The longest wait for an answer to `assertOwned`, milliseconds. The other thread renews and reads, and computes nothing. */
const ANSWER_MS = 30_000;

const say = (message: FromThread): void => parentPort?.postMessage(message);
const errorOf = (refusal: Refusal): Error => MillraceError.from(refusal, { retryable: true });
const signals = new Map<number, AbortController>();
const answers = new Map<number, PromiseWithResolvers<void>>();
let asked = 0;

const handler = await load(workerData as ThreadData);
parentPort?.on('message', (message: ToThread) => {
  if (message.kind === 'handle') void run(message);
  else if (message.kind === 'abort') signals.get(message.call)?.abort(errorOf(message.why));
  else if (message.refused) answers.get(message.asked)?.reject(errorOf(message.refused));
  else answers.get(message.asked)?.resolve();
});
say(typeof handler === 'function' ? { kind: 'ready' } : { kind: 'unusable', why: handler });

/** The handler, or the reason why the module can't be used. */
async function load(module: string): Promise<ChangeHandler<FeedChange> | string> {
  try {
    const { default: found } = (await import(module)) as { default?: unknown };
    return typeof found === 'function'
      ? (found as ChangeHandler<FeedChange>)
      : 'it has no default export that is a function';
  } catch (error) {
    return messageOf(error);
  }
}

async function run(message: ToThread & { readonly kind: 'handle' }): Promise<void> {
  const { call, changes, port } = message;
  const aborting = new AbortController();
  signals.set(call, aborting);
  port.once('close', () => signals.delete(call));
  try {
    if (typeof handler !== 'function') throw new Error(handler);
    await handler([...changes], contextOf(message, aborting.signal));
    say({ kind: 'ended', call });
  } catch (error) {
    say({ kind: 'ended', call, failed: { error: cloned(error) } });
  }
}

function contextOf(
  { call, changes, context, flag, port }: ToThread & { readonly kind: 'handle' },
  signal: AbortSignal,
): ChangeContext {
  const places = new Map<unknown, number>(changes.map((change, place) => [change, place]));
  return {
    ...context,
    signal,
    assertOwned: assertOwnedBy(
      () => {
        signal.throwIfAborted();
        Atomics.store(flag, 0, 0);
        say({ kind: 'assert', call });
        const answered = Atomics.wait(flag, 0, 0, ANSWER_MS) !== 'timed-out';
        const refused: { readonly message: Refusal } | undefined = receiveMessageOnPort(port);
        if (refused) throw errorOf(refused.message);
        if (!answered)
          throw errorOf({ code: 'lease-lost', message: 'Another host now has the lease of these changes' });
      },
      () => ask((number) => ({ kind: 'confirm', call, asked: number })),
    ),
    checkpoint: async (some) => {
      const given = some === undefined ? changes : 'id' in some ? [some] : some;
      const found = given.map((change) => places.get(change)).filter((place) => place !== undefined);
      await ask((number) => ({ kind: 'checkpoint', call, asked: number, places: found }));
    },
  };
}

/** Settles with the other thread's answer. */
async function ask(message: (asked: number) => FromThread): Promise<void> {
  asked += 1;
  const number = asked;
  const answer = Promise.withResolvers<void>();
  answers.set(number, answer);
  say(message(number));
  await answer.promise.finally(() => answers.delete(number));
}

/** A copy that can cross to another thread. Errors keep their message and stack. */
function cloned(error: unknown): unknown {
  try {
    return structuredClone(error);
  } catch {
    return new Error(messageOf(error));
  }
}
