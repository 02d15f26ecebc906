import { type Job, type Queue, UnrecoverableError, WaitingError } from 'bullmq';
import { UsageError, messageOf } from '../base/errors.ts';
import { type Backend, type BullJob, openBackend } from './backend.ts';
import type { Handlers, JobKinds, Kinds } from './job-kinds.ts';

export interface EnqueueOptions {
  /** While a job with this key waits, runs or is to be tried again, another one isn't added. */
  readonly dedupe: string;
  /** `live` goes before `bulk`. Default `bulk`. */
  readonly lane?: 'live' | 'bulk';
  /** Not before this many milliseconds have passed. */
  readonly delayMs?: number;
  /**
   * How often it is tried before it counts as failed. Default 10. A job that is tried several times is run again where its
   * worker was lost, or was without the datastore for longer than `lostAfterMs`: that counts as no try, and the first run
   * may still go on. With 1 it is begun once at most: there it has failed, since nobody knows how far it came.
   */
  readonly attempts?: number;
  /** The first pause between two tries, milliseconds; doubled at each, with up to half of it taken off at random. Default 1,000. */
  readonly backoffMs?: number;
}

export type JobState = 'waiting' | 'active' | 'delayed' | 'completed' | 'failed';

export interface JobRow {
  readonly id: string;
  readonly name: string;
  readonly state: JobState;
  readonly payload: unknown;
  readonly attempts: number;
  readonly done: number | null;
  readonly of: number | null;
  /** ISO 8601 UTC. */
  readonly createdAt: string;
  readonly finishedAt: string | null;
  /** Why the last try failed. */
  readonly failure: string | null;
}

export interface WorkOptions {
  /** Jobs at once. Default 4. */
  readonly concurrency?: number;
  /** At most `max` jobs begun in `perMs`, over all workers of this queue. */
  readonly limit?: { readonly max: number; readonly perMs: number };
  /** After this long without a sign of life a job counts as lost with its worker, and is given to another. Default 30,000. */
  readonly lostAfterMs?: number;
  /** What goes wrong beside a job's own failure: the datastore is away, a lock was lost. */
  readonly onTrouble?: (error: unknown) => void;
  readonly onFinished?: (job: { readonly id: string; readonly name: string; readonly failure: string | null }) => void;
}

export interface Working {
  /** Takes no further job, asks those that run to stop, and gives them back; resolves when all of it is done. */
  stop(): Promise<void>;
}

const CHECK_MS = 50;
/** Checks after which `drain` no longer waits for what another worker has begun. */
const OTHERS = 40;
const LANES = { live: 1, bulk: 100 } as const;
const STATES = ['waiting', 'prioritized', 'active', 'delayed', 'completed', 'failed'] as const;
const KEPT = { completed: { count: 1_000 }, failed: { count: 1_000 } };
/** A job that lost its worker is given to another however often that happens: `perform` says which are run again. */
const LOST_AT_MOST = 1_000_000;

/** Background work that outlives its process. Knows names and payloads alone. */
export class Jobs<K extends object = JobKinds> {
  readonly #backend: Backend;
  readonly #name: string;
  readonly #queue: Queue;

  private constructor(backend: Backend, name: string, queue: Queue) {
    this.#backend = backend;
    this.#name = name;
    this.#queue = queue;
  }

  /**
   * `name` tells one pipeline's jobs from another's.
   * @throws UsageError `jobs-url-invalid`, `jobs-unreachable`
   */
  static async open<K extends object = JobKinds>(url: string, name: string): Promise<Jobs<K>> {
    const backend = await openBackend(url);
    const queue = backend.queue(name);
    // Without a listener an error of the connection would end the process; whoever waits for an answer is told it anyway.
    queue.on('error', () => undefined);
    return new Jobs<K>(backend, name, queue);
  }

