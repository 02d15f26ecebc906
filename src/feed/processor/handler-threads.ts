import { availableParallelism } from 'node:os';
import { extname } from 'node:path';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { MillraceError, type UsageError, abortReason, messageOf } from '../../base/errors.ts';
import { feedError } from '../errors.ts';
import type { Change as FeedChange } from '../reading/change.ts';
import type { FromThread, Refusal, ThreadData, ToThread } from './handler-thread.ts';
import type { Change } from './handed-change.ts';
import type { ChangeContext } from './processor-options.ts';

/** The time from aborting a handler's signal to ending its thread, milliseconds. */
const GRACE_MS = 5_000;

interface Call {
  readonly changes: readonly FeedChange[];
  readonly context: ChangeContext;
  readonly flag: Int32Array;
  readonly port: MessagePort;
  readonly ended: PromiseWithResolvers<void>;
  /** The places of changes that the handler still has to acknowledge by hand. */
  readonly open: Set<number>;
  running: boolean;
  readonly onAbort: () => void;
}

interface Thread {
  readonly worker: Worker;
  readonly calls: Map<number, Call>;
}

/**
 * Runs a handler that computes for long in threads. Meanwhile this thread renews leases and reads pages. A call that never
 * ends is ended with its thread, once its lease is given up. There are at most as many threads as cores, each started when
 * needed; a call goes to the thread with the fewest calls.
 */
export class HandlerThreads {
  readonly #module: URL;
  /** True: changes may be acknowledged after the handler has resolved. */
  readonly #manual: boolean;
  readonly #threads = new Set<Thread>();
  #calls = 0;
  #closed = false;

  constructor(module: URL, manual = false) {
    this.#module = module;
    this.#manual = manual;
  }

  /** Starts a first thread. @throws UsageError `handler-module-invalid` if the module can't be used */
  async open(): Promise<void> {
    const { worker } = this.#begin();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    worker.once('message', (said: FromThread) => {
      if (said.kind === 'unusable') reject(this.#unusable(said.why));
      else resolve();
    });
    worker.once('error', (error) => reject(this.#unusable(messageOf(error))));
    await promise;
  }

  /** Calls the handler in a thread; its signature is that of a processor's handler. */
  handle(changes: readonly FeedChange[], context: ChangeContext): Promise<void> {
    const thread = this.#choose();
    this.#calls += 1;
    const number = this.#calls;
    const { port1: port, port2 } = new MessageChannel();
    const call: Call = {
      changes,
      context,
      flag: new Int32Array(new SharedArrayBuffer(4)),
      port,
      ended: Promise.withResolvers<void>(),
      open: new Set(this.#manual ? changes.keys() : []),
      running: true,
      onAbort: () => this.#abort(thread, number, call),
    };
    thread.calls.set(number, call);
    const { range, leaseToken, charge, sessionToken, attempt, signal } = context;
    const passed = { range, leaseToken, charge, sessionToken, attempt };
    const message: ToThread = { kind: 'handle', call: number, changes, context: passed, flag: call.flag, port: port2 };
    thread.worker.postMessage(message, [port2]);
    signal.addEventListener('abort', call.onAbort, { once: true });
    if (signal.aborted) call.onAbort();
    return call.ended.promise;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#threads].map(({ worker }) => worker.terminate()));
  }

  #choose(): Thread {
    const [least] = [...this.#threads].toSorted((a, b) => a.calls.size - b.calls.size);
    if (least && (least.calls.size === 0 || this.#threads.size >= availableParallelism())) return least;
    return this.#begin();
  }

  #begin(): Thread {
    if (this.#closed) throw feedError('processor-stopped', 'The processor was stopped');
    const data: ThreadData = this.#module.href;
    const file = new URL(`./handler-thread${extname(import.meta.url)}`, import.meta.url);
    const thread: Thread = { worker: new Worker(file, { workerData: data }), calls: new Map() };
    // The processor keeps its process alive; a waiting thread must not.
    thread.worker.unref();
    this.#threads.add(thread);
    thread.worker.on('message', (said: FromThread) => this.#hear(thread, said));
    const gone = (why: string): void => {
      this.#threads.delete(thread);
      for (const [number, { ended }] of thread.calls) {
        ended.reject(feedError('handler-thread-ended', `The handler's thread ended: ${why}`));
        this.#forget(thread, number);
      }
    };
    thread.worker.once('error', (error) => gone(messageOf(error)));
    thread.worker.once('exit', (code) => gone(`exit code ${code}`));
    return thread;
  }

  #hear(thread: Thread, said: FromThread): void {
    if (said.kind === 'ready' || said.kind === 'unusable') return;
    const call = thread.calls.get(said.call);
    if (!call) return;
    if (said.kind === 'assert') return answer(call);
    if (said.kind === 'confirm') {
      const asked = call.context.assertOwned({ fresh: true });
      return void this.#answer(thread, said.asked, asked);
    }
    if (said.kind === 'checkpoint') return void this.#checkpoint(thread, said, call);
    call.running = false;
    if (said.failed) call.ended.reject(said.failed.error);
    else call.ended.resolve();
    if (said.failed || call.open.size === 0) this.#forget(thread, said.call);
  }

  async #checkpoint(
    thread: Thread,
    { call: number, asked, places }: FromThread & { readonly kind: 'checkpoint' },
    { changes, context, open, running }: Call,
  ): Promise<void> {
    const some = places.map((place) => changes[place]).filter((change) => change !== undefined);
    for (const place of places) open.delete(place);
    await this.#answer(thread, asked, context.checkpoint(some as readonly Change[]));
    if (open.size === 0 && !running) this.#forget(thread, number);
  }

  async #answer({ worker }: Thread, asked: number, work: Promise<void>): Promise<void> {
    let refused: Refusal | undefined;
    try {
      await work;
    } catch (error) {
      refused = refusalOf(error);
    }
    worker.postMessage({ kind: 'answered', asked, ...(refused && { refused }) } satisfies ToThread);
  }

  /** Its lease is lost, or its time is over: aborts the call's signal, and ends the thread if the call doesn't end. */
  #abort(thread: Thread, number: number, call: Call): void {
    const why = refusalOf(abortReason(call.context.signal));
    thread.worker.postMessage({ kind: 'abort', call: number, why } satisfies ToThread);
    if (!call.running) return this.#forget(thread, number);
    const ending = setTimeout(() => void thread.worker.terminate(), GRACE_MS);
    const listened = (): void => clearTimeout(ending);
    call.ended.promise.then(listened, listened);
  }

  #forget({ calls }: Thread, number: number): void {
    const call = calls.get(number);
    calls.delete(number);
    call?.context.signal.removeEventListener('abort', call.onAbort);
    call?.port.close();
  }

  #unusable(why: string): UsageError {
    return feedError('handler-module-invalid', `The handler ${this.#module.href} can't be used: ${why}`);
  }
}

/** Wakes the thread, with an error if it may not act. */
function answer({ context, flag, port }: Call): void {
  try {
    context.assertOwned();
  } catch (error) {
    port.postMessage(refusalOf(error));
  }
  Atomics.store(flag, 0, 1);
  Atomics.notify(flag, 0);
}

const refusalOf = (error: unknown): Refusal => ({
  code: error instanceof MillraceError ? error.code : 'aborted',
  message: messageOf(error),
});
