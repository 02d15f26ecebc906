import { DelayedError, type Job, type Queue, UnrecoverableError, WaitingError } from 'bullmq';
import { UsageError, messageOf } from '../base/errors.ts';
import { FormatUnreadable, formatOf, isReadable } from '../base/format.ts';
import { type SpanCarrier, type SpanOptions, inSpan, spanCarrier } from '../base/telemetry/spans.ts';
import { type Backend, type BullJob, openBackend } from './backend.ts';
import type { Handlers, JobKinds, Kinds } from './job-kinds.ts';

export interface EnqueueOptions {
  /** While a job with this key waits, runs or will be retried, no other one is added. */
  readonly dedupe: string;
  /** `live` jobs run before `bulk` jobs. Default `bulk`. */
  readonly lane?: 'live' | 'bulk';
  /** Time before the first run, milliseconds. */
  readonly delayMs?: number;
  /**
   * Attempts before the job counts as failed. Default 10. When its worker is lost, or loses the datastore for longer than
   * `lostAfterMs`, the job runs again: that is no attempt, and the first run may still be active. With 1 the job is started
   * at most once: a job that lost its worker has failed, because how much it did is unknown.
   */
  readonly attempts?: number;
  /** Pause before the second attempt, milliseconds. It doubles each time, minus a random part of up to half. Default 1,000. */
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
  /** Why the last attempt failed. */
  readonly failure: string | null;
}

export interface StoredJob extends JobRow {
  /** Payload, options, result, failures and progress. */
  readonly stored: unknown;
  /** Removes the job. False: a worker runs it. */
  remove(): Promise<boolean>;
}

export interface WorkOptions {
  /** Jobs at the same time. Default 4. */
  readonly concurrency?: number;
  /** All workers of this queue together start at most `max` jobs in `perMs`. */
  readonly limit?: { readonly max: number; readonly perMs: number };
  /** A worker that gives no sign of life for this time counts as lost, and another worker gets its job. Default 30,000. */
  readonly lostAfterMs?: number;
  /** Called with errors that are not a job's own: the datastore is away, a lock was lost. */
  readonly onTrouble?: (error: unknown) => void;
  readonly onFinished?: (job: { readonly id: string; readonly name: string; readonly failure: string | null }) => void;
}

export interface Working {
  /** Takes no more jobs, asks the running jobs to stop, and gives them back to the queue. Resolves when all have ended. */
  stop(): Promise<void>;
}

/** A job of a later format comes again after so long, to this worker or another. */
const UNREADABLE_MS = 30_000;
const CHECK_MS = 50;
/** After this many checks `drain` no longer waits for the jobs of other workers. */
const OTHERS = 40;
const LANES = { live: 1, bulk: 100 } as const;
const STATES = ['waiting', 'prioritized', 'active', 'delayed', 'completed', 'failed'] as const;
const KEPT = { completed: { count: 1_000 }, failed: { count: 1_000 } };
/** No limit in practice: `perform` decides which jobs run again after their worker was lost. */
const LOST_AT_MOST = 1_000_000;

