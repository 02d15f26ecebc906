// A random life of one container with an archive: the application writes, marks as deleted and changes what it read; two
// hosts deliver the feed, crash and wake as zombies; sweepers and restorers do the same; readers of the history compare
// what they get with what was true all the while they read.
import type { Container } from '@azure/cosmos';
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import type { BlobStore, ErasableStore } from '../../src/access/blob-store.ts';
import { FeedReader } from '../../src/archive/sweep/feed-reader.ts';
import { acknowledgedBy } from '../../src/archive/sweep/may-leave.ts';
import { readHistory } from '../../src/archive/read/history.ts';
import { restoreArchive } from '../../src/archive/restore.ts';
import { compactArchive } from '../../src/archive/compact.ts';
import { sweepArchive } from '../../src/archive/sweep/sweep.ts';
import type { Archive, Gate, RestoreResult, Selection } from '../../src/archive/types.ts';
import { canonical } from '../../src/base/json.ts';
import { effectivePartitionKey } from '../../src/cosmos/effective-partition-key.ts';
import { physicalRanges } from '../../src/cosmos/physical-ranges.ts';
import { Meter } from '../../src/cosmos/budget/charge-meter.ts';
import type { Doc } from '../../src/pipeline/specs.ts';
import type { SourceContainer } from '../../src/feed/reading/mapper.ts';
import { CosmosChangeSource, RangeGone } from '../../src/feed/reading/source.ts';
import type { Sift } from '../../src/kinds/archive/live-half.ts';
import type { Runner } from '../../src/kinds/runner.ts';
import { CosmosAccess } from '../../src/access/cosmos-access.ts';
import type { DocumentAccess } from '../../src/access/document-access.ts';
import { Crash, UNFENCED, Zombies, injected } from '../kinds/history.ts';
import { faultyStore } from './memory-blob-store.ts';
import { MORTAL_S, lsnIn, plain, tenantOf } from './world-documents.ts';
import type { WorldOptions } from './world-options.ts';
import { type Part, Ranges, shownOf } from './ranges.ts';

/** Few, so that much happens to each. */
const IDS = 4;
export const NOW = Date.UTC(2003, 0, 1);
const SIGNAL = new AbortController().signal;

/** What the application last wrote, by id: null is deleted. `at` counts its writes. */
export type Truth = Map<string, { readonly doc: Doc | null; readonly at: number }>;

export class World {
  readonly truth: Truth = new Map();
  /** Blobs that compactions have removed. */
  compacted = 0;
  readonly #options: WorldOptions;
  readonly #zombies = new Zombies();
  readonly #underway = new Set<Promise<unknown>>();
  /** What is under way, without compactions that only have to remove what they have replaced. */
  readonly #deciding = new Set<object>();
  readonly #failures: unknown[] = [];
  readonly #hosts: readonly (readonly Runner[])[];
  readonly #sifts: readonly (Sift | undefined)[];
  /** With all versions: the application's last write of each document, its lsn, and whether the document is gone since. */
  readonly #last = new Map<string, { readonly lsn: number; gone: boolean }>();
  /** Documents whose own time to live has passed. */
  readonly #mortal = new Set<string>();
  /** Documents as they were read some time ago, for an application that writes them back late. */
  readonly #held = new Map<string, Doc>();
  readonly #feeds: readonly CosmosChangeSource[];
  readonly #ranges = new Ranges();
  #writes = 0;
  #wroteAt = 0;

