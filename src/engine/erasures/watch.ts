import { type Clock, systemClock } from '../../base/clock.ts';
import { VIEWS_REFRESH_MS } from '../views/view-control.ts';
import { type ErasureRecord, type ErasureRecords, erasing } from './record.ts';

/** The record of a tenant, by one reading. Undefined: it isn't erased, or the change has no tenant. */
export type Erased = (tenant: string | undefined) => ErasureRecord | undefined;

export interface ErasureWatchOptions {
  /** How long it uses what it has read, milliseconds. Default VIEWS_REFRESH_MS. */
  readonly refreshMs?: number | undefined;
  readonly clock?: Clock | undefined;
}

/**
 * Which tenants are erased, as a process reads it before each page. It never answers by a reading that is older than its
 * refresh: a process that can't read the records applies nothing (ERASE-S2).
 */
export class ErasureWatch {
  readonly #records: Pick<ErasureRecords, 'read'>;
  readonly #refreshMs: number;
  readonly #clock: Clock;
  #seen = '';
  #known: { readonly at: number; readonly reading: Promise<Erased> } | undefined;

  constructor(records: Pick<ErasureRecords, 'read'>, { refreshMs, clock }: ErasureWatchOptions = {}) {
    this.#records = records;
    this.#refreshMs = refreshMs ?? VIEWS_REFRESH_MS;
    this.#clock = clock ?? systemClock;
  }

  /** Which erasures the last reading had: a tenant that comes back has lost what was derived from it. */
  get seen(): string {
    return this.#seen;
  }

  current(): Promise<Erased> {
    const now = this.#clock.monotonic();
    if (this.#known && now - this.#known.at < this.#refreshMs) return this.#known.reading;
    // Its age counts from the request: the answer is not older than that, apart from the read lag.
    const reading = this.#records.read().then((records) => {
      this.#seen = records.map(({ id }) => id).join();
      return byTenant(records);
    });
    const known = { at: now, reading };
    this.#known = known;
    known.reading.catch(() => {
      if (this.#known === known) this.#known = undefined;
    });
    return known.reading;
  }
}

function byTenant(records: readonly ErasureRecord[]): Erased {
  const known = new Map<string, ErasureRecord | undefined>();
  return (tenant) => {
    if (tenant === undefined || records.length === 0) return undefined;
    if (!known.has(tenant)) known.set(tenant, erasing(records, tenant));
    return known.get(tenant);
  };
}
