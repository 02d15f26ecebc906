// What a move owes the hosts that read both shards: that each tenure has read an epoch, and that each has acknowledged
// what is written.
import type { Container } from '@azure/cosmos';
import type { Clock } from '../../../base/clock.ts';
import { MillraceError } from '../../../base/errors.ts';
import { readChanges } from '../../../feed/processor/read-changes.ts';
import type { LeaseStore } from '../../../feed/leases/lease.ts';
import { type ReadersOptions, readersOf, renewTenures } from '../../../feed/leases/readers.ts';
import { lsnOf, overlaps } from '../../../feed/reading/position.ts';
import type { FeedRange } from '../../../cosmos/ranges.ts';
import { shardVerbsError } from '../errors.ts';
import { type OwnLeases, ownLeases } from './behind.ts';

/** Up to where a range is written. */
interface Written {
  readonly range: FeedRange;
  readonly lsn: number;
}

const POLL_MS = 250;

export interface HostsOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** How long to wait for hosts, milliseconds. */
  readonly patienceMs: number;
  /** Called while it waits. */
  readonly waiting: (text: string) => Promise<void>;
}

/** The hosts that read one container of a shard, of all processors. */
export class Hosts {
  readonly #of: ReadersOptions;
  readonly #options: HostsOptions;

  constructor(of: ReadersOptions, options: HostsOptions) {
    this.#of = of;
    this.#options = options;
  }

  /** Resolves when no tenure runs that has not read the epochs as they are now. */
  async haveReadEpochs(): Promise<void> {
    for (const store of await this.#stores()) await explained(renewTenures(store), this.#of.monitored);
  }

  /**
   * Resolves when every processor has acknowledged what the feed shows of a part of the container now.
   * @throws MillraceError `move-hosts-behind`
   */
  async haveAcknowledged(ranges: readonly FeedRange[]): Promise<void> {
    const { clock, signal, patienceMs, waiting } = this.#options;
    const stores = await this.#stores();
    if (stores.length === 0) return;
    const written = await this.#written(ranges);
    const { hostname } = new URL(this.#of.endpoint);
    for (const since = clock.monotonic(); ; await clock.sleep(POLL_MS, signal)) {
      const behind = await this.#behind(stores, written);
      if (behind.length === 0) return;
      const { id, database } = this.#of.monitored;
      const what = `${behind.join(', ')} of ${database.id}/${id}`;
      if (clock.monotonic() - since > patienceMs) throw hostsBehind(ownLeases(behind, hostname), what);
      await waiting(`${what}${whyOf(ownLeases(behind, hostname))}`);
    }
  }

  async #behind(stores: readonly LeaseStore[], written: readonly Written[]): Promise<string[]> {
    const leases = await Promise.all(stores.map((store) => explained(store.list(), this.#of.monitored)));
    return leases
      .flat()
      .filter(({ range, position }) => written.some((one) => overlaps(one.range, range) && lsnOf(position) < one.lsn))
      .map(({ id }) => id);
  }

  /** Where the last change of each range is. */
  async #written(ranges: readonly FeedRange[]): Promise<Written[]> {
    const found = new Map<string, Written>();
    for await (const { changes, range } of readChanges(this.#of.monitored, { ranges, signal: this.#options.signal })) {
      const lsn = Math.max(...changes.map(({ version }) => version.lsn));
      found.set(range.min, { range, lsn: Math.max(lsn, found.get(range.min)?.lsn ?? 0) });
    }
    return [...found.values()];
  }

  #stores(): Promise<LeaseStore[]> {
    return readersOf(this.#of);
  }
}

const whyOf = (own: readonly OwnLeases[]): string =>
  own.length === 0 ? '' : `.${own.map(({ projection, why }) => ` ${projection} ${why}.`).join('')}`;

const hintOf = (own: readonly OwnLeases[], then: string): { readonly hint?: string } =>
  own.length === 0
    ? {}
    : { hint: `${own.map(({ remedy }) => `${remedy}.`).join(' ')} Then run the command again${then}.` };

const hostsBehind = (own: readonly OwnLeases[], what: string): MillraceError =>
  shardVerbsError(
    'move-hosts-behind',
    `These leases are behind what the move waits for: ${what}${whyOf(own)}`,
    hintOf(own, ': it resumes'),
  );

/**
 * Refuses what the move would wait for in vain.
 * @throws UsageError `move-all-versions`; MillraceError `move-version-staged`
 */
export async function assertReaders(of: ReadersOptions): Promise<void> {
  const stores = await readersOf(of);
  const listed = await Promise.all(stores.map((store) => explained(store.list(), of.monitored)));
  const ids = listed.flat().map(({ id }) => id);
  const staged = ownLeases(ids, new URL(of.endpoint).hostname).filter(({ isStaged }) => isStaged);
  const [first] = staged;
  if (!first) return;
  const { id, database } = of.monitored;
  throw shardVerbsError(
    'move-version-staged',
    `Hosts of ${first.projection} would have to read the copies in ${database.id}/${id}, but it ${first.why}`,
    hintOf(staged, ''),
  );
}

async function explained<T>(work: Promise<T>, { id, database }: Container): Promise<T> {
  return work.catch((error: unknown) => {
    if (!(error instanceof MillraceError && error.code === 'lease-mode-mismatch')) throw error;
    throw shardVerbsError('move-all-versions', `A processor reads all versions of ${database.id}/${id}`, {
      cause: error,
    });
  });
}
