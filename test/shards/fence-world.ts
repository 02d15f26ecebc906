import { encodeKey } from '../../src/shards/keys/key-type.ts';
import { type MappingDocument, type ShardLocation, isMapping, isShard } from '../../src/shards/map/documents.ts';
import type { FencedKey, SetFences } from '../../src/shards/map/fences.ts';
import type { Random } from '../support/random.ts';
import type { Actor, Administrator, MapWorld } from './map-world.ts';

/** Mistakes that fences tempt to. The world makes them in place of the code. */
export const FENCE_MISTAKES = [
  'a router creates a missing fence',
  'a write asks only whether the fence is open',
  'a late opening is not conditional',
  'the fence is not closed',
  'the fence is set after the map shows the operation',
] as const;
export type FenceMistake = (typeof FENCE_MISTAKES)[number];

interface Fence {
  readonly mapping: string | undefined;
  readonly generation: number;
}

interface Known {
  readonly mapping: MappingDocument;
  readonly location: ShardLocation;
}

/** The fences of all shards, administrators that set them, and writers that sleep between reading the map and writing. */
export class FenceWorld {
  readonly #world: MapWorld;
  readonly #random: Random;
  readonly #mistake: FenceMistake | undefined;
  readonly #fences = new Map<string, Fence>();
  /** Mappings that an administrator knows to be offline, by the shard that they were on. */
  readonly #offline = new Set<string>();
  readonly totals = { landed: 0, refused: 0 };
  wrong: string | undefined;

  constructor(world: MapWorld, random: Random, mistake?: FenceMistake) {
    this.#world = world;
    this.#random = random;
    this.#mistake = mistake;
  }

  administrator(): Administrator {
    const setFences: SetFences = async ({ location }, keys, generation) => {
      const isLate = this.#mistake === 'the fence is set after the map shows the operation';
      const setAll = async (): Promise<void> => {
        for (const key of keys) await this.#set(one, location, key, generation);
      };
      if (isLate) void setAll().catch(() => undefined);
      else await setAll();
    };
    const one: Administrator = this.#world.administrator({ setFences });
    return one;
  }

  /** As an application may do by mistake. */
  lose(key: number): void {
    for (const database of ['A', 'B']) this.#fences.delete(`${database}|${encodeKey('int32', key)}`);
  }

  isOffline({ id }: { readonly id: string }): void {
    this.#offline.add(id);
  }

  /** One write: by the mapping that the map showed some time ago. */
  async write(by: Actor, key: number): Promise<void> {
    const code = encodeKey('int32', key);
    const known = await this.#world.request(by, () => this.#shown(code));
    if (known?.mapping.status !== 'online') return;
    // It sleeps, is sent, and may be sent again.
    await this.#sleep(by, this.#random.int(this.#random.chance(0.5) ? 200 : 30));
    for (let times = this.#random.chance(0.2) ? 2 : 1; times > 0; times--)
      await this.#world.request(by, () => this.#land(code, known), true);
  }

  #landLate(set: () => unknown): void {
    const wire: Actor = { dead: false };
    const land = async (): Promise<void> => {
      await this.#sleep(wire, this.#random.int(120));
      await this.#world.request(wire, set, true);
    };
    void land().catch(() => undefined);
  }

  async #sleep(by: Actor, steps: number): Promise<void> {
    for (let left = steps; left > 0; left--) await this.#world.request(by, () => undefined);
  }

  #shown(code: string): Known | undefined {
    const all = [...this.#world.map.entries.values()];
    const mapping = all.filter(isMapping).find(({ low }) => low === code);
    const shard = mapping && all.filter(isShard).find((one) => one.shard === mapping.shard);
    return mapping && shard && { mapping, location: shard.location };
  }

  #land(code: string, { mapping, location }: Known): void {
    const at = `${location.database}|${code}`;
    if (this.#mistake === 'a router creates a missing fence' && !this.#fences.has(at))
      this.#fences.set(at, { mapping: mapping.id, generation: 0 });
    const fence = this.#fences.get(at);
    const asksForOpen = this.#mistake === 'a write asks only whether the fence is open';
    const passes = fence && (asksForOpen ? fence.mapping !== undefined : fence.mapping === mapping.id);
    this.totals[passes ? 'landed' : 'refused'] += 1;
    if (!passes) return;
    // The oracle knows the map, and nothing of fences.
    const now = this.#shown(code);
    if (now?.mapping.status === 'online' && now.location.database !== location.database)
      this.wrong ??= `a write of ${code} landed on ${location.database}, its key is on ${now.location.database}`;
    if (this.#offline.has(mapping.id)) this.wrong ??= `a write of ${code} landed after its mapping was offline`;
  }

  /** The condition of a patch and the write take effect in one step, as in the store. */
  async #set(by: Actor, { database }: ShardLocation, { code, mapping }: FencedKey, generation: number): Promise<void> {
    if (this.#mistake === 'the fence is not closed' && mapping === undefined) return;
    const at = `${database}|${code}`;
    const isConditional = this.#mistake !== 'a late opening is not conditional';
    const set = (): boolean => {
      if (this.#world.down.has(database)) throw new Error(`${database} is down`);
      const now = this.#fences.get(at);
      if (!now || now.generation < generation || !isConditional) this.#fences.set(at, { mapping, generation });
      return this.#world.faults && this.#random.chance(0.1);
    };
    if (this.#world.faults && this.#random.chance(0.3)) await this.#sleep(by, this.#random.int(100));
    // A request that got no answer may take effect late, after it was sent again.
    if (this.#world.faults && this.#random.chance(0.3)) this.#landLate(set);
    // Where its answer is lost it is sent again.
    while (await this.#world.request(by, set, true));
  }
}
