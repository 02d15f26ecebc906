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
  /** Those that are to be set aside, by tenant. */
  readonly over: ReadonlyMap<string, readonly Change[]>;
}

/** The changes of a range that are set aside, so that those of other tenants go on (docs/SPEC-tenants.md). */
export interface Aside {
  /** Tenants of which changes are set aside. */
  readonly tenants: readonly string[];
  /**
   * Chooses the changes of tenants that are over their share, or have changes set aside.
   * @param held the number of unacknowledged changes in the window, by tenant
   * @param most with this many, and those of the page, a tenant may be over its share
   */
  divide(changes: readonly Change[], held: ReadonlyMap<string, number>, most: number): Divided;
  /** When it resolves, the watermark may pass these changes of the tenant. */
  setAside(tenant: string, changes: readonly Change[]): Promise<void>;
  /** Applies the next changes of a tenant. `position`: an lsn; changes above it must wait (`later`). */
  drain(tenant: string, position: number, fence: (readAt: number) => Fence): Promise<'drained' | 'later' | 'none'>;
}

/** A window that begins: what it needs to take over what earlier ones have set aside. */
export interface AsideWindow {
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

export type OpenAside = (window: AsideWindow) => Promise<Aside>;

export interface WindowAsideOptions {
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

/** Divides the pages of one window, and drains what is set aside in the window's places, at its tenant's turn. */
export class WindowAside {
  readonly #aside: Aside;
  readonly #options: WindowAsideOptions;
  readonly #draining = new Set<string>();

  constructor(aside: Aside, options: WindowAsideOptions) {
    this.#aside = aside;
    this.#options = options;
    this.#drainAll();
  }

  /** True: changes are set aside that this window hasn't drained yet. */
  get busy(): boolean {
    return this.#aside.tenants.length > 0;
  }

  /** Half of the window is left for tenants that keep to their share. */
  divide(changes: readonly Change[]): Divided {
    const { window } = this.#options;
    return this.#aside.divide(changes, window.held(), window.half);
  }

  /** When it resolves, the watermark may pass what is over. */
  async setAside(over: Divided['over']): Promise<void> {
    for (const [tenant, changes] of over) await this.#aside.setAside(tenant, changes);
    this.#drainAll();
  }

  #drainAll(): void {
    for (const tenant of this.#aside.tenants) if (!this.#draining.has(tenant)) void this.#drain(tenant);
  }

  /** Never rejects: a failure fails the window. */
  async #drain(tenant: string): Promise<void> {
    const { window, tenure, begin, pollMs, clock, signal } = this.#options;
    this.#draining.add(tenant);
    while (this.#aside.tenants.includes(tenant) && !signal.aborted) {
      let outcome = 'later';
      const step = async (): Promise<void> => {
        outcome = await this.#aside.drain(tenant, lsnOf(window.position), (readAt) => tenure.fence({ readAt }));
      };
      if (!(await window.turn(tenant, () => begin(step)))) break;
      if (outcome === 'later') await clock.sleep(pollMs, signal).catch(() => undefined);
    }
    this.#draining.delete(tenant);
  }
}
