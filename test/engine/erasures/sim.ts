// An account with three tenants, in virtual time: hosts, long operations, sweeps, restores, the application, and erasures
// that die. Reads lag, writes land late. The watch of the hosts and the wait of the erasures are the real ones.
import type { Clock } from '../../../src/base/clock.ts';
import { LANDING_BOUND_MS, WRITE_BOUND_MS } from '../../../src/base/bounds.ts';
import { type ErasureRecord, digestOf, erasing } from '../../../src/engine/erasures/record.ts';
import { type LongOperation, stopBoundMs, untilQuiet } from '../../../src/engine/erasures/stop.ts';
import { ErasureWatch } from '../../../src/engine/erasures/watch.ts';
import { Random } from '../../support/random.ts';
import { Sleepers } from '../../support/sleepers.ts';

const READ_LAG_MS = 5_000;
const MINUTE = 60_000;
/** Operations have no write bound: this is the longest that one stands still. */
const STANDSTILL_MS = 20 * MINUTE;
const ROUNDS = 6;

/** What an implementation could leave out. Each of them has to be found. */
export const VARIANTS = [
  'waits for nothing before it removes',
  'counts that wait from the clock of the process that began it',
  'searches at once after the last removal',
  'waits as long as a page is applied, and not until its last request has landed',
  'does not wait for long operations',
  'removes the record when it has ended',
  'uses a reading for longer than its refresh',
  'parks what it drops as a dead letter',
  'lets sweeps look at no record',
  'lets redrives look at no record',
  'lets restores look at no record',
] as const;
export type Variant = (typeof VARIANTS)[number] | undefined;

interface Doc {
  readonly tenant: string;
  readonly version: number;
  /** Of an archived document: the blob that has its line. */
  readonly blob?: string;
}
type Docs = ReadonlyMap<string, Doc>;

/** Documents by id, with all of their past: a read may show a state that is as old as the read lag. */
class Place {
  readonly #past: { readonly at: number; readonly docs: Docs }[] = [{ at: -Infinity, docs: new Map() }];

  get now(): Docs {
    return this.#past.at(-1)?.docs ?? new Map();
  }

  at(time: number): Docs {
    return this.#past.findLast(({ at }) => at <= time)?.docs ?? new Map();
  }

  put(at: number, id: string, doc: Doc): void {
    this.#past.push({ at, docs: new Map(this.now).set(id, doc) });
  }

  /** Removes the document, if it still has this version. */
  remove(at: number, id: string, version = this.now.get(id)?.version): void {
    const docs = new Map(this.now);
    if (docs.get(id)?.version === version && docs.delete(id)) this.#past.push({ at, docs });
  }
}

/** A process that a history has killed. */
class Killed extends Error {}

export class World implements Clock {
  readonly random: Random;
  readonly source = new Place();
  readonly sink = new Place();
  readonly letters = new Place();
  /** The entries of archived documents. */
  readonly archive = new Place();
  /** The tenants in each blob, by its name. What has the same lines has the same name. */
  readonly blobs = new Map<string, readonly string[]>();
  /** Every version of the source, for feeds that deliver each, long after it is gone. */
  readonly versions: { readonly id: string; readonly doc: Doc }[] = [];
  readonly said: string[] = [];
  /** The tenants whose erasure was certified. */
  readonly certified = new Set<string>();
  readonly #variant: Variant;
  readonly #sleepers = new Sleepers();
  readonly #records: { readonly at: number; readonly records: readonly ErasureRecord[] }[] = [];
  readonly #running: { readonly at: number; readonly operations: readonly LongOperation[] }[] = [];
  #now = 0;
  #made = 0;

  constructor(seed: number, variant: Variant) {
    this.random = new Random(seed);
    this.#variant = variant;
  }

  now = (): number => this.#now;
  monotonic = (): number => this.#now;
  sleep = (ms: number, signal?: AbortSignal): Promise<void> => this.#sleepers.sleepUntil(this.#now + ms, signal);

