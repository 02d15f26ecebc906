// Who ran what, and what runs (docs/SPEC-journal.md).
import { randomUUID } from 'node:crypto';
import type { Container } from '@azure/cosmos';
import { type Clock, systemClock } from '../../base/clock.ts';
import { MillraceError, messageOf } from '../../base/errors.ts';
import { formatOf } from '../../base/format.ts';
import { rewrite } from '../../cosmos/compare-and-swap.ts';
import { throwMissing } from '../../cosmos/container-missing.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import type { Workspace } from '../../runtime/workspace.ts';

/** One run of a verb; a document of the state container. */
export interface Run {
  /** It begins with `at`. */
  readonly id: string;
  readonly pk: typeof PARTITION;
  readonly type: 'millrace.run';
  /** The operator, or the timer or job that runs it. */
  readonly actor: string;
  /** ISO 8601 UTC, as all times. */
  readonly at: string;
  /** `noun verb`, as on the command line. */
  readonly verb: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** It changes something by hand, so it stays. Absent: it goes with its run. */
  readonly kept?: true;
  /** One that stays `begun`: the process died before the end. */
  readonly outcome: 'begun' | 'done' | 'failed';
  /** Of a long run: when its process last wrote it. */
  readonly aliveAt?: string;
  readonly endedAt?: string;
  /** A summary of the result, or the error's code and message. */
  readonly result?: unknown;
  readonly ttl?: number;
}

const PARTITION = 'runs';
const ALIVE_MS = 30_000;
/** A process that has not written for this long is dead or cut off, however clocks differ by some seconds. */
export const GONE_MS = 3 * ALIVE_MS;
const TTL_S = (2 * GONE_MS) / 1_000;

export interface Noted extends Pick<Run, 'verb' | 'arguments' | 'actor'> {
  readonly clock?: Clock;
}

/** A run, as its process writes it. */
export class Running {
  readonly #state: Container;
  readonly #begun: Run;
  isKept = false;

  constructor(state: Container, { verb, arguments: given, actor, clock = systemClock }: Noted) {
    this.#state = state;
    const at = new Date(clock.now()).toISOString();
    const of = { actor, at, verb, arguments: given, outcome: 'begun' } as const;
    const id = `${at}-${randomUUID().slice(0, 8)}`;
    this.#begun = { id, pk: PARTITION, type: 'millrace.run', ...formatOf('run'), ...of };
  }

  /** Changes these fields alone, and nothing of one that has ended: a write may land late (JRN-R2). */
  async write(fields: Partial<Run>): Promise<void> {
    await rewrite(this.#state, this.#begun, (stored: Run = this.#begun) =>
      stored.outcome === 'begun' ? { ...stored, ...fields } : stored,
    );
  }

  async remove(): Promise<void> {
    await this.#state.item(this.#begun.id, PARTITION).delete();
  }
}

/**
 * Does some work, and says in the state container that it runs, for `status` and for erasures. The document is refreshed
 * while it runs and removed at its end, unless the work is `audited`; a process that dies leaves it to its time to live. It
 * is left out where it can't be written.
 */
export async function whileNoted<T>(
  state: Container,
  noted: Noted,
  work: (running: Running) => Promise<T>,
): Promise<T> {
  const { clock = systemClock } = noted;
  const running = new Running(state, noted);
  const alive = (more: Partial<Run> = {}): Promise<void> =>
    running.write({ aliveAt: new Date(clock.now()).toISOString(), ...more }).catch(ignore);
  await alive({ ttl: TTL_S });
  let writing = Promise.resolve();
  const timer = setInterval(() => {
    writing = alive();
  }, ALIVE_MS);
  timer.unref();
  try {
    return await work(running);
  } finally {
    clearInterval(timer);
    await writing;
    if (!running.isKept) await running.remove().catch(ignore);
  }
}

const ignore = (): void => undefined;

interface AuditedBy {
  readonly workspace: Pick<Workspace, 'services'>;
  readonly actor: string;
  readonly running?: Running;
}

/**
 * Runs a piece of work and records it. The record is written before the work begins, so it survives a crash, and is
 * completed afterwards.
 * @throws UsageError `container-missing` if there is no state container; and every error of the work
 */
export async function audited<T>(
  { workspace, actor, running }: AuditedBy,
  verb: string,
  given: Run['arguments'],
  work: () => Promise<T>,
): Promise<T> {
  const { state } = (await workspace.services()).global;
  const record = running?.isKept === false ? running : new Running(state, { verb, arguments: given, actor });
  record.isKept = true;
  await record.write({ verb, arguments: given, kept: true, ttl: -1 }).catch(throwMissing(state));
  const end = (outcome: Run['outcome'], result: unknown): Promise<void> =>
    record.write({ outcome, endedAt: new Date().toISOString(), result });
  try {
    const result = await work();
    await end('done', result);
    return result;
  } catch (error) {
    const code = error instanceof MillraceError ? error.code : 'unexpected';
    // The caller gets the error even if it can't be recorded.
    await end('failed', { code, message: messageOf(error) }).catch(ignore);
    throw error;
  }
}

/** The long runs that may be under way, the longest first. `withinMs`: one that was silent for longer is dead. */
export async function readRunning(
  state: Container,
  signal: AbortSignal,
  now = Date.now(),
  withinMs = GONE_MS,
): Promise<Run[]> {
  const found: Run[] = [];
  const query = "SELECT * FROM c WHERE c.outcome = 'begun' AND IS_DEFINED(c.aliveAt) ORDER BY c.id";
  const options = { partitionKey: PARTITION, anyFormat: true };
  try {
    for await (const one of fetchAll<Run>(state, query, signal, options))
      if (now - Date.parse(one.aliveAt ?? '') < withinMs) found.push(one);
  } catch (error) {
    if (failureOf(error).kind !== 'not-found') throw error;
  }
  return found;
}
