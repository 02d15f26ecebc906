// A thread that runs a user's handler (handler-threads.ts), so that what it computes takes no turn from renewals.
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { MillraceError, messageOf } from '../../base/errors.ts';
import { assertOwnedBy } from './assert-owned.ts';
import type { Change } from '../reading/change.ts';
import type { ChangeContext, ChangeHandler } from './processor-options.ts';

/** What a thread is started with: the address of the module whose default export is the handler. */
export type ThreadData = string;

/** An error that crosses threads loses its class. */
export interface Refusal {
  readonly code: string;
  readonly message: string;
}

/** What a handler is told that needs no answer. */
export type Told = Pick<ChangeContext, 'range' | 'leaseToken' | 'charge' | 'sessionToken' | 'attempt'>;

export type ToThread =
  | {
      readonly kind: 'handle';
      readonly call: number;
      readonly changes: readonly Change[];
      readonly told: Told;
      /** Where `assertOwned` is answered: the thread sleeps until `flag` isn't 0, and takes a refusal from `port`. */
      readonly flag: Int32Array;
      readonly port: MessagePort;
    }
  | { readonly kind: 'abort'; readonly call: number; readonly why: Refusal }
  | { readonly kind: 'answered'; readonly asked: number; readonly refused?: Refusal };

export type FromThread =
  | { readonly kind: 'ready' }
  | { readonly kind: 'unusable'; readonly why: string }
  | { readonly kind: 'assert'; readonly call: number }
  /** Changes by their place in what was handed over. */
  | { readonly kind: 'checkpoint'; readonly call: number; readonly asked: number; readonly places: readonly number[] }
  | { readonly kind: 'confirm'; readonly call: number; readonly asked: number }
  | { readonly kind: 'ended'; readonly call: number; readonly failed?: { readonly error: unknown } };

/** The longest that an answer to `assertOwned` may take, milliseconds: the other thread renews and reads, and computes nothing. */
const ANSWER_MS = 30_000;

const say = (message: FromThread): void => parentPort?.postMessage(message);
const errorOf = ({ code, message }: Refusal): Error => new MillraceError(code, message, { retryable: true });
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

/** The handler, or why there is none. */
async function load(module: string): Promise<ChangeHandler | string> {
  try {
    const { default: found } = (await import(module)) as { default?: unknown };
    return typeof found === 'function' ? (found as ChangeHandler) : 'it has no default export that is a function';
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
    await handler(changes, contextOf(message, aborting.signal));
    say({ kind: 'ended', call });
  } catch (error) {
    say({ kind: 'ended', call, failed: { error: cloned(error) } });
  }
}

function contextOf(
  { call, changes, told, flag, port }: ToThread & { readonly kind: 'handle' },
  signal: AbortSignal,
): ChangeContext {
  const places = new Map(changes.map((change, place) => [change, place]));
  return {
    ...told,
    signal,
    assertOwned: assertOwnedBy(
      () => {
        signal.throwIfAborted();
        Atomics.store(flag, 0, 0);
        say({ kind: 'assert', call });
        const answered = Atomics.wait(flag, 0, 0, ANSWER_MS) !== 'timed-out';
        const refused: { readonly message: Refusal } | undefined = receiveMessageOnPort(port);
        if (refused) throw errorOf(refused.message);
        if (!answered) throw errorOf({ code: 'lease-lost', message: 'These changes are another host’s by now' });
      },
      () => ask((number) => ({ kind: 'confirm', call, asked: number })),
    ),
    checkpoint: async (some = changes) => {
      const given = 'id' in some ? [some] : some;
      const found = given.map((change) => places.get(change)).filter((place) => place !== undefined);
      await ask((number) => ({ kind: 'checkpoint', call, asked: number, places: found }));
    },
  };
}

/** Resolves, or rejects, as the other thread answers. */
async function ask(message: (asked: number) => FromThread): Promise<void> {
  asked += 1;
  const number = asked;
  const answer = Promise.withResolvers<void>();
  answers.set(number, answer);
  say(message(number));
  await answer.promise.finally(() => answers.delete(number));
}

/** As it can cross to another thread: errors do, with their message and stack. */
function cloned(error: unknown): unknown {
  try {
    return structuredClone(error);
  } catch {
    return new Error(messageOf(error));
  }
}
