import type { Clock } from '../../base/clock.ts';
import { MillraceError } from '../../base/errors.ts';
import { Unavailable } from '../../cosmos/retry.ts';
import { shardsError } from '../errors.ts';
import { type KeyValue, encodeKey, keyJson, shownKey } from '../keys/key-type.ts';
import type { MappingDocument, ShardDocument } from '../map/documents.ts';
import { CachedMapping, type KnownShard, type KnownShardOptions, Silence } from './known-shard.ts';
import { MappingCache } from './mapping-cache.ts';
import type { MapReader } from './map-reader.ts';

export type Lookups = Pick<MapReader, 'header' | 'mapping' | 'mappings' | 'mappingIds' | 'shard' | 'shards'>;

/** Rounds of one call. Each means that a mapping changed, or that a reading was older than another. */
const ROUNDS = 40;
const PAUSE_MS = 50;
/** A shard's location is read again after so many times M. */
const LOCATED_FOR = 10;

/**
 * Finds the shard that has a key: in memory, and else in the map and then in that shard's local map. Only a mapping that
 * the map showed, and that a reading of the local map had too, is used. docs/SPEC-routing.md, ROUTE-C.
 */
export class Routes {
  readonly #map: Lookups;
  readonly #cache = new MappingCache<CachedMapping>();
  readonly #open: (document: ShardDocument) => KnownShard;
  readonly #options: KnownShardOptions;
  readonly #clock: Clock;
  readonly #shards = new Map<string, KnownShard>();
  readonly #lookUps = new Map<string, Promise<void>>();
  readonly counts = { added: 0, removed: 0, hits: 0, misses: 0 };
  /** Of shards that are forgotten. */
  #validationsBefore = 0;

  constructor(map: Lookups, open: (document: ShardDocument) => KnownShard, options: KnownShardOptions) {
    this.#map = map;
    this.#open = open;
    this.#options = options;
    this.#clock = options.clock;
  }

  get size(): number {
    return this.#cache.size;
  }

  /** The mapping of a key that may be used now; undefined: the stores must be asked. */
  find(code: string, now = this.#clock.monotonic(), known = this.#cache.find(code)): CachedMapping | undefined {
    return known?.status === 'online' && known.shard.has(known, now) ? known : undefined;
  }

  /** The cached mapping of a list map's key, whose code it has. `find` says whether it may be used. */
  single(key: KeyValue): CachedMapping | undefined {
    const recalled = this.#cache.recall(key);
    if (recalled) return recalled;
    const found = this.#cache.find(encodeKey(this.#map.header.keyType, key));
    if (found) this.#cache.remember(key, found);
    return found;
  }

