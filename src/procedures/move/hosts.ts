// What a move owes the hosts that read both shards: that each tenure has read an epoch, and that each has acknowledged
// what is written.
import type { Container } from '@azure/cosmos';
import type { Clock } from '../../base/clock.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { MillraceError } from '../../base/errors.ts';
import { readChanges } from '../../feed/processor/read-changes.ts';
import type { LeaseStore } from '../../feed/leases/lease.ts';
import { type ReadersOptions, leaseReadersOf, renewTenures } from '../../feed/leases/readers.ts';
import { lsnOf, overlaps } from '../../feed/reading/position.ts';
import type { FeedRange } from '../../cosmos/ranges.ts';
import { operationsError } from '../errors.ts';
import { type Written, isDeferred } from './deferred.ts';
import { type OwnLeases, ownLeases } from './behind.ts';
import type { MovedContainer } from './side.ts';

/** What the hosts of a processor have not applied yet. */
interface Behind {
  readonly leases: readonly string[];
  /** Their positions have passed changes that they will apply later. */
  readonly deferred: boolean;
}

const POLL_MS = 250;

export interface HostsOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** How long to wait for hosts, milliseconds. */
  readonly patienceMs: number;
  /** The state container of the hosts. */
  readonly state: Container;
  /** Called while it waits. */
  readonly waiting: (text: string) => Promise<void>;
}

/** The hosts that read one container of a shard, of all processors. */
export class MoveHosts {
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
   * Resolves when every processor has acknowledged and applied what the feed shows of a part of the container now.
   * @throws MillraceError `move-hosts-behind`
   */
  async haveAcknowledged(of: MovedContainer): Promise<void> {
    const { clock, signal, patienceMs, waiting } = this.#options;
    const stores = await this.#stores();
    if (stores.length === 0) return;
    const written = await this.#written(of.part.ranges);
    const { hostname } = new URL(this.#of.endpoint);
    for (const since = clock.monotonic(); ; await clock.sleep(POLL_MS, signal)) {
      const { leases, deferred } = await this.#behind(stores, of, written);
      if (leases.length === 0 && !deferred) return;
      const { id, database } = this.#of.monitored;
      const what = `${deferred ? 'changes that are deferred' : leases.join(', ')} of ${database.id}/${id}`;
      if (clock.monotonic() - since > patienceMs) throw hostsBehind(ownLeases(leases, hostname), what);
      await waiting(`${what}${whyOf(ownLeases(leases, hostname))}`);
    }
  }

  async #behind(stores: readonly LeaseStore[], of: MovedContainer, written: readonly Written[]): Promise<Behind> {
    const leases = (await Promise.all(stores.map((store) => explained(store.list(), this.#of.monitored)))).flat();
    const behind = leases.filter(({ range, position }) =>
      written.some((one) => overlaps(one.range, range) && lsnOf(position) < one.lsn),
    );
    if (behind.length > 0) return { leases: behind.map(({ id }) => id), deferred: false };
    // After the positions: what a position has passed was applied, parked, or deferred before (TEN-F4).
    const { state, signal } = this.#options;
    const pipelines = new Set(leases.map(({ id }) => id.slice(0, id.indexOf('.'))));
    return { leases: [], deferred: await isDeferred({ state, pipelines, of, written, signal }) };
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
    return leaseReadersOf(this.#of);
  }
}

const whyOf = (own: readonly OwnLeases[]): string =>
  own.length === 0 ? '' : `.${own.map(({ projection, why }) => ` ${projection} ${why}.`).join('')}`;

const hintOf = (own: readonly OwnLeases[], then: string): { readonly hint?: string } =>
  own.length === 0
    ? {}
    : { hint: `${own.map(({ remedy }) => `${remedy}.`).join(' ')} Then run the command again${then}.` };

const hostsBehind = (own: readonly OwnLeases[], what: string): MillraceError =>
  operationsError(
    'move-hosts-behind',
    `Hosts are behind what the move waits for: ${what}${whyOf(own)}`,
    hintOf(own, ': it resumes'),
  );

/**
 * Refuses what the move would wait for in vain.
 * @throws UsageError `all-versions-feed`; MillraceError `move-version-staged`
 */
export async function assertReaders(of: ReadersOptions): Promise<void> {
  const stores = await leaseReadersOf(of);
  const listed = await Promise.all(stores.map((store) => explained(store.list(), of.monitored)));
  const ids = listed.flat().map(({ id }) => id);
  const staged = ownLeases(ids, new URL(of.endpoint).hostname).filter(({ isStaged }) => isStaged);
  const [first] = staged;
  if (!first) return;
  const { id, database } = of.monitored;
  throw operationsError(
    'move-version-staged',
    `Hosts of ${first.projection} would have to read the copies in ${database.id}/${id}, but it ${first.why}`,
    hintOf(staged, ''),
  );
}

async function explained<T>(work: Promise<T>, { id, database }: Container): Promise<T> {
  return work.catch((error: unknown) => {
    if (!(error instanceof MillraceError && error.code === 'lease-mode-mismatch')) throw error;
    throw sharedError('all-versions-feed', `A processor reads all versions of ${database.id}/${id}`, {
      hint: 'Keep the keys where they are, or stop that processor and delete its leases.',
      cause: error,
    });
  });
}
