import type { Database } from '@azure/cosmos';
import type { Clock } from '../../src/base/clock.ts';
import { Unavailable } from '../../src/cosmos/retry.ts';
import { encodeKey } from '../../src/shards/keys/key-type.ts';
import { covers } from '../../src/shards/keys/spans.ts';
import {
  type LocalHeader,
  type MapHeader,
  type MappingDocument,
  type ShardDocument,
  isMapping,
  isShard,
} from '../../src/shards/map/documents.ts';
import type { Whole } from '../../src/shards/map/header-guarded-partition.ts';
import { type CachedMapping, KnownShard, type Local } from '../../src/shards/routing/known-shard.ts';
import { type Lookups, Routes } from '../../src/shards/routing/routes.ts';
import type { Random } from '../support/random.ts';
import type { Actor, MapWorld } from './map-world.ts';

/** Mistakes that routing tempts to, with the seed of a history that shows each. */
export const ROUTING_MISTAKES = {
  'header and mapping read apart': 2,
  'generations without digests': 1,
  'never validated again': 1,
  'filled from local maps alone': 14,
} as const;
export type RoutingMistake = keyof typeof ROUTING_MISTAKES;

/** How long a mapping may be used without validation, in steps of the world. */
export const VALID_FOR = 30;
/** So many commits a lagging replica may be behind. */
const LAG = 3;

interface Kept<H extends LocalHeader | MapHeader> {
  readonly state: Whole<H>;
  readonly since: number;
}

/** A process that routes, on the stores of a world whose states it keeps. It knows nothing of the map's operations. */
export class RouterWorld implements Actor {
  readonly dead = false;
  readonly routes: Routes;
  steps = 0;
  readonly #world: MapWorld;
  readonly #random: Random;
  readonly #mistake: RoutingMistake | undefined;
  readonly #maps: Kept<MapHeader>[] = [];
  readonly #locals = new Map<string, Kept<LocalHeader>[]>();
  /** Mappings that the map has shown. */
  readonly #shown = new Set<string>();
  wrong: string | undefined;

  constructor(world: MapWorld, random: Random, mistake?: RoutingMistake) {
    this.#world = world;
    this.#random = random;
    this.#mistake = mistake;
    world.watch = () => this.#look();
    this.#look();
    const clock: Clock = {
      now: () => this.steps,
      monotonic: () => this.steps,
      sleep: () => world.request(this, () => undefined),
    };
    const validForMs = mistake === 'never validated again' ? Infinity : VALID_FOR;
    const open = (document: ShardDocument): KnownShard =>
      new KnownShard(document, {} as Database, this.#local(document), { clock, validForMs });
    this.routes = new Routes(this.#lookups(), open, { clock, validForMs });
  }

  /** Asks where a key is, and judges the mapping at the moment at which it is used. Returns the shard, or the error's code. */
  async where(key: number): Promise<string> {
    const code = encodeKey('int32', key);
    const used = (mapping: CachedMapping): Promise<string> => {
      // As `enter` does: the mapping is looked at again in the step in which it is used.
      if (mapping.shard.has(mapping)) this.#judge(code, mapping);
      return Promise.resolve(mapping.shard.id);
    };
    return this.routes.reach(code, used).catch((error: unknown) => (error as { code?: string }).code ?? String(error));
  }

  #judge(code: string, { id, shard }: CachedMapping): void {
    const states = this.#locals.get(shard.id) ?? [];
    const at = states.findIndex(({ state }) => state.header.generation === shard.generation);
    const found = states[at]?.state.entries.get(id);
    if (!found || !isMapping(found) || found.status !== 'online' || !covers(found, code))
      this.#fail(`a local map did not have the mapping of ${code} at generation ${shard.generation}`);
    if (!this.#shown.has(id)) this.#fail(`a mapping was used that the map never showed`);
    const oldest = states.findLastIndex(({ since }) => since <= this.steps - VALID_FOR) - LAG;
    if (at < oldest) this.#fail(`a mapping was used for longer than ${VALID_FOR} steps`);
  }

  #look(): void {
    const { map } = this.#world;
    if (this.#maps.at(-1)?.state !== map) this.#maps.push({ state: map, since: this.steps });
    for (const entry of map.entries.values()) {
      if (isMapping(entry)) this.#shown.add(entry.id);
      if (isShard(entry)) this.#keepLocal(entry);
    }
  }

  #keepLocal({ shard, location }: ShardDocument): void {
    const state = this.#world.local(shard, location) as Whole<LocalHeader> | undefined;
    const states = this.#locals.get(shard) ?? [];
    this.#locals.set(shard, states);
    if (state && states.at(-1)?.state !== state) states.push({ state, since: this.steps });
  }

  #read<H extends LocalHeader | MapHeader>(states: readonly Kept<H>[]): Whole<H> | undefined {
    const back = this.#world.faults && this.#random.chance(0.3) ? this.#random.int(LAG + 1) : 0;
    return states[Math.max(0, states.length - 1 - back)]?.state;
  }

  #lookups(): Lookups {
    const ask = <T>(pick: (entries: readonly (MappingDocument | ShardDocument)[]) => T): Promise<T> =>
      this.#world.request(this, () => {
        const all = [...(this.#read(this.#maps)?.entries.values() ?? [])];
        return pick(all.filter((entry) => isMapping(entry) || isShard(entry)));
      });
    return {
      header: this.#world.map.header,
      mapping: (code) => ask((all) => all.filter(isMapping).find((entry) => covers(entry, code))),
      mappings: () =>
        ask((all) => {
          const local = [...this.#locals.values()].flatMap((states) => [
            ...(states.at(-1)?.state.entries.values() ?? []),
          ]);
          const from = this.#mistake === 'filled from local maps alone' ? local : all;
          return from.filter(isMapping).toSorted((a, b) => (a.low < b.low ? -1 : 1));
        }),
      mappingIds: (shard) =>
        ask((all) => new Set(all.filter((one) => isMapping(one) && one.shard === shard).map(({ id }) => id))),
      shard: (id) => ask((all) => all.filter(isShard).find(({ shard }) => shard === id)),
      shards: () => ask((all) => all.filter(isShard)),
    };
  }

  #local({ shard, location }: ShardDocument): Local {
    const ask = <T>(pick: (read: () => Whole<LocalHeader> | undefined) => T): Promise<T> =>
      this.#world.request(this, () => {
        if (this.#world.down.has(location.database))
          throw new Unavailable('Gave up', Object.assign(new Error('down'), { code: 'ECONNREFUSED' }));
        return pick(() => this.#read(this.#locals.get(shard) ?? []));
      });
    const headerOf = (state: Whole<LocalHeader> | undefined): LocalHeader | undefined =>
      state && this.#mistake === 'generations without digests' ? { ...state.header, digest: '0' } : state?.header;
    return {
      validations: 0,
      header: () => ask((read) => headerOf(read())),
      find: () =>
        ask((read) => {
          const state = read();
          const other = this.#mistake === 'header and mapping read apart' ? read() : state;
          return { header: headerOf(other), found: state?.entries ?? new Map<string, never>() };
        }),
      whole: () => ask((read) => read()),
    };
  }

  #fail(said: string): void {
    this.wrong ??= said;
  }
}
