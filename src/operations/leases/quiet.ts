import type { Clock } from '../../base/clock.ts';
import { MillraceError, abortReason } from '../../base/errors.ts';
import type { LeaseContainer } from '../../feed/leases/lease-container.ts';
import type { Screen } from '../screen.ts';

export interface QuietOptions {
  readonly prefixes: readonly string[];
  readonly forMs: number;
  /** What is waited for, for the screen. */
  readonly what: string;
  readonly clock: Clock;
  readonly screen: Pick<Screen, 'progress'>;
  readonly signal: AbortSignal;
  /** What an error says of what has been done already. */
  readonly sofar: string;
}

interface Seen {
  readonly etag: string;
  readonly owner: string | null;
}

/** A host wrote one of the leases: it runs, has its position in memory, and writes it over whatever is put there (A8). */
export class HostRuns extends MillraceError<'lease-host-running'> {
  constructor(lease: string, owner: string | null, sofar: string, cause?: unknown) {
    super('lease-host-running', `${owner ?? 'A host'} wrote lease ${lease} just now: its host runs. ${sofar}`, {
      cause,
      mend: 'Disable the function, or stop every instance of the service (scaled to zero is not stopped: it wakes up), and say this again.',
    });
  }
}

/**
 * Resolves once no lease of the prefixes was written for so long, as seen from here. Hosts' clocks play no part.
 * @throws HostRuns as soon as one was
 */
export async function untilQuiet(container: LeaseContainer, options: QuietOptions): Promise<void> {
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

/** How many requests waiting takes, for estimates: each is a query of one prefix. */
export const looksDuring = (forMs: number): number => 1 + Math.ceil(forMs / Math.max(1, Math.min(5_000, forMs / 8)));