/** A queue of background jobs, which outlive their process. It knows names and payloads, not handlers. */
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
   * `name`: the queue's name; each pipeline has its own.
   * @throws UsageError `setting-invalid`, `unreachable`
   */
  static async open<K extends object = JobKinds>(url: string, name: string): Promise<Jobs<K>> {
    const backend = await openBackend(url);
    const queue = backend.queue(name);
    // Without a listener a connection error would end the process. Callers that wait for an answer get the error anyway.
    queue.on('error', () => undefined);
    return new Jobs<K>(backend, name, queue);
  }

  /** Returns the id of the job. If a job with the same `dedupe` exists, it is that job's id. */
  async enqueue<N extends keyof K & string>(name: N, payload: K[N], options: EnqueueOptions): Promise<string> {
    const { dedupe, lane = 'bulk', delayMs = 0, attempts = 10, backoffMs = 1_000 } = options;
    const trace = spanCarrier();
    const job = await this.#queue.add(
      name,
      { ...payload, ...formatOf('job'), ...(trace && { trace }) },
      {
        deduplication: { id: dedupe },
        priority: LANES[lane],
        delay: delayMs,
        attempts,
        backoff: { type: 'exponential', delay: backoffMs, jitter: 0.5 },
        removeOnComplete: KEPT.completed,
        removeOnFail: KEPT.failed,
      },
    );
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

  /** Every job that the datastore still has, with all that is stored of it. */
  async *every(): AsyncGenerator<StoredJob> {
    for (const state of STATES)
      for (const job of await this.#queue.getJobs([state]))
        yield { ...rowOf(job as Job, state), stored: (job as Job).asJSON(), remove: () => removed(job as Job) };
  }

  /** Removes the datastore's list of what happened to jobs, which has results and keys of jobs that were removed. */
  forgetEvents(): Promise<void> {
    return this.#backend.forgetEvents(this.#queue);
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

  /** Works on jobs until `stop`. */
  work(handlers: Handlers<K>, options: WorkOptions = {}): Working {
    const { stop } = this.#start(handlers, options);
    return { stop };
  }

  /**
   * Works until no job is due, or the time is up. Jobs that still run then are asked to stop, and go back to the queue.
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
    // The worker reports a failing datastore; `withinMs` limits the wait for it.
    let idle = 0;
    const check = async (): Promise<void> => {
      const { waiting, active } = await this.counts().catch(() => ({ waiting: 1, active: 0 }));
      idle = waiting === 0 && running() === 0 ? idle + 1 : 0;
      // A fetched job is active before it runs. A job that stays active and does not run here belongs to another worker.
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
    // Without a listener a connection error would end the process.
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
    throw new WaitingError('The worker is stopping');
  };
  // A fetch that began before the worker was asked to stop may still return a job, even one that was given back.
  if (signal.aborted) return giveBack();
  if (job.stalledCounter > 0 && job.opts.attempts === 1) {
    const why = 'The worker was lost, or lost the datastore, while the job ran. This job may start only once';
    throw new UnrecoverableError(why);
  }
  const { format, trace, ...payload } = job.data as { readonly format?: number; readonly trace?: SpanCarrier };
  if (!isReadable('job', format)) {
    // A worker of the version that enqueued it may take it; this doesn't count as an attempt.
    await job.moveToDelayed(Date.now() + UNREADABLE_MS, token);
    throw new DelayedError(new FormatUnreadable('job', format, job.id).message);
  }
  const handler = handlers[job.name];
  if (!handler) {
    const why = `This worker has no handler for the job ${job.name}: another version of Millrace enqueued it`;
    throw new UnrecoverableError(why);
  }
  // One write at a time, and only of the latest value: a handler may report progress more often than is worth storing.
  let reporting: Promise<void> | undefined;
  let next: object | undefined;
  const report = async (): Promise<void> => {
    for (let now; (now = next);) {
      next = undefined;
      await job.updateProgress(now).catch(() => undefined);
    }
    reporting = undefined;
  };
  try {
    const attempt = job.attemptsMade + 1;
    const spanned = (): SpanOptions => ({
      name: 'millrace.job',
      kind: 'consumer',
      attributes: { 'millrace.job': job.name, 'millrace.job.id': job.id ?? '', 'millrace.job.attempt': attempt },
      // A trace of its own: it may run hours after the one that asked for it.
      root: true,
      link: trace,
    });
    return await inSpan(spanned, () =>
      handler(payload, {
        id: job.id ?? '',
        askedAt: job.timestamp,
        attempt,
        signal,
        progress: (done, of) => {
          next = { done, ...(of === undefined ? {} : { of }) };
          reporting ??= report();
        },
      }),
    );
  } catch (error) {
    if (signal.aborted) return await giveBack();
    // A retry can't succeed before a person corrects the input.
    if (error instanceof UsageError) throw new UnrecoverableError(messageOf(error));
    throw error;
  } finally {
    await reporting;
  }
}

async function removed(job: Job): Promise<boolean> {
  try {
    await job.remove();
    return true;
  } catch (error) {
    if (await job.isActive()) return false;
    throw error;
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
