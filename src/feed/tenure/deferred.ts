import type { Clock } from '../../base/clock.ts';
import type { FeedRange } from '../../cosmos/ranges.ts';
import type { Change } from '../reading/change.ts';
import { lsnOf } from '../reading/position.ts';
import type { Fence } from './fence.ts';
import type { LeaseTenure } from './lease-tenure.ts';
import type { Window } from './window.ts';

/** The changes of a page. */
export interface Divided {
  /** Those that go into the window. */
  readonly rest: readonly Change[];
  /** Those that are to be deferred, by tenant. */
  readonly over: ReadonlyMap<string, readonly Change[]>;
}

/** The changes of a range that are deferred, so that those of other tenants go on (docs/SPEC-tenants.md). */
export interface Deferred {
  /** Tenants of which changes are deferred. */
  readonly tenants: readonly string[];
  /**
   * Chooses the changes of tenants that are over their share, or have changes deferred.
   * @param held the number of unacknowledged changes in the window, by tenant
   * @param most with this many, and those of the page, a tenant may be over its share
   */
  divide(changes: readonly Change[], held: ReadonlyMap<string, number>, most: number): Divided;
  /** When it resolves, the watermark may pass these changes of the tenant. */
  defer(tenant: string, changes: readonly Change[]): Promise<void>;
  /** Applies the next changes of a tenant. `position`: an lsn; changes above it must wait (`later`). */
  drain(tenant: string, position: number, fence: (readAt: number) => Fence): Promise<'drained' | 'later' | 'none'>;
}

/** A window that begins: what it needs to take over what earlier ones have deferred. */
export interface DeferredWindow {
  readonly range: FeedRange;
  /** Unique for each window. */
  readonly token: string;
  /** The lsn after which the window reads. */
  readonly position: number;
  /** Refuses once the window is given up, or the lease is lost. To be asked before each request. */
  readonly fence: Fence;
  /** Resolves when a write has confirmed that this tenure has the lease, and the window goes on. @throws LeaseLost */
  confirm(): Promise<void>;
}

export type OpenDeferred = (window: DeferredWindow) => Promise<Deferred>;

export interface DeferredOfWindowOptions {
  readonly window: Window;
  readonly tenure: LeaseTenure;
  /** Calls the work when the tenure may begin a handler, and gives the lease up if it makes no progress. */
  readonly begin: (work: () => Promise<void>) => Promise<void>;
  /** Pause after which a change above the watermark is looked at again. */
  readonly pollMs: number;
  readonly clock: Clock;
  /** Aborted when the window ends. */
  readonly signal: AbortSignal;
}

/** Divides the pages of one window, and drains what is deferred in the window's places, at its tenant's turn. */
export class DeferredOfWindow {
  readonly #deferred: Deferred;
  readonly #options: DeferredOfWindowOptions;
  readonly #draining = new Set<string>();

  constructor(deferred: Deferred, options: DeferredOfWindowOptions) {
    this.#deferred = deferred;
    this.#options = options;
    this.#drainAll();
  }

  /** True: changes are deferred that this window hasn't drained yet. */
  get busy(): boolean {
    return this.#deferred.tenants.length > 0;
  }

  /** Half of the window is left for tenants that keep to their share. */
  divide(changes: readonly Change[]): Divided {
    const { window } = this.#options;
    return this.#deferred.divide(changes, window.held(), window.half);
  }

  /** When it resolves, the watermark may pass what is over. */
  async defer(over: Divided['over']): Promise<void> {
    for (const [tenant, changes] of over) await this.#deferred.defer(tenant, changes);
    this.#drainAll();
  }

  #drainAll(): void {
    for (const tenant of this.#deferred.tenants) if (!this.#draining.has(tenant)) void this.#drain(tenant);
  }

  /** Never rejects: a failure fails the window. */
  async #drain(tenant: string): Promise<void> {
    const { window, tenure, begin, pollMs, clock, signal } = this.#options;
    this.#draining.add(tenant);
    while (this.#deferred.tenants.includes(tenant) && !signal.aborted) {
      let outcome = 'later';
      const step = async (): Promise<void> => {
        outcome = await this.#deferred.drain(tenant, lsnOf(window.position), (readAt) => tenure.fence({ readAt }));
      };
      if (!(await window.turn(tenant, () => begin(step)))) break;
      if (outcome === 'later') await clock.sleep(pollMs, signal).catch(() => undefined);
    }
    this.#draining.delete(tenant);
  }
}