  /**
   * Asks the shard that has a key. Where the answer says that there is nothing, or no answer came, the shard is asked
   * whether it has the key, or the map where the shard is; if something changed, the new shard is asked, once. `validate`:
   * a mapping that is remembered is validated first.
   * @throws MillraceError `mapping-missing`, `mapping-offline`, `shard-map-changing`, `shard-silent`, `shard-detached`,
   * `local-map-missing`, `not-found`
   */
  async reach<T>(
    code: string,
    ask: (mapping: CachedMapping) => Promise<T>,
    isNothing: (answer: T) => boolean = () => false,
    validate = false,
  ): Promise<T> {
    const known = this.#cache.find(code);
    this.counts[known ? 'hits' : 'misses'] += 1;
    for (let again = false; ; again = true) {
      try {
        if (validate && known && !again) await this.#validate(known);
        const mapping = this.find(code) ?? (await this.#locate(code));
        const answer = ask(mapping);
        if (again || !(await foundNothing(answer, isNothing))) return await answer;
        await mapping.shard.check(mapping);
        if (!this.#removeVoid(mapping)) return await answer;
      } catch (error) {
        if (!(error instanceof Silence)) throw error;
        if (again || !(await this.#lookAgain(error.shard))) throw error.error;
      }
    }
  }

  /**
   * Reads the mapping again, because its shard's gate needs a later reading. Where the local map stays behind, the shard may
   * be elsewhere by now. @throws as `reach`
   */
  async renew(mapping: CachedMapping, needs: number): Promise<void> {
    const { shard } = mapping;
    try {
      await shard.check(mapping);
    } catch (error) {
      if (!(error instanceof Silence)) throw error;
      if (!(await this.#lookAgain(shard))) throw error.error;
    }
    this.#removeVoid(mapping);
    if (shard.generation >= needs) return shard.behind.reset();
    await this.#clock.sleep(PAUSE_MS);
    await shard.lookUp(shard.behind, async () => void (await this.#isThere(shard)));
  }

  async #validate(known: CachedMapping): Promise<void> {
    await known.shard.check(known);
    this.#removeVoid(known);
  }

  /** This process has ended an operation of this generation on a shard. */
  changed(shard: string, generation: number): void {
    this.#shards.get(shard)?.changed(generation);
  }

  /** Reads every mapping. A shard that doesn't answer is left for later. */
  async fill(): Promise<void> {
    const byShard = new Map((await this.shards()).map((shard): [KnownShard, CachedMapping[]] => [shard, []]));
    for (const document of await this.#map.mappings()) {
      const shard = this.#shards.get(document.shard);
      if (shard) byShard.get(shard)?.push(this.#put(document, shard));
    }
    for (const [shard, mappings] of byShard)
      await shard.checkAll(mappings).catch((error: unknown) => {
        if (!(error instanceof Silence)) throw error;
      });
    this.counts.removed += this.#cache.removeIf(({ isVoid }) => isVoid);
  }

  /** All shards of the map, read from the map. */
  async shards(): Promise<KnownShard[]> {
    return (await this.#map.shards()).map((document) => this.#know(document));
  }

  get validations(): number {
    return [...this.#shards.values()].reduce((sum, { validations }) => sum + validations, this.#validationsBefore);
  }

  async #locate(code: string): Promise<CachedMapping> {
    for (let round = 1, found = 0; round <= ROUNDS; round++) {
      const known = this.#cache.find(code);
      if (known?.shard.has(known)) {
        if (known.status === 'online') return known;
        throw shardsError('mapping-offline', `The mapping of ${this.#shown(code)} in ${this.#name} is offline`);
      }
      if (known) {
        await known.shard.check(known);
        // Another mapping isn't there either: an operation is between the map and the shard.
        if (this.#removeVoid(known) && (found += 1) > 1) await this.#clock.sleep(PAUSE_MS);
        this.#locateAgain(known.shard);
      } else await this.#lookUp(code);
    }
    throw shardsError(
      'shard-map-changing',
      `The map ${this.#name} and its shards didn't agree on the mapping of ${this.#shown(code)} in ${ROUNDS} rounds`,
    );
  }

  /** The map is asked once for one key at a time. */
  #lookUp(code: string): Promise<void> {
    const running = this.#lookUps.get(code);
    if (running) return running;
    const started = this.#lookUpNow(code).finally(() => this.#lookUps.delete(code));
    this.#lookUps.set(code, started);
    return started;
  }

  async #lookUpNow(code: string): Promise<void> {
    const document = await this.#map.mapping(code);
    if (!document) throw shardsError('mapping-missing', `No mapping of ${this.#name} has the key ${this.#shown(code)}`);
    const known = this.#shards.get(document.shard);
    if (known) return void this.#put(document, known);
    const shard = await this.#map.shard(document.shard);
    // A mapping and its shard that are read at different times: the next round reads again.
    if (shard) this.#put(document, this.#know(shard));
  }

  #put(document: MappingDocument, shard: KnownShard): CachedMapping {
    const mapping = new CachedMapping(document, shard);
    this.counts.removed += this.#cache.put(mapping);
    this.counts.added += 1;
    return mapping;
  }

  #removeVoid(mapping: CachedMapping): boolean {
    if (mapping.isVoid && this.#cache.remove(mapping)) this.counts.removed += 1;
    return mapping.isVoid;
  }

  /** A shard that doesn't answer may have another location, and its mappings may be elsewhere. False: not asked. */
  async #lookAgain(shard: KnownShard): Promise<boolean> {
    const run = async (): Promise<void> => {
      if (!(await this.#isThere(shard))) return;
      const ids = await this.#map.mappingIds(shard.id);
      this.counts.removed += this.#cache.removeIf((mapping) => mapping.shard === shard && !ids.has(mapping.id));
    };
    return shard.lookUp(shard.silence, run).catch((error: unknown) => {
      if (error instanceof Unavailable) return false;
      throw error;
    });
  }

  /** The old database of a shard that was attached elsewhere may answer for long. */
  #locateAgain(shard: KnownShard): void {
    if (this.#clock.monotonic() - shard.locatedAt <= LOCATED_FOR * this.#options.validForMs) return;
    shard.locatedAt = this.#clock.monotonic();
    // No call waits for it, and a database of maps that doesn't answer stops no call.
    this.#isThere(shard).catch(() => undefined);
  }

  /** Reads the shard's document in the map. If it changed, the shard and its mappings are forgotten. */
  async #isThere(shard: KnownShard): Promise<boolean> {
    const document = await this.#map.shard(shard.id);
    if (document?.version === shard.version) return true;
    if (this.#shards.get(shard.id) === shard) this.#forget(shard);
    if (document) this.#know(document);
    return false;
  }

  #know(document: ShardDocument): KnownShard {
    const known = this.#shards.get(document.shard);
    if (known?.version === document.version) return known;
    if (known) this.#forget(known);
    const shard = this.#open(document);
    this.#shards.set(shard.id, shard);
    return shard;
  }

  #forget(shard: KnownShard): void {
    this.#shards.delete(shard.id);
    this.#validationsBefore += shard.validations;
    this.counts.removed += this.#cache.removeIf((mapping) => mapping.shard === shard);
  }

  get #name(): string {
    return this.#map.header.name;
  }

  #shown(code: string): string {
    const { keyType } = this.#map.header;
    return shownKey(keyType, keyJson(keyType, code));
  }
}

/** A container that isn't there is an answer too: the shard's database may be gone because its keys are elsewhere. */
const foundNothing = <T>(answer: Promise<T>, isNothing: (answer: T) => boolean): Promise<boolean> =>
  answer.then(isNothing, (error: unknown) => {
    if (error instanceof MillraceError && error.code === 'container-missing') return true;
    throw error;
  });
