import type { Clock } from '../../base/clock.ts';
import { MillraceError, abortReason } from '../../base/errors.ts';
import type { LeaseContainer } from '../../feed/leases/lease-container.ts';
import type { Screen } from '../screen.ts';
import { OPERATIONS_ERRORS } from '../errors.ts';

export interface QuietOptions {
  readonly prefixes: readonly string[];
  readonly forMs: number;
  /** The text for the screen while waiting. */
  readonly what: string;
  readonly clock: Clock;
  readonly screen: Pick<Screen, 'progress'>;
  readonly signal: AbortSignal;
  /** What an error reports about writes that were already made. */
  readonly sofar: string;
}

interface Seen {
  readonly etag: string;
  readonly owner: string | null;
}

/**
 * A host wrote one of the leases, so it runs. It keeps its position in memory, and overwrites every other position in the
 * lease (ASM-A8).
 */
export class HostRuns extends MillraceError<'lease-host-running'> {
  constructor(lease: string, owner: string | null, sofar: string, cause?: unknown) {
    const message = `${owner === null ? 'A host' : `Host ${owner}`} wrote lease ${lease} just now: it is not stopped. ${sofar}`;
    super('lease-host-running', message, { ...OPERATIONS_ERRORS['lease-host-running'], cause });
  }
}

/**
 * Resolves once no lease of the prefixes was written for `forMs`, measured here. The hosts' clocks don't matter.
 * @throws HostRuns as soon as a host writes one
 */
export async function untilLeasesRest(container: LeaseContainer, options: QuietOptions): Promise<void> {
  const { prefixes, forMs, what, clock, screen, signal, sofar } = options;
  const look = async (): Promise<Map<string, Seen>> => {
    const found = new Map<string, Seen>();
    for (const prefix of prefixes) {
      for (const raw of await container.query(`${prefix}..`)) {
        const owner = typeof raw['Owner'] === 'string' ? raw['Owner'] : null;
        found.set(`${String(raw['id'])} ${String(raw['partitionKey'])}`, { etag: String(raw['_etag']), owner });
      }
    }
    return found;
  };
  const first = await look();
  const start = clock.monotonic();
  const stepMs = Math.min(5_000, forMs / 8);
  for (let passed = 0; passed < forMs; passed = clock.monotonic() - start) {
    screen.progress(what, Math.floor(passed / 1000), Math.ceil(forMs / 1000));
    await clock.sleep(Math.min(stepMs, forMs - passed), signal).catch((error: unknown) => {
      throw signal.aborted ? abortReason(signal) : error;
    });
    const now = await look();
    for (const key of new Set([...first.keys(), ...now.keys()])) {
      if (first.get(key)?.etag === now.get(key)?.etag) continue;
      const id = key.slice(0, key.lastIndexOf(' '));
      throw new HostRuns(id, now.get(key)?.owner ?? first.get(key)?.owner ?? null, sofar);
    }
  }
}

/** The number of queries for each prefix while waiting, for estimates. */
export const looksDuring = (forMs: number): number => 1 + Math.ceil(forMs / Math.max(1, Math.min(5_000, forMs / 8)));