  /** The id of the job: of the one that is there already, where `dedupe` says so. */
  async enqueue<N extends keyof K & string>(name: N, payload: K[N], options: EnqueueOptions): Promise<string> {
    const { dedupe, lane = 'bulk', delayMs = 0, attempts = 10, backoffMs = 1_000 } = options;
    const job = await this.#queue.add(name, payload, {
      deduplication: { id: dedupe },
      priority: LANES[lane],
      delay: delayMs,
      attempts,
      backoff: { type: 'exponential', delay: backoffMs, jitter: 0.5 },
      removeOnComplete: KEPT.completed,
      removeOnFail: KEPT.failed,
    });
    return job.id ?? '';
  }

  /** Newest first. */
  async list(limit = 100): Promise<JobRow[]> {
    const rows: JobRow[] = [];
    for (const state of STATES)
      for (const job of await this.#queue.getJobs([state], 0, limit - 1)) rows.push(rowOf(job as Job, state));
    return rows
      .toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : a.createdAt > b.createdAt ? -1 : 0))
      .slice(0, limit);
  }

  async counts(): Promise<Record<JobState, number>> {
    const of = await this.#queue.getJobCounts(...STATES);
    return {
      waiting: (of['waiting'] ?? 0) + (of['prioritized'] ?? 0),
      active: of['active'] ?? 0,
      delayed: of['delayed'] ?? 0,
      completed: of['completed'] ?? 0,
      failed: of['failed'] ?? 0,
    };
  }

  /** Works on jobs until it is stopped. */
  work(handlers: Handlers<K>, options: WorkOptions = {}): Working {
    const { stop } = this.#start(handlers, options);
    return { stop };
  }

  /**
   * Works until nothing is left to do now, or the time is up: what still runs then is asked to stop and given back.
   * Resolves with the number of jobs that ended.
   */
  async drain(
    handlers: Handlers<K>,
    within: { readonly withinMs: number; readonly signal?: AbortSignal },
    options: WorkOptions = {},
  ): Promise<number> {
    let ended = 0;
    const { promise: dry, resolve } = Promise.withResolvers<void>();
    const onFinished: WorkOptions['onFinished'] = (job) => {
      ended += 1;
      options.onFinished?.(job);
    };
    const { running, stop } = this.#start(handlers, { ...options, onFinished });
    // A failing datastore is told by the worker; the time bounds how long it is waited for.
    let idle = 0;
    const check = async (): Promise<void> => {
      const { waiting, active } = await this.counts().catch(() => ({ waiting: 1, active: 0 }));
      idle = waiting === 0 && running() === 0 ? idle + 1 : 0;
      // A job that was fetched is active before it runs; what stays active without running here is another worker's.
      if (idle > 0 && (active === 0 || idle > OTHERS)) resolve();
    };
    const checking = setInterval(() => void check(), CHECK_MS);
    const timer = setTimeout(resolve, within.withinMs);
    within.signal?.addEventListener('abort', () => resolve(), { once: true });
    if (within.signal?.aborted) resolve();
    await dry;
    clearTimeout(timer);
    clearInterval(checking);
    await stop();
    return ended;
  }

  async close(): Promise<void> {
    await this.#queue.close();
    await this.#backend.close();
  }

  #start(handlers: Handlers<K>, options: WorkOptions): { running: () => number; stop: () => Promise<void> } {
    const { concurrency = 4, limit, lostAfterMs = 30_000, onTrouble, onFinished } = options;
    const stopping = new AbortController();
    let running = 0;
    const run = async (job: BullJob, token: string): Promise<unknown> => {
      running += 1;
      try {
        return await perform(handlers as unknown as Handlers<Kinds>, job, token, stopping.signal);
      } finally {
        running -= 1;
      }
    };
    const worker = this.#backend.worker(this.#name, run, {
      concurrency,
      lockDuration: lostAfterMs,
      stalledInterval: lostAfterMs / 2,
      maxStalledCount: LOST_AT_MOST,
      drainDelay: 1,
      ...(limit ? { limiter: { max: limit.max, duration: limit.perMs } } : {}),
    });
    // Without a listener an error of the connection would end the process.
    worker.on('error', (error) => onTrouble?.(error));
    worker.on('completed', ({ id = '', name }) => onFinished?.({ id, name, failure: null }));
    worker.on('failed', (job, error) =>
      onFinished?.({ id: job?.id ?? '', name: job?.name ?? '', failure: error.message }),
    );
    return {
      running: () => running,
      stop: async () => {
        const closed = worker.close();
        stopping.abort(new DOMException('The worker is stopping', 'AbortError'));
        await closed;
      },
    };
  }
}

async function perform(handlers: Handlers<Kinds>, job: BullJob, token: string, signal: AbortSignal): Promise<unknown> {
  const giveBack = async (): Promise<never> => {
    await job.moveToWait(token);
    throw new WaitingError('The worker stops');
  };
  // A fetch under way when the worker was told to stop may still bring a job, one just given back at that.
  if (signal.aborted) return giveBack();
  if (job.stalledCounter > 0 && job.opts.attempts === 1) {
    const why = 'Its worker was lost, or lost the datastore, while it ran; it is to be begun once at most';
    throw new UnrecoverableError(why);
  }
  const handler = handlers[job.name];
  if (!handler) {
    const why = `This worker knows no job called ${job.name}: it was enqueued by another version`;
    throw new UnrecoverableError(why);
  }
  // One at a time, and only the last: a handler may tell more often than is worth storing.
  let telling: Promise<void> | undefined;
  let next: object | undefined;
  const tell = async (): Promise<void> => {
    for (let now; (now = next);) {
      next = undefined;
      await job.updateProgress(now).catch(() => undefined);
    }
    telling = undefined;
  };
  try {
    return await handler(job.data as object, {
      id: job.id ?? '',
      attempt: job.attemptsMade + 1,
      signal,
      progress: (done, of) => {
        next = { done, ...(of === undefined ? {} : { of }) };
        telling ??= tell();
      },
    });
  } catch (error) {
    if (signal.aborted) return await giveBack();
    // What a person has to mend isn't tried again.
    if (error instanceof UsageError) throw new UnrecoverableError(messageOf(error));
    throw error;
  } finally {
    await telling;
  }
}

function rowOf(job: Job, state: (typeof STATES)[number]): JobRow {
  const progress = typeof job.progress === 'object' ? (job.progress as { done?: unknown; of?: unknown }) : {};
  return {
    id: job.id ?? '',
    name: job.name,
    state: state === 'prioritized' ? 'waiting' : state,
    payload: job.data as unknown,
    attempts: job.attemptsMade,
    done: numberOrNull(progress.done),
    of: numberOrNull(progress.of),
    createdAt: new Date(job.timestamp).toISOString(),
    finishedAt: job.finishedOn === undefined ? null : new Date(job.finishedOn).toISOString(),
    failure: job.failedReason || null,
  };
}

const numberOrNull = (value: unknown): number | null => (typeof value === 'number' ? value : null);
