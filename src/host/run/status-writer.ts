import { type Clock, systemClock } from '../../base/clock.ts';
import { MillraceError, messageOf } from '../../base/errors.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { type HostStatus, STATUS_KEY, STATUS_TTL } from '../../operations/host-status.ts';
import type { Services } from '../../runtime/workspace.ts';
import type { App } from '../../runtime/processor-host.ts';
import { progressOf } from './progress.ts';

export interface StatusWriterOptions {
  readonly services: Pick<Services, 'state'>;
  readonly host: string;
  readonly app: Pick<App, 'stats' | 'sources'>;
  readonly clock?: Clock;
}

const EVERY_MS = 30_000;

/**
 * Writes now and then what this host is doing, for `millrace status` elsewhere: one upsert, about 10 RU, each half minute.
 * A write that fails is left out: nothing depends on it. The returned function ends that, and takes
 * it back: what stays for a day is the last word of a host that died.
 */
export function startStatusWriter({
  services,
  host,
  app,
  clock = systemClock,
}: StatusWriterOptions): () => Promise<void> {
  const ended = new AbortController();
  const startedAt = new Date(clock.now()).toISOString();
  const write = async (): Promise<void> => {
    const document = {
      ...statusOf(app, host, startedAt, clock.now()),
      pk: STATUS_KEY,
      type: 'millrace.status',
      ttl: STATUS_TTL,
    };
    await withRetry(() => services.state.items.upsert(document), { reads: false, withinMs: EVERY_MS / 2 }).catch(
      () => undefined,
    );
  };
  const writing = (async () => {
    while (!ended.signal.aborted) {
      await write();
      await clock.sleep(EVERY_MS, ended.signal).catch(() => undefined);
    }
  })();
  return async () => {
    ended.abort();
    await writing;
    await withRetry(() => services.state.item(host, STATUS_KEY).delete(), { reads: true, withinMs: 1_000 }).catch(
      () => undefined,
    );
  };
}

function statusOf(app: Pick<App, 'stats' | 'sources'>, host: string, startedAt: string, now: number): HostStatus {
  return {
    id: host,
    at: new Date(now).toISOString(),
    startedAt,
    projections: progressOf(app, now).map(({ projection, changes, ruPerChange, lag, parked }) => ({
      projection,
      changes,
      ruPerChange,
      lag,
      parked,
    })),
    sources: app.sources().map(({ container, leases, known }) => {
      const failed = leases.find(({ failure }) => failure !== undefined);
      return { container, leases: leases.length, known, ...(failed && { failure: sayFailure(failed.failure) }) };
    }),
  };
}

const sayFailure = (error: unknown): string =>
  error instanceof MillraceError && error.mend !== undefined
    ? `${messageOf(error)}. ${error.mend}`
    : (messageOf(error).split('\n')[0] ?? '');
