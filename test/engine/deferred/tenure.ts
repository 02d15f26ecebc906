// One window of one tenure in the world of sim.ts, with the real queues. Variants take a part of the protocol out.
import { DeferredQueues } from '../../../src/engine/deferred/deferred.ts';
import type { Register, DeferredChange } from '../../../src/engine/deferred/documents.ts';
import { drainNext } from '../../../src/engine/deferred/drain.ts';
import type { DeferredStore, Stored, DeferredWrite } from '../../../src/engine/deferred/store.ts';
import type { Change, Key } from '../../../src/feed/reading/change.ts';
import { type Actor, HASHES, type Lease, type World, changeOf, isAfter } from './sim.ts';

export const VARIANTS = [
  'applies what was deferred',
  'later changes go the usual way',
  'removes before it applies',
  'passes before it is durable',
  'removes a queue blindly',
  'drains above the watermark',
  'takes all of a closed queue',
  'makes a queue after it was replaced',
  'binds a queue for other ranges too',
  'claims without its lease',
] as const;
export type Variant = (typeof VARIANTS)[number] | undefined;

/** Changes that are read and not acknowledged, at most. */
const MOST = 6;

export class Tenure implements Actor {
  readonly token: string;
  readonly lease: Lease;
  dead = false;
  sleepsUntil = 0;
  /** The host knows that it has lost the lease: it begins nothing more. */
  over = false;
  drained = 0;
  readonly #world: World;
  readonly #variant: Variant;
  readonly #unacknowledged = new Set<Change>();
  readonly #lanes = new Map<string, Promise<void>>();
  #etag: number;
  #epoch: number;
  #read: number;
  #calm = false;

  constructor(world: World, lease: Lease, token: string, variant: Variant) {
    this.token = token;
    this.#world = world;
    this.lease = lease;
    this.#variant = variant;
    lease.etag += 1;
    lease.owner = token;
    this.#etag = lease.etag;
    this.#epoch = world.epoch;
    this.#read = lease.position;
  }

  /** Defers nothing more by its share. */
  calm(): void {
    this.#calm = true;
  }

  async run(): Promise<void> {
    const hashOf = (key: Key): string => HASHES[key[0] as string]!;
    const { min, max } = this.lease;
    const confirm = (): Promise<void> => this.#confirm();
    const options = { store: this.#store(), range: { min, max }, token: this.token, hashOf, confirm };
    try {
      const deferred = await DeferredQueues.open(options, this.#read);
      await Promise.all([this.#reads(deferred), this.#drains(deferred), this.#checkpoints()]);
    } catch {
      // An answer was lost, or another tenure has the range: the page is given up, and read again by the next window.
      this.over = true;
    }
  }

  /** A conditional write of the lease. */
  #confirm(): Promise<void> {
    if (this.#variant === 'claims without its lease') return Promise.resolve();
    return this.#op(() => {
      if (this.lease.etag !== this.#etag) throw new Error('the lease is lost');
      this.#etag = this.lease.etag += 1;
    });
  }

  async #reads(deferred: DeferredQueues): Promise<void> {
    const { random } = this.#world;
    while (!this.over) {
      const page = await this.#op(() => this.#world.page(this.lease, this.#read, 1 + random.int(4), this.#epoch));
      while (this.#unacknowledged.size >= MOST && !this.over) await this.#op(() => undefined);
      for (const change of page.changes) this.#unacknowledged.add(change);
      const tenants = new Set(page.changes.flatMap(({ tenant }) => tenant ?? []));
      const over = new Set([...tenants].filter((tenant) => this.#defers(deferred, tenant)));
      for (const tenant of over) {
        const some = page.changes.filter((change) => change.tenant === tenant);
        const stored = deferred.defer(tenant, some);
        if (this.#variant === 'passes before it is durable') stored.catch(() => (this.over = true));
        else await stored;
        for (const change of some) this.#unacknowledged.delete(change);
      }
      for (const change of page.changes) if (!over.has(change.tenant ?? '')) this.#offer(change);
      this.#read = page.next;
    }
  }

  #defers(deferred: DeferredQueues, tenant: string): boolean {
    const { random } = this.#world;
    const over = !this.#calm && random.chance(tenant === 'flood' ? 0.3 : 0.05);
    if (this.#variant === 'later changes go the usual way') return over;
    return over || deferred.holds(tenant);
  }

  /** Changes of one key are applied one after the other. */
  #offer(change: Change): void {
    const key = change.key[0] as string;
    this.#lanes.set(key, this.#after(this.#lanes.get(key), change));
  }

  async #after(before: Promise<void> | undefined, change: Change): Promise<void> {
    await before;
    await this.#apply(change, undefined);
    this.#unacknowledged.delete(change);
  }

  /** An effect that compares no versions, as an event, and one that does, as a document. */
  async #apply(change: Change, begun: number | undefined): Promise<void> {
    const world = this.#world;
    // Some take long.
    for (let left = world.random.pick([0, 0, 0, 0, 3, 10]); left > 0; left--) await this.#op(() => undefined);
    await this.#op(() => world.note(change, this.token));
    for (let written = false; !written;) {
      const before = await this.#op(() => world.copies.get(change.id));
      if (before && !isAfter(change.version, before.version)) return;
      const value = change.op === 'delete' ? undefined : (change.doc?.['value'] as number);
      written = await this.#op(() => {
        if (world.copies.get(change.id) !== before) return false;
        world.copy(change, value, begun);
        return true;
      });
    }
  }

  async #drains(deferred: DeferredQueues): Promise<void> {
    while (!this.over) {
      await this.#op(() => undefined);
      for (const tenant of deferred.tenants) {
        let begun = 0;
        const again = (item: DeferredChange): Promise<Change | undefined> => {
          begun = this.#world.now;
          return this.#again(item);
        };
        const apply = async (changes: readonly Change[]): Promise<void> => {
          for (const change of changes) await this.#apply(change, begun);
        };
        const position = this.#variant === 'drains above the watermark' ? Infinity : this.#watermark();
        const early = this.#variant === 'removes before it applies';
        const own = early ? await earlier(deferred, tenant, position) : deferred;
        if ((await drainNext(own, tenant, position, { again, apply })) === 'drained') this.drained += 1;
      }
    }
  }

