import { randomUUID } from 'node:crypto';
import type { Container } from '@azure/cosmos';
import { type Clock, systemClock } from '../base/clock.ts';
import { formatOf } from '../base/format.ts';
import { fetchAll } from '../cosmos/fetch-all.ts';
import { failureOf } from '../cosmos/failure.ts';

/** An operation that works through whole containers and runs now; a document of the state container. */
export interface Running {
  readonly id: string;
  readonly pk: typeof PARTITION;
  readonly type: 'millrace.running';
  /** `noun verb`, as on the command line. */
  readonly verb: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The operator, or the timer or job that runs it. */
  readonly actor: string;
  /** ISO 8601 UTC, as `aliveAt`. */
  readonly since: string;
  readonly aliveAt: string;
  readonly ttl: number;
}

const PARTITION = 'running';
const ALIVE_MS = 30_000;
/** A process that has not written for this long is dead or cut off, however clocks differ by some seconds. */
const GONE_MS = 3 * ALIVE_MS;

export interface Noted extends Pick<Running, 'verb' | 'arguments' | 'actor'> {
  readonly clock?: Clock;
}

/**
 * Does some work, and says in the state container that it runs, for `status`. The document is refreshed while it runs and
 * removed at its end; a process that dies leaves it to its time to live. Nothing depends on it, so it is left out where it
 * can't be written.
 */
export async function whileNoted<T>(
  state: Container,
  { clock = systemClock, ...of }: Noted,
  work: () => Promise<T>,
): Promise<T> {
  const since = new Date(clock.now()).toISOString();
  const id = randomUUID();
  const write = async (): Promise<void> => {
    const ttl = Math.ceil((2 * GONE_MS) / 1_000);
    const aliveAt = new Date(clock.now()).toISOString();
    const document: Running = {
      id,
      pk: PARTITION,
      type: 'millrace.running',
      ...formatOf('running'),
      ...of,
      since,
      aliveAt,
      ttl,
    };
    await state.items.upsert(document).catch(() => undefined);
  };
  await write();
  let writing: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    writing = write();
  }, ALIVE_MS);
  timer.unref();
  try {
    return await work();
  } finally {
    clearInterval(timer);
    await writing;
    await state
      .item(id, PARTITION)
      .delete()
      .catch(() => undefined);
  }
}

/** The operations that run now, the longest first. */
export async function readRunning(state: Container, signal: AbortSignal, now = Date.now()): Promise<Running[]> {
  const found: Running[] = [];
  const query = `SELECT * FROM c WHERE c.pk = '${PARTITION}'`;
  try {
    const options = { partitionKey: PARTITION, anyFormat: true };
    for await (const one of fetchAll<Running>(state, query, signal, options))
      if (now - Date.parse(one.aliveAt) < GONE_MS) found.push(one);
  } catch (error) {
    if (failureOf(error).kind !== 'not-found') throw error;
  }
  return found.toSorted((a, b) => (a.since < b.since ? -1 : 1));
}
