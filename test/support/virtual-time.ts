import { setImmediate as turn } from 'node:timers/promises';
import type { CosmosClientOptions } from '@azure/cosmos';
import type { Clock } from '../../src/base/clock.ts';
import type { Emulator } from '../../src/emulator/index.ts';
import { Sleepers } from './sleepers.ts';

type HttpClient = Required<CosmosClientOptions>['httpClient'];
export type Request = Parameters<HttpClient['sendRequest']>[0];
export type Answer = Awaited<ReturnType<HttpClient['sendRequest']>>;

/** Turns of the event loop without a request under way after which nothing will happen unless time passes. */
const QUIET_TURNS = 4;

/** Time that passes only while everybody sleeps; the server's with it. Hours of it take as long as what is done in them. */
export class VirtualTime implements Clock {
  readonly #emulator: Emulator;
  readonly #begun: number;
  #now = 0;
  #underWay = 0;
  readonly #sleepers = new Sleepers();

  constructor(emulator: Emulator) {
    this.#emulator = emulator;
    this.#begun = Date.now();
    emulator.freeze(true);
  }

  now(): number {
    return this.#begun + this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#sleepers.sleepUntil(this.#now + ms, signal);
  }

  /** How requests travel: `around` may hold one up, keep its answer, or answer it itself. Answering takes no time. */
  transport(around: (request: Request, send: () => Promise<Answer>) => Promise<Answer>): HttpClient {
    const { httpClient } = this.#emulator.clientOptions;
    const answered = async (request: Request): Promise<Answer> => {
      this.#underWay += 1;
      return httpClient.sendRequest(request).finally(() => (this.#underWay -= 1));
    };
    return { sendRequest: (request) => around(request, () => answered(request)) };
  }

  /** Lets time pass until this has ended. */
  async run<T>(work: Promise<T>): Promise<T> {
    let ended = false;
    const end = (): void => void (ended = true);
    work.then(end, end);
    for (;;) {
      await this.#quiet();
      if (ended) return work;
      this.#pass();
    }
  }

  async #quiet(): Promise<void> {
    for (let turns = 0; turns < QUIET_TURNS; turns++) {
      await turn();
      if (this.#underWay > 0) turns = -1;
    }
  }

  #pass(): void {
    const { next } = this.#sleepers;
    if (next === Infinity) throw new Error('Everybody waits for something that no time will bring');
    this.#emulator.advance(Math.max(0, next - this.#now));
    this.#now = Math.max(next, this.#now);
    this.#sleepers.wakeAt(this.#now);
  }
}

/** A process in virtual time: while it stands still, none of its code runs, and what it is answered waits for it. */
export class VirtualProcess implements Clock {
  readonly #time: Clock;
  #standsUntil = 0;

  constructor(time: Clock) {
    this.#time = time;
  }

  now(): number {
    return this.#time.now();
  }

  monotonic(): number {
    return this.#time.monotonic();
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    try {
      await this.#time.sleep(ms, signal);
    } finally {
      await this.awake();
    }
  }

  get isAwake(): boolean {
    return this.#standsUntil <= this.#time.monotonic();
  }

  standStill(ms: number): void {
    this.#standsUntil = this.#time.monotonic() + ms;
  }

  /** Resolves once it runs. */
  async awake(): Promise<void> {
    for (let left; (left = this.#standsUntil - this.#time.monotonic()) > 0;) await this.#time.sleep(left);
  }
}

/** An error answer that no server has given. */
export function answerOf(request: Request, status: number): Promise<Answer> {
  const values: Record<string, string> = { 'x-ms-retry-after-ms': '1000', 'content-type': 'application/json' };
  const headers = Object.assign(Object.create(request.headers) as Answer['headers'], {
    get: (name: string) => values[name.toLowerCase()],
    has: (name: string) => name.toLowerCase() in values,
    toJSON: () => ({ ...values }),
  });
  return Promise.resolve({
    request,
    status,
    headers,
    bodyAsText: '{"code":"Refused","message":"No answer of a server"}',
  });
}