  constructor(options: WorldOptions) {
    this.#options = options;
    this.#hosts = [options.runners(), options.runners()];
    this.#sifts = [options.versions?.sift(), options.versions?.sift()];
    const { databases, source, rid, random } = options;
    // Index 0 is the application's own client, which reads no feed.
    this.#feeds = databases.map(
      (database) =>
        new CosmosChangeSource(database.container(source.name), rid, source, {
          epoch: 1,
          pageSize: 1 + random.int(6),
          ...this.#mode,
        }),
    );
  }

  get #mode(): { mode?: 'all-versions' } {
    return this.#options.versions ? { mode: 'all-versions' } : {};
  }

  /** The all-versions feed has no beginning: it is read from now on. */
  async begin(): Promise<void> {
    if (this.#options.versions)
      for (const part of this.#ranges.parts)
        part.position = await (this.#feeds[1] ?? never()).resolve(part.range, 'now', SIGNAL);
    this.#ranges.save();
  }

  async run(): Promise<void> {
    const { random, steps } = this.#options;
    await this.begin();
    for (let step = 0; step < steps; step++) {
      const kind = random.unit();
      if (kind < 0.24) await this.#write();
      else if (this.#options.versions && kind > 0.97) await this.#disturb();
      else if (kind < 0.5) await this.#deliver(random.chance(0.4) ? 'faulty' : 'beside');
      else if (kind < 0.58) for (let n = random.chance(0.3) ? 2 : 1; n > 0; n--) this.#startCompaction();
      else if (kind < 0.73) this.#start(this.#sweep(random.chance(0.5)));
      else if (kind < 0.82) this.#start(this.#restore(random.chance(0.5)));
      else if (kind < 0.83) this.#ranges.rewind(random.pick(this.#ranges.saved));
      else if (kind < 0.9) await (this.#options.versions ? this.#disturb() : this.#expireMarkers());
      else if (kind < 0.92) this.#start(this.check(true));
      else if (kind < 0.935) this.#options.repartition();
      else if (kind < 0.97) this.#zombies.wakeOne(random);
      if (random.chance(0.5)) await this.#pause(random.int(400));
    }
    await this.rest();
  }

  /** Everything delivered, nobody asleep any more. */
  async rest(): Promise<void> {
    const { random } = this.#options;
    for (let quiet = false; !quiet && this.#failures.length === 0;) {
      quiet = !(await this.#deliver('alone'));
      if (random.chance(0.5)) this.#zombies.wakeOne(random);
    }
    while (this.#underway.size > 0) {
      this.#zombies.wakeAll();
      await Promise.race([...this.#underway, turn()]);
      // A restore waits until a host has read the feed up to its placeholder.
      if (this.#options.versions) await this.#deliver('alone');
    }
    if (this.#failures.length > 0) throw new AggregateError(this.#failures, `It failed: ${String(this.#failures[0])}`);
    // What the zombies wrote back into the container has come through its feed as well.
    while (await this.#deliver('alone'));
  }

  sweep = () => this.#sweep(false);

  async restoreAll(): Promise<RestoreResult> {
    let result: RestoreResult | undefined;
    this.#start(
      restoreArchive(this.archive(this.#options.store), {}, { signal: SIGNAL }).then((done) => (result = done)),
    );
    await this.rest();
    return result ?? never();
  }

  /** Reads the history; whatever the application left alone meanwhile is there once, and as it was written. */
  async check(while_: boolean): Promise<void> {
    const { readLagMs } = this.#options;
    if (while_ && performance.now() - this.#wroteAt < readLagMs) return;
    const before = new Map(this.truth);
    const writes = this.#writes;
    const shown = this.#ranges.parts.map((part) => ({ ...part }));
    const archive = this.archive(this.#options.store, this.#options.source);
    const found = new Map<string, Doc | null>();
    const options = { ...archive, access: this.#access(1), readLagMs, signal: SIGNAL };
    for await (const { id, op, doc } of readHistory(options)) {
      if (found.has(id)) throw new Error(`${id} is told twice`);
      found.set(id, op === 'delete' ? null : (doc ?? null));
    }
    for (const [id, { doc }] of before) {
      if ((this.truth.get(id)?.at ?? 0) > writes) continue;
      // What went before the feed has shown the last write is in neither half yet.
      const last = this.#last.get(id);
      if (while_ && last && last.gone && last.lsn > shownOf(shown, tenantOf(id))) continue;
      const told = found.get(id) ?? null;
      if (canonical(told) !== canonical(doc))
        throw new Error(`The history tells ${canonical(told)} of ${id} where ${canonical(doc)} was written`);
    }
  }

  archive<S extends BlobStore>(
    store: S,
    of?: SourceContainer,
    access?: DocumentAccess,
  ): Archive & { readonly store: S } {
    const { spec, source, stateContainer, databases, rid, random } = this.#options;
    const container = (databases[1] ?? never()).container(source.name);
    const stored = of ?? { ...source, types: new Map([[spec.from.type, {}]]) };
    return {
      // Each process may be of another version of the pipeline: readers go by the blobs.
      spec: random.chance(0.5) ? { ...spec, codec: 'zstd' } : spec,
      source,
      feed: {
        source: new CosmosChangeSource(container, rid, stored, { epoch: 1, pageSize: 2 + random.int(6) }),
        ranges: () => physicalRanges(container),
        container,
        hashOf: (key) => effectivePartitionKey(key, 'Hash', 1),
      },
      access: (fence) => access ?? new CosmosAccess(databases[1] ?? never(), fence, new Meter()),
      stateContainer,
      store,
      mode: this.#options.versions ? 'all-versions' : 'latest-version',
    };
  }

  #access(host: number): DocumentAccess {
    return new CosmosAccess(this.#options.databases[host] ?? never(), UNFENCED, new Meter());
  }

  /** One's own client: two sweepers know nothing of each other. */
  #faulty(sleeps = 0.08): Archive & { readonly store: ErasableStore } {
    const { random, store } = this.#options;
    const access = injected(this.#access(1 + random.int(2)), random, this.#zombies, sleeps);
    return this.archive(faultyStore(store, random, this.#zombies), undefined, access);
  }

  async #sweep(faults: boolean): Promise<void> {
    const archive = faults ? this.#faulty() : this.archive(this.#options.store);
    const gate = async (): Promise<Gate> => {
      const parts = this.#ranges.save();
      return { acknowledged: (range) => acknowledgedBy(parts, range), parked: () => false, waits: () => false };
    };
    await sweepArchive(archive, { now: NOW, gate, signal: SIGNAL });
  }

  /** Its grace lasts until everything that was under way has ended, also what sleeps. */
  async #compact(token: object, faults: boolean): Promise<void> {
    const { random } = this.#options;
    // So that documents change before their entries are renamed.
    const archive = faults ? this.#faulty(0.2) : this.archive(this.#options.store);
    const grace = async (): Promise<void> => {
      // Two compactions must not wait for each other: this one only removes from here on.
      this.#deciding.delete(token);
      const before = [...this.#deciding];
      while (before.some((one) => this.#deciding.has(one))) await turn();
      await delay(this.#options.readLagMs);
      if (faults && random.chance(0.2)) throw new Crash('crashed');
    };
    const { removed } = await compactArchive(archive, { signal: SIGNAL, grace });
    this.compacted += removed;
  }

  async #restore(faults: boolean): Promise<void> {
    const { random } = this.#options;
    const archive = faults ? this.#faulty() : this.archive(this.#options.store);
    const id = `d${random.int(IDS)}`;
    const selection: Selection = random.chance(0.5) ? {} : { documents: [{ key: [tenantOf(id)], id }] };
    await restoreArchive(archive, selection, { signal: SIGNAL });
  }

  /** Lets what is under way get on; requests to the server take many turns. */
  async #pause(turns: number): Promise<void> {
    for (let left = turns; left > 0 && this.#underway.size > 0; left--) await turn();
  }

  #startCompaction(): void {
    const token = {};
    this.#start(this.#compact(token, this.#options.random.chance(0.7)), token);
  }

  #start(task: Promise<unknown>, token: object = {}): void {
    this.#deciding.add(token);
    const tracked = task
      .catch((error: unknown) => {
        if (!(error instanceof Crash)) this.#failures.push(error);
      })
      .finally(() => {
        this.#underway.delete(tracked);
        this.#deciding.delete(token);
      });
    this.#underway.add(tracked);
  }

  /** `alone`: every range, one after another. */
  async #deliver(how: 'faulty' | 'beside' | 'alone'): Promise<boolean> {
    if (how !== 'alone') return this.#deliverOf(this.#options.random.pick(this.#ranges.parts), how);
    let moved = false;
    for (const part of this.#ranges.parts) if (await this.#deliverOf(part, how)) moved = true;
    return moved;
  }

  async #deliverOf(part: Part, how: 'faulty' | 'beside' | 'alone'): Promise<boolean> {
    const { random } = this.#options;
    const host = 1 + random.int(2);
    const { range, position: from } = part;
    const page = await (this.#feeds[host] ?? never()).read(range, from, SIGNAL).catch((error: unknown) => {
      if (!(error instanceof RangeGone)) throw error;
      this.#ranges.split(part, error);
    });
    if (!page) return true;
    const own = this.#access(host);
    const access = how === 'faulty' ? injected(own, random, this.#zombies) : own;
    const apply = async (): Promise<void> => {
      const sift = this.#sifts[host - 1];
      const changes = sift ? await sift(page.changes, access) : page.changes;
      for (const { id, operation } of changes)
        if (operation === 'expired' && !this.#mortal.has(id)) throw new Error(`The expiry of ${id} is the archive's`);
      for (const runner of this.#hosts[host - 1] ?? []) await runner.apply(changes, access);
      this.#ranges.applied(range, page.next);
      if (part.position !== from) return;
      part.position = page.next;
      this.#ranges.save();
    };
    const task = apply();
    this.#start(task);
    if (how === 'alone') await task;
    // A lagging replica may have nothing new yet where the primary has.
    if (how === 'alone' && page.changes.length === 0) await delay(this.#options.readLagMs);
    return page.changes.length > 0 || page.next !== from;
  }

  async #write(): Promise<void> {
    const { random } = this.#options;
    const id = `d${random.int(IDS)}`;
    const base = random.chance(this.#options.versions ? 0.6 : 0.3) ? await this.#baseOf(id) : undefined;
    const doc: Doc = {
      ...(base ?? {
        id,
        tenant: tenantOf(id),
        type: 'order',
        state: random.pick(['open', 'paid']),
        date: random.chance(0.8) ? `2000/0${random.chance(0.8) ? 1 : 2}/05 18:20` : '2002-05-01',
      }),
      // Written back unchanged now and then, with all that was read.
      ...(base && random.chance(0.3) ? {} : { cents: random.int(100) }),
      ...(random.chance(0.2) ? { deletedAt: 'now' } : {}),
      ...(this.#options.versions && random.chance(0.06) ? { ttl: MORTAL_S } : {}),
    };
    // The classes of many applications know `ttl` and not our mark.
    if (this.#options.versions && random.chance(0.2)) delete doc['_mr'];
    this.#writes += 1;
    const at = this.#writes;
    // Until it has happened, either may be read.
    this.truth.set(id, { doc: this.truth.get(id)?.doc ?? null, at });
    const lsn = await this.#upsert(doc);
    this.#wrote(id, doc['deletedAt'] === undefined ? plain(doc) : null, lsn);
    if (this.#options.versions && base && random.chance(0.2)) this.#expire(id, this.#options.versions);
  }

  #wrote(id: string, doc: Doc | null, lsn: number, gone = false): void {
    this.truth.set(id, { doc, at: (this.#writes += 1) });
    this.#last.set(id, { lsn, gone });
    this.#wroteAt = performance.now();
  }

  /** As it is stored, or as it was some time ago. */
  async #baseOf(id: string): Promise<Doc | undefined> {
    const { random, versions } = this.#options;
    const held = this.#held.get(id);
    if (versions && held && random.chance(0.5)) return held;
    const read = await this.#readFromSource(id);
    if (versions && read && random.chance(0.5)) this.#held.set(id, read);
    return read;
  }

  /** What only the all-versions feed shows: a patch of one field, a hard delete, an expiry. */
  async #disturb(): Promise<void> {
    const { random, versions } = this.#options;
    const id = `d${random.int(IDS)}`;
    const lot = random.unit();
    if (lot < 0.5) this.#expire(id, versions ?? never());
    else if (lot < 0.75) await this.#patch(id);
    else await this.#delete(id);
    // A restore that comes before the feed has shown it.
    if (random.chance(0.3)) this.#start(this.#restore(random.chance(0.3)));
  }

  #expire(id: string, { expire }: NonNullable<WorldOptions['versions']>): void {
    const { doc } = this.truth.get(id) ?? {};
    const own = doc?.['ttl'] !== undefined;
    // A delete marker that was written back with the archive's `ttl` expires too, and is no document any more.
    if (own || doc === null) this.#mortal.add(id);
    expire(id);
    // Its lsn isn't known: it is above all that was written.
    if (own) this.#wrote(id, null, Infinity, true);
    const last = this.#last.get(id);
    if (last) last.gone = true;
  }

  async #patch(id: string): Promise<void> {
    const doc = this.truth.get(id)?.doc;
    if (!doc) return;
    const value = this.#options.random.int(100);
    this.truth.set(id, { doc, at: (this.#writes += 1) });
    const condition = "from c where c.type = 'order'";
    for (;;) {
      try {
        const operations = [{ op: 'set', path: '/cents', value }] as const;
        const answer = await this.#own.item(id, tenantOf(id)).patch({ condition, operations: [...operations] });
        this.#wrote(id, { ...doc, cents: value }, lsnIn(answer.headers));
        return;
      } catch (error) {
        const { code } = error as { code?: unknown };
        if (code === 404 || code === 412) return;
      }
    }
  }

  async #delete(id: string): Promise<void> {
    const found = await this.#readFromSource(id);
    if (!found) return;
    const condition = { accessCondition: { type: 'IfMatch', condition: String(found['_etag']) } };
    this.truth.set(id, { doc: this.truth.get(id)?.doc ?? null, at: (this.#writes += 1) });
    for (let lost = false; ;) {
      try {
        const { headers } = await this.#own.item(id, tenantOf(id)).delete(condition);
        return this.#wrote(id, null, lsnIn(headers), true);
      } catch (error) {
        const { code } = error as { code?: unknown };
        if (code === 404 && lost) return this.#wrote(id, null, Infinity, true);
        if (code === 404 || code === 412) return;
        lost ||= code !== 429;
      }
    }
  }

  get #own(): Container {
    return (this.#options.databases[0] ?? never()).container(this.#options.source.name);
  }

  async #readFromSource(id: string): Promise<Doc | undefined> {
    for (;;) {
      try {
        const { resource } = await this.#own.item(id, tenantOf(id)).read<Doc>();
        // The application is no partner of a restore: it takes a placeholder for a document it doesn't know.
        const current = canonical(resource && plain(resource)) === canonical(this.truth.get(id)?.doc);
        return resource && current ? resource : undefined;
      } catch {
        // Throttled, or the answer was lost.
      }
    }
  }

  async #upsert(doc: Doc): Promise<number> {
    for (;;) {
      try {
        return lsnIn((await this.#own.items.upsert(doc)).headers);
      } catch {
        // Throttled, or the answer was lost: an upsert may be sent again.
      }
    }
  }

  /** A delete marker goes once everybody has acknowledged it (its time to live is longer than any lag). */
  async #expireMarkers(): Promise<void> {
    const { feed } = this.archive(this.#options.store, this.#options.source);
    const acknowledged = this.#ranges.save();
    for await (const { changes, range } of new FeedReader(feed).toEnd(SIGNAL)) {
      for (const { op, id, key, version } of changes) {
        if (op !== 'delete' || version.lsn > (acknowledgedBy(acknowledged, range) ?? -1)) continue;
        const condition = { accessCondition: { type: 'IfMatch', condition: version.etag } };
        await this.#own
          .item(id, key[0] as string)
          .delete(condition)
          .catch(() => undefined);
      }
    }
  }
}

function never(): never {
  throw new Error('No such host');
}