  /** What the source has now of a change that was deferred. Its replicas don't lag: `again` waits the lag out. */
  async #again({ id, key, version, ...item }: DeferredChange): Promise<Change | undefined> {
    const world = this.#world;
    if (this.#variant === 'applies what was deferred')
      return this.#op(() => changeOf({ id, key: key[0] as string, lsn: version.lsn, value: -1 }, version.epoch));
    const now = await this.#op(() => world.documents.get(id));
    if (now?.lsn === version.lsn) return changeOf(now, version.epoch);
    if (now) return undefined;
    const gone = { ...version, lsn: version.lsn + 0.5, etag: `${version.etag} gone` };
    return { ...item, key, id, version: gone, op: 'delete' };
  }

  async #checkpoints(): Promise<void> {
    while (!this.over) {
      await this.#op(() => {
        // Decided when the write arrives, by what the host knows then: an older position would only be lower.
        const position = this.#watermark();
        if (this.lease.etag !== this.#etag) return void (this.over = true);
        if (position <= this.lease.position) return undefined;
        this.lease.etag += 1;
        this.#etag = this.lease.etag;
        this.lease.position = position;
        return this.#world.passed(this.lease);
      });
      await this.#op(() => undefined);
    }
  }

  #watermark(): number {
    const open = [...this.#unacknowledged].map(({ version }) => version.lsn);
    return Math.min(this.#read, ...open.map((lsn) => lsn - 1));
  }

  #op<T>(effect: () => T): Promise<T> {
    return this.#world.op(this, effect);
  }

  /** The state container, as the variant uses it. */
  #store(): DeferredStore {
    const store = this.#world.storeOf(this, () => !this.#calm);
    const isHead = (write: DeferredWrite): boolean => write.id.startsWith('head|');
    const sets = (write: DeferredWrite, field: string): boolean =>
      isHead(write) && write.kind === 'replace' && field in write.body;
    const changed = (write: DeferredWrite): DeferredWrite[] => {
      if (this.#variant === 'removes a queue blindly' && write.kind === 'remove' && isHead(write))
        return [{ ...write, ifMatch: '*' }];
      if (this.#variant === 'takes all of a closed queue' && sets(write, 'bounds') && write.kind !== 'remove')
        return [{ ...write, body: { ...write.body, bounds: [{ min: '', max: 'FF', upTo: Infinity }] } }];
      if (this.#variant === 'binds a queue for other ranges too' && sets(write, 'bounds') && write.kind !== 'remove') {
        const [bound] = (write.body as { bounds: readonly object[] }).bounds;
        return [{ ...write, body: { ...write.body, bounds: [{ ...bound, min: '', max: 'FF' }] } }];
      }
      return [write];
    };
    const read = async <T>(id: string): Promise<Stored<T> | undefined> => {
      const found = await store.read<T>(id);
      if (this.#variant !== 'makes a queue after it was replaced' || id !== 'register' || !found) return found;
      // It takes itself for the owner, whatever the register says.
      const owner = { min: '', max: 'FF', token: this.token };
      return { ...found, body: { ...found.body, owners: [...(found.body as Register).owners, owner] } };
    };
    return { read, commit: (writes) => store.commit(writes.flatMap(changed)) };
  }
}

/** A queue whose portions are removed before they are applied. */
async function earlier(
  deferred: DeferredQueues,
  tenant: string,
  position: number,
): Promise<Pick<DeferredQueues, 'next' | 'done'>> {
  const portion = await deferred.next(tenant, position);
  if (typeof portion !== 'string') await deferred.done(portion);
  return { next: () => Promise.resolve(portion), done: () => Promise.resolve() };
}
