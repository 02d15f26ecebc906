// Legal holds: tenants whose blobs the storage account must keep.
import { createHash } from 'node:crypto';
import type { Container } from '@azure/cosmos';
import type { Clock } from '../base/clock.ts';
import { formatOf } from '../base/format.ts';
import { fetchAll } from '../cosmos/fetch-all.ts';
import { readItem } from '../cosmos/read-item.ts';
import { rewrite } from '../cosmos/compare-and-swap.ts';
import type { BlobStore, HoldingStore } from '../access/blob-store.ts';
import { archiveError } from './errors.ts';
import { type Period, isBlob, isShared, isTenant, placeOf } from './blobs/layout.ts';

/** Why and since when a tenant is under a hold. Unlike records of erasures it has the tenant's name: it must be found. */
export interface Hold {
  readonly tenant: string;
  readonly reason: string;
  readonly actor: string;
  /** ISO 8601 UTC. */
  readonly at: string;
  /** The erasure that has left the held blobs, by its id. The release removes them. */
  readonly erasure?: string;
}

interface Stored extends Hold {
  readonly id: string;
  readonly pk: typeof PARTITION;
  readonly type: typeof HOLD;
}

const PARTITION = 'holds';
export const HOLD = 'millrace.hold';

/** The holds of a database: a document for each tenant. A host may read one late (ASM-A3). */
export class Holds {
  readonly #state: Container;

  constructor(state: Container) {
    this.#state = state;
  }

  async of(tenant: string): Promise<Hold | undefined> {
    return readItem<Stored>(this.#state.item(idOf(tenant), PARTITION));
  }

  async all(signal: AbortSignal): Promise<Hold[]> {
    const found: Hold[] = [];
    const query = `SELECT * FROM c WHERE c.pk = '${PARTITION}'`;
    for await (const { tenant, reason, actor, at, erasure } of fetchAll<Stored>(this.#state, query, signal, {
      partitionKey: PARTITION,
    }))
      found.push({ tenant, reason, actor, at, ...(erasure !== undefined && { erasure }) });
    return found.toSorted((a, b) => (a.tenant < b.tenant ? -1 : 1));
  }

  /** Resolves when the record is durable. A tenant that has one keeps it. */
  async add(hold: Hold): Promise<void> {
    await this.#write(hold.tenant, (stored) => stored ?? { ...this.#at(hold.tenant), ...hold });
  }

  /** Notes the erasure that has left the tenant's blobs. */
  async noteErasure(tenant: string, erasure: string): Promise<void> {
    await this.#write(tenant, (stored) => (stored && stored.erasure !== erasure ? { ...stored, erasure } : stored));
  }

  async remove(tenant: string): Promise<void> {
    await this.#write(tenant, () => undefined);
  }

  #at(tenant: string): Pick<Stored, 'id' | 'pk' | 'type'> {
    return { id: idOf(tenant), pk: PARTITION, type: HOLD, ...formatOf('hold') };
  }

  async #write(tenant: string, next: (stored: Stored | undefined) => Stored | undefined): Promise<void> {
    await rewrite(this.#state, { id: idOf(tenant), pk: PARTITION }, next);
  }
}

/** A tenant may have characters that an id must not have. */
const idOf = (tenant: string): string => createHash('sha256').update(tenant).digest('hex');

/**
 * Holds a blob that was just written, if its tenant is under a hold. It reads the record after the blob was written, and
 * `holdBlobs` lists once more when no such read can miss the record. So one of the two holds the blob.
 */
export async function holdNew(
  { store, holds }: { readonly store: BlobStore & Partial<HoldingStore>; readonly holds?: Holds | undefined },
  place: Period,
  name: string,
): Promise<void> {
  if (!holds || isShared(place) || !(await holds.of(place.tenant))) return;
  await store.hold?.(name, true);
}

/**
 * Holds all blobs of a tenant. The record is durable, and the caller waits until no host misses it.
 * @throws UsageError `immutability-off`, also of a tenant without blobs: else its next sweep would be the first to fail
 */
export async function holdBlobs(
  store: HoldingStore,
  tenant: string,
  { settleMs, clock, signal }: { readonly settleMs: number; readonly clock: Clock; readonly signal: AbortSignal },
): Promise<number> {
  await holdListed(store, tenant, signal);
  await clock.sleep(settleMs, signal);
  const held = await holdListed(store, tenant, signal);
  if (held === 0 && !(await store.canHold()))
    throw archiveError(
      'immutability-off',
      'The blob container has no version-level immutability, so it could not hold the blobs that sweeps write',
    );
  return held;
}

async function holdListed(store: HoldingStore, tenant: string, signal: AbortSignal): Promise<number> {
  let held = 0;
  for await (const name of store.list('')) {
    signal.throwIfAborted();
    if (isHeldOf(name, tenant) && (await store.hold(name, true))) held += 1;
  }
  return held;
}

/** How many blobs of a tenant have a hold. */
export async function countHeld(store: HoldingStore, tenant: string): Promise<number> {
  let held = 0;
  for await (const name of store.listHeld('')) if (isHeldOf(name, tenant)) held += 1;
  return held;
}

/** Takes the hold from all blobs of a tenant, also from those that were removed under it. Returns how many. */
export async function releaseBlobs(store: HoldingStore, tenant: string, signal: AbortSignal): Promise<number> {
  let released = 0;
  for await (const name of store.listHeld('')) {
    signal.throwIfAborted();
    if (!isHeldOf(name, tenant)) continue;
    await store.hold(name, false);
    released += 1;
  }
  return released;
}

/** Removes what an erasure has left of a tenant in its own folder. Returns how many blobs went, and how many a policy keeps. */
export async function removeReleased(
  store: HoldingStore,
  tenant: string,
  signal: AbortSignal,
): Promise<{ readonly removed: number; readonly held: number }> {
  const counts = { removed: 0, held: 0 };
  for await (const name of store.listEver('')) {
    signal.throwIfAborted();
    if (isHeldOf(name, tenant)) counts[await store.remove(name)] += 1;
  }
  return counts;
}

/** In the tenant's own folder. Manifests are written again and again, so nothing holds them. */
const isHeldOf = (name: string, tenant: string): boolean => {
  const place = placeOf(name);
  return isBlob(name) && !isShared(place) && isTenant(place, tenant);
};