  /** Lets time pass until the moment. */
  async until(end: number): Promise<void> {
    for (;;) {
      // Everything that was woken goes on until it sleeps.
      await new Promise((resolve) => setImmediate(resolve));
      this.#judge();
      if (this.#sleepers.next > end) break;
      this.#now = this.#sleepers.next;
      this.#sleepers.wakeAt(this.#now);
    }
    this.#now = end;
  }

  /** A time up to `most`, often the first or the last moment. */
  delay(most: number): number {
    return this.random.pick([0, most, this.random.int(most + 1)]);
  }

  #read(place: Place): Docs {
    return place.at(this.#now - this.delay(READ_LAG_MS));
  }

  #is(variant: Variant): boolean {
    return this.#variant === variant;
  }

  watch(): ErasureWatch {
    const read = async (): Promise<readonly ErasureRecord[]> => {
      const at = this.#now - this.delay(READ_LAG_MS);
      return this.#records.findLast((one) => one.at <= at)?.records ?? [];
    };
    const refreshMs = this.#is('uses a reading for longer than its refresh') ? 5 * MINUTE : undefined;
    return new ErasureWatch({ read }, { clock: this, refreshMs });
  }

  /** The application writes a document, unless it is in the archive: what is archived doesn't change. */
  write(id: string, tenant: string): void {
    if (this.archive.now.has(id) && !this.source.now.has(id)) return;
    const doc = { tenant, version: (this.#made += 1) };
    this.source.put(this.#now, id, doc);
    this.versions.push({ id, doc });
  }

  /** A host applies one change: of the newest version that it reads, or of any that the feed of all versions still has. */
  async page(watch: ErasureWatch): Promise<void> {
    const { random } = this;
    const late = random.chance(0.03) && this.versions.length > 0;
    const id = late ? '' : random.pick([...this.#read(this.source).keys(), 'none']);
    const hot = this.source.at(this.#now - this.delay(READ_LAG_MS)).get(id);
    const change = late ? random.pick(this.versions) : hot && { id, doc: hot };
    if (!change) return;
    const began = this.#now;
    await this.sleep(this.delay(20_000));
    const erased = await watch.current();
    if (erased(change.doc.tenant)) {
      if (this.#is('parks what it drops as a dead letter'))
        await this.#land(this.letters, change.id, change.doc, began);
      return;
    }
    if (random.chance(0.1)) return this.#land(this.letters, change.id, change.doc, began);
    await this.#land(this.sink, change.id, change.doc, began);
  }

  /** A change of shared data: a host makes all copies again, from the source documents. It has no tenant of its own. */
  async fanOut(bounded = true): Promise<void> {
    const began = this.#now;
    const copies = [...this.#read(this.sink).keys()];
    const found = this.#read(this.source);
    const all = copies.map(async (id): Promise<void> => {
      const doc = found.get(id);
      if (!doc) return;
      await this.#travel(began, bounded ? WRITE_BOUND_MS : STANDSTILL_MS);
      this.#put(this.sink, id, doc);
    });
    await Promise.all(all);
  }

  /** Writes a document within the write bound of what was read; the request takes effect later. */
  async #land(place: Place, id: string, doc: Doc, began: number, bound = WRITE_BOUND_MS): Promise<void> {
    await this.#travel(began, bound);
    this.#judgeStop(doc.tenant);
    this.#put(place, id, doc);
  }

  #put(place: Place, id: string, doc: Doc): void {
    const before = place.now.get(id);
    if (!before || before.version <= doc.version) place.put(this.#now, id, doc);
  }

  async #travel(began: number, bound = WRITE_BOUND_MS): Promise<void> {
    await this.sleep(Math.max(0, this.delay(bound) - (this.#now - began)));
    await this.sleep(this.delay(LANDING_BOUND_MS));
  }

  /** Work without a bound, which a note names while it runs. */
  async operation(what: string, work: () => Promise<void>): Promise<void> {
    const id = `${what} ${(this.#made += 1)}`;
    const note = (operations: readonly LongOperation[]): void => void this.#running.push({ at: this.#now, operations });
    note([...(this.#running.at(-1)?.operations ?? []), { id, what }]);
    await work();
    note((this.#running.at(-1)?.operations ?? []).filter((one) => one.id !== id));
  }

  async redrive(): Promise<void> {
    const watch = this.watch();
    for (const id of this.#read(this.letters).keys()) {
      const doc = this.#read(this.source).get(id);
      const letter = this.letters.now.get(id);
      if (!doc || !letter) continue;
      const erased = await watch.current();
      if (erased(doc.tenant) && !this.#is('lets redrives look at no record')) continue;
      await this.#land(this.sink, id, doc, this.#now, STANDSTILL_MS);
      this.letters.remove(this.#now, id, letter.version);
    }
  }

  async sweep(watch: ErasureWatch): Promise<void> {
    const began = this.#now;
    const chunk = [...this.#read(this.source)].filter(() => this.random.chance(0.5));
    await this.sleep(this.delay(WRITE_BOUND_MS / 4));
    const erased = await watch.current();
    const due = chunk.filter(([, { tenant }]) => !erased(tenant) || this.#is('lets sweeps look at no record'));
    if (due.length === 0) return;
    const blob = due.map(([id, { version }]) => `${id}@${version}`).join(' ');
    await this.#travel(began);
    if (!this.blobs.has(blob))
      this.blobs.set(
        blob,
        due.map(([, { tenant }]) => tenant),
      );
    // The fence of the chunk lets no other request begin.
    if (this.#now - began > WRITE_BOUND_MS) return;
    await Promise.all(
      due.map(async ([id, doc]): Promise<void> => {
        await this.#land(this.archive, id, { ...doc, blob }, began);
        if (this.archive.now.get(id)?.version === doc.version) this.source.remove(this.#now, id, doc.version);
      }),
    );
  }

  async restore(): Promise<void> {
    const watch = this.watch();
    for (const [id, doc] of this.#read(this.archive)) {
      if (this.random.chance(0.5) || !this.blobs.has(doc.blob ?? '')) continue;
      // The placeholder waits until the feed has shown it.
      await this.sleep(this.delay(STANDSTILL_MS));
      const erased = await watch.current();
      if (erased(doc.tenant) && !this.#is('lets restores look at no record')) continue;
      await this.sleep(this.delay(LANDING_BOUND_MS));
      const { blob: _, ...own } = doc;
      this.#judgeStop(doc.tenant);
      if (!this.source.now.has(id)) this.source.put(this.#now, id, own);
    }
  }

  /** Erases a tenant. A process that `dies` ends at a random moment, and the next one resumes. */
  async erase(tenant: string, deaths: number): Promise<void> {
    for (let left = deaths; ; left--) {
      const end = new AbortController();
      const death = left > 0 ? this.sleep(this.delay(10 * MINUTE)).then(() => end.abort(new Killed())) : undefined;
      try {
        await this.#eraseUntil(tenant, end.signal);
        return;
      } catch (error) {
        if (!(error instanceof Killed)) throw error;
      }
      await death;
      await this.sleep(this.delay(5 * MINUTE));
    }
  }

  #recordOf = (tenant: string): ErasureRecord | undefined => erasing(this.#records.at(-1)?.records ?? [], tenant);

  #store(next: (records: readonly ErasureRecord[]) => readonly ErasureRecord[]): void {
    this.#records.push({ at: this.#now, records: next(this.#records.at(-1)?.records ?? []) });
  }

  #change(tenant: string, state: ErasureRecord['state']): void {
    const record = this.#recordOf(tenant);
    this.#store((records) => records.map((one) => (one === record ? { ...one, state } : one)));
  }

  async #eraseUntil(tenant: string, signal: AbortSignal): Promise<void> {
    if (!this.#recordOf(tenant)) {
      const at = new Date(this.#now - this.delay(90_000)).toISOString();
      const own = { id: tenant, salt: 'salt', digest: digestOf('salt', tenant), at, state: 'stopping' } as const;
      this.#store((records) => [...records, own]);
    }
    const record = this.#recordOf(tenant);
    if (record?.state === 'stopping' && !this.#is('waits for nothing before it removes')) {
      if (this.#is('counts that wait from the clock of the process that began it'))
        await this.sleep(Math.max(0, stopBoundMs(READ_LAG_MS) - (this.#now - Date.parse(record.at))), signal);
      else await this.#pass(signal);
    }
    this.#change(tenant, 'removing');
    for (let round = 0; round < ROUNDS; round++) {
      for (const remove of this.random.shuffle([
        () => this.#removeStored(tenant, signal),
        () => this.#removeArchived(tenant, signal),
      ]))
        await remove();
      if (this.#is('searches at once after the last removal')) await this.sleep(READ_LAG_MS, signal);
      else await this.#pass(signal);
      if (!this.#isFound(tenant)) {
        this.certified.add(tenant);
        this.#change(tenant, 'erased');
        if (this.#is('removes the record when it has ended'))
          this.#store((records) => records.filter(({ id }) => id !== tenant));
        return;
      }
    }
  }

  #isFound(tenant: string): boolean {
    const places = [this.source, this.sink, this.letters, this.archive];
    return (
      places.some((place) => this.#of(tenant, this.#read(place)).length > 0) ||
      [...this.blobs.values()].some((tenants) => tenants.includes(tenant))
    );
  }

  async #removeStored(tenant: string, signal: AbortSignal): Promise<void> {
    for (const place of this.random.shuffle([this.source, this.sink, this.letters])) {
      for (const id of this.#of(tenant, this.#read(place))) {
        await this.sleep(this.delay(1_000), signal);
        place.remove(this.#now, id);
      }
    }
  }

  /** As `eraseFromArchive`: a blob that others share gets a successor, which their entries name before it goes. */
  async #removeArchived(tenant: string, signal: AbortSignal): Promise<void> {
    for (const [blob, tenants] of this.blobs) {
      if (!tenants.includes(tenant)) continue;
      const others = tenants.filter((one) => one !== tenant);
      const successor = `${blob} without ${tenant}`;
      if (others.length > 0) this.blobs.set(successor, others);
      await this.sleep(this.delay(1_000), signal);
      for (const [id, doc] of this.archive.now) {
        if (doc.blob !== blob) continue;
        if (doc.tenant === tenant) this.archive.remove(this.#now, id);
        else this.archive.put(this.#now, id, { ...doc, blob: successor });
      }
      await this.sleep(READ_LAG_MS, signal);
      this.blobs.delete(blob);
    }
  }

  #of = (tenant: string, docs: Docs): string[] =>
    [...docs].filter(([, doc]) => doc.tenant === tenant).map(([id]) => id);

  /** The real wait, or what a variant has in its place. */
  async #pass(signal: AbortSignal): Promise<void> {
    if (this.#is('waits as long as a page is applied, and not until its last request has landed'))
      return this.sleep(stopBoundMs(READ_LAG_MS) - LANDING_BOUND_MS, signal);
    const running = async (): Promise<readonly LongOperation[]> => {
      const at = this.#now - this.delay(READ_LAG_MS);
      const noted = this.#running.findLast((one) => one.at <= at)?.operations ?? [];
      return this.#is('does not wait for long operations') ? [] : noted;
    };
    await untilQuiet({ clock: this, readLagMs: READ_LAG_MS, signal, running });
  }

  /** Once the wait after the record is over, only changes of others write documents of the tenant. */
  #judgeStop(tenant: string): void {
    const record = this.#recordOf(tenant);
    if (record && record.state !== 'stopping') this.#say(`a change of ${tenant} takes effect after the stop`);
  }

  #judge(): void {
    for (const tenant of this.certified)
      for (const [name, place] of Object.entries({ sink: this.sink, letters: this.letters, archive: this.archive }))
        if (this.#of(tenant, place.now).length > 0)
          this.#say(`after the certificate ${name} has a document of ${tenant}`);
  }

  #say(text: string): void {
    if (!this.said.includes(text)) this.said.push(text);
  }

  /** At the end, when everything has landed: each document of the others is hot or archived, and derived. */
  async judgeOthers(others: readonly string[]): Promise<void> {
    const watch = this.watch();
    const erased = await watch.current();
    const newest = new Map(this.versions.map(({ id, doc }) => [id, doc]));
    for (const [id, doc] of newest) {
      if (!others.includes(doc.tenant)) continue;
      if (erased(doc.tenant)) this.#say(`${doc.tenant} is held back`);
      const cold = this.archive.now.get(id);
      const isCold = cold?.version === doc.version && this.blobs.has(cold.blob ?? '');
      if (!isCold && this.source.now.get(id)?.version !== doc.version) this.#say(`${id} of ${doc.tenant} is lost`);
    }
  }
}
