// The time of this whole process, for work that takes its clock from Node: timers, dates, pauses and limits. It passes only
// while nothing happens, so that hours of it take as long as what is done in them. Work belongs to a life: once that has
// ended, none of its timers goes off, and none of its requests is sent or answered.
import { AsyncLocalStorage } from 'node:async_hooks';
import { syncBuiltinESMExports } from 'node:module';
import { setImmediate as turn } from 'node:timers/promises';
import promises from 'node:timers/promises';
import { abortReason } from '../../src/base/errors.ts';
import { Random } from './random.ts';

/** What a process of its own would be. */
export class Life {
  over = false;
}

/** What work may take. */
export interface Most {
  readonly ms: number;
  readonly requests: number;
}

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly life: Life | undefined;
  readonly run: () => void;
}

/** Turns of the event loop without a request under way after which nothing will happen unless time passes. */
const QUIET_TURNS = 4;
/** What Node works on outside of this thread; sockets and servers that only wait are not among them. */
const ELSEWHERE = /^(FSReq|FILEHANDLE|GetAddrInfoReq|TCPConnectWrap|Worker|HASHREQUEST|RANDOMBYTESREQUEST|Zlib)/i;

const NEVER: Promise<never> = new Promise(() => undefined);

export class ProcessTime implements Disposable {
  readonly #lives = new AsyncLocalStorage<Life>();
  readonly #real = {
    Date: globalThis.Date,
    setTimeout: globalThis.setTimeout,
    clearTimeout: globalThis.clearTimeout,
    setInterval: globalThis.setInterval,
    clearInterval: globalThis.clearInterval,
    pause: promises.setTimeout,
    timeout: AbortSignal.timeout.bind(AbortSignal),
    random: Math.random,
  };
  readonly #begun = Date.now();
  readonly #from = performance.now();
  readonly #timers = new Set<Timer>();
  #random = new Random(1);
  #passed = 0;
  #order = 0;
  #underWay = 0;
  #requests = 0;

  constructor() {
    const real = this.#real;
    const now = (): number => this.#begun + Math.floor(this.#passed);
    globalThis.Date = new Proxy(real.Date, {
      construct: (target, given: []) => (given.length === 0 ? new target(now()) : new target(...given)),
      get: (target, name, receiver) => (name === 'now' ? now : (Reflect.get(target, name, receiver) as unknown)),
    });
    Object.defineProperty(performance, 'now', { value: () => this.#from + this.#passed, configurable: true });
    const once = (run: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) =>
      new Handle(this.#set(ms, () => run(...given)));
    const again = (run: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) => {
      const go = (): void => {
        handle.cancel = this.#set(Math.max(1, ms), go);
        run(...given);
      };
      const handle = new Handle(this.#set(Math.max(1, ms), go));
      return handle;
    };
    const clear = (handle: unknown): void => {
      if (handle instanceof Handle) handle.cancel();
      else real.clearTimeout(handle as NodeJS.Timeout);
    };
    Object.assign(globalThis, { setTimeout: once, setInterval: again, clearTimeout: clear, clearInterval: clear });
    const pause = (ms = 0, value?: unknown, { signal }: { readonly signal?: AbortSignal } = {}): Promise<unknown> =>
      new Promise((resolve, reject) => {
        const refuse = (): void =>
          reject(
            Object.assign(new Error('The operation was aborted', { cause: signal && abortReason(signal) }), ABORTED),
          );
        if (signal?.aborted) return refuse();
        const abort = (): void => {
          cancel();
          refuse();
        };
        const cancel = this.#set(ms, () => {
          signal?.removeEventListener('abort', abort);
          resolve(value);
        });
        signal?.addEventListener('abort', abort, { once: true });
      });
    Object.assign(promises, { setTimeout: pause });
    syncBuiltinESMExports();
    AbortSignal.timeout = (ms) => {
      const ending = new AbortController();
      this.#set(ms, () => ending.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')));
      return ending.signal;
    };
    Math.random = () => this.#random.unit();
  }

  [Symbol.dispose](): void {
    const { pause, timeout, random, ...globals } = this.#real;
    Object.assign(globalThis, globals);
    Reflect.deleteProperty(performance, 'now');
    Object.assign(promises, { setTimeout: pause });
    syncBuiltinESMExports();
    AbortSignal.timeout = timeout;
    Math.random = random;
  }

  /** Milliseconds since it was made. */
  get passed(): number {
    return this.#passed;
  }

  /** How many requests were sent since it was made. */
  get requests(): number {
    return this.#requests;
  }

  /** From now on `Math.random` gives what it gave after the same call before, and no life of before waits for a timer. */
  begin(seed: number): void {
    this.#random = new Random(seed);
    for (const timer of this.#timers) if (timer.life) this.#timers.delete(timer);
  }

  /** Whatever `work` begins belongs to this life. */
  live<T>(life: Life, work: () => T): T {
    return this.#lives.run(life, work);
  }

  /** A request to what answers in time of its own: none passes meanwhile. It is not sent, nor answered, in a life that is over. */
  async request<T>(send: () => Promise<T>): Promise<T> {
    const life = this.#lives.getStore();
    if (life?.over) return NEVER;
    this.#underWay += 1;
    this.#requests += 1;
    try {
      return await send();
    } finally {
      this.#underWay -= 1;
      if (life?.over) await NEVER;
    }
  }

  /** Lets time pass until this has ended, at most so long and with so many requests. */
  async run<T>(work: Promise<T>, { ms, requests }: Most): Promise<T> {
    const until = this.#passed + ms;
    const last = this.#requests + requests;
    let ended = false;
    const end = (): void => void (ended = true);
    work.then(end, end);
    for (let idle = 0; ;) {
      await this.#quiet(last);
      if (ended) return work;
      if (this.#requests > last) throw new Error(`It sent more than ${requests} requests`);
      const next = this.#next();
      if (next && next.at <= until) {
        idle = 0;
        this.#pass(next.at);
      } else if (next || (idle += 1) > 2_000) throw new Error(`It didn’t end within ${Math.ceil(ms / 60_000)} minutes`);
      else await new Promise((resolve) => this.#real.setTimeout(resolve, 1));
    }
  }

  async #quiet(last: number): Promise<void> {
    for (let turns = 0; turns < QUIET_TURNS && this.#requests <= last; turns++) {
      await turn();
      if (this.#underWay > 0) turns = -1;
      else if (turns === QUIET_TURNS - 1 && process.getActiveResourcesInfo().some((of) => ELSEWHERE.test(of))) {
        turns = -1;
        await new Promise((resolve) => this.#real.setTimeout(resolve, 0));
      }
    }
  }

  #next(): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.life?.over) this.#timers.delete(timer);
      else if (!first || timer.at < first.at || (timer.at === first.at && timer.order < first.order)) first = timer;
    }
    return first;
  }

  #pass(at: number): void {
    this.#passed = Math.max(this.#passed, at);
    const due = [...this.#timers].filter((timer) => timer.at <= this.#passed);
    for (const timer of due.toSorted((a, b) => a.at - b.at || a.order - b.order))
      if (this.#timers.delete(timer) && timer.life?.over !== true) timer.run();
  }

  /** Returns what cancels it. */
  #set(ms: number, run: () => void): () => void {
    this.#order += 1;
    const life = this.#lives.getStore();
    const inside = AsyncLocalStorage.snapshot();
    // As in Node, no timer goes off before a millisecond: a loop that sleeps what is left of a time gets on.
    const at = this.#passed + Math.max(1, Number.isFinite(ms) ? ms : 1);
    const timer: Timer = { at, order: this.#order, life, run: () => inside(run) };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }
}

const ABORTED = { name: 'AbortError', code: 'ABORT_ERR' };

/** What `setTimeout` of Node returns, as far as it is used here. */
class Handle {
  cancel: () => void;
  constructor(cancel: () => void) {
    this.cancel = cancel;
  }
  ref = (): this => this;
  unref = (): this => this;
  hasRef = (): boolean => true;
  [Symbol.dispose](): void {
    this.cancel();
  }
}
