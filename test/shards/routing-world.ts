import type { Clock } from '../../src/base/clock.ts';
import { RouterGate, type Held, type ShardPass } from '../../src/shards/gate/shard-gate.ts';
import {
  type RouterDocument,
  type ShardGateDocument,
  type ShardGateStore,
  firstShardGate,
} from '../../src/shards/gate/shard-gate-store.ts';
import { ShardGates } from '../../src/shards/gate/shard-gates.ts';
import { encodeKey } from '../../src/shards/keys/key-type.ts';
import { covers } from '../../src/shards/keys/spans.ts';
import {
  type LocalHeader,
  type MapHeader,
  type ShardLocation,
  isMapping,
  isShard,
} from '../../src/shards/map/documents.ts';
import { Sheet } from '../../src/shards/map/header-guarded-partition.ts';
import type { Random } from '../support/random.ts';
import { Sleepers } from '../support/sleepers.ts';
import { VirtualProcess } from '../support/virtual-time.ts';
import { type Actor, type Administrator, MAP, MapWorld, PARTITION, sheetAt } from './map-world.ts';

/**
 * Mistakes that the protocol of gates tempts to, with the seed of a history that shows each. The world makes them in
 * place of the code.
 */
export const GATE_MISTAKES = {
  'the gate needs no newer reading': 1,
  'drained before the map has changed': 1,
  'moved without draining': 1,
  'taken for held after routers have opened': 254,
  'readings count for a time': 3,
  'acknowledged with a write inside': 1,
  'a silent router counts as stopped': 1,
  'a router is forgotten before its write has landed': 1,
  'a router joins by an older gate': 8,
  'routers read from an older answer': 13,
  'opened late and unconditionally': 51,
  'admitted by what is read, without a heartbeat': 12,
} as const;
export type GateMistake = keyof typeof GATE_MISTAKES;

interface Present {
  readonly router: RouterDocument;
  readonly at: number;
}

/** The logical partition of a gate. */
interface Partition {
  readonly gate: ShardGateDocument;
  readonly routers: ReadonlyMap<string, Present>;
}

const SILENT_MS = 20_000;
/** No history takes longer, unless a process waits for ever. */
const LONGEST_MS = 3_000_000;

/** A process in virtual time. */
export class Process extends VirtualProcess implements Actor {
  dead = false;
}

/** A map, its shards and their gates in memory; time passes while no process has a request. */
export class RoutingWorld implements Clock {
  readonly maps: MapWorld;
  readonly #random: Random;
  readonly #mistake: GateMistake | undefined;
  readonly #sleepers = new Sleepers();
  /** Every state of each gate's partition. */
  readonly #gates = new Map<string, Partition[]>();
  #now = 0;
  /** True: time stands still. */
  isOver = false;

  constructor(random: Random, mistake?: GateMistake) {
    this.#random = random;
    this.#mistake = mistake;
    this.maps = new MapWorld(random, 'range');
    this.maps.idle = () => this.#pass();
  }

  is(mistake: GateMistake): boolean {
    return this.#mistake === mistake;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#sleepers.sleepUntil(this.#now + ms, signal);
  }

  #pass(): boolean {
    const { next } = this.#sleepers;
    if (this.isOver || next > LONGEST_MS) return false;
    this.#now = Math.max(next, this.#now);
    this.#sleepers.wakeAt(this.#now);
    return true;
  }

  /** A process that changes the map, and its gates. */
  administrator(): { readonly by: Administrator; readonly gates: ShardGates; readonly process: Process } {
    const process = new Process(this);
    const gates = new ShardGates((shard) => this.gate(process, shard), process);
    const by = this.maps.administrator({
      clock: process,
      drain: ({ shard, below }, options) => {
        if (this.is('moved without draining')) return Promise.resolve();
        const isBefore = this.is('drained before the map has changed');
        return gates.drain(shard, isBefore ? this.maps.generationBefore(shard, below) : below, options);
      },
    });
    return { by, gates, process };
  }

  /** The store of a shard's gate, as one process reaches it. */
  gate(process: Process, shard: string, isThrottled = (): boolean => false): ShardGateStore {
    let seen = 0;
    const of = { map: MAP, shard };
    const states: Partition[] = this.#gates.get(shard) ?? [{ gate: firstShardGate(of), routers: new Map() }];
    this.#gates.set(shard, states);
    const last = (): Partition => states.at(-1)!;
    const older = (): Partition => {
      const back = this.maps.faults && this.#random.chance(0.3) ? this.#random.int(4) : 0;
      return states[Math.max(0, states.length - 1 - back)]!;
    };
    const alive = ({ routers }: Partition): RouterDocument[] =>
      [...routers.values()].filter((one) => this.#lives(one)).map(({ router }) => router);
    const send = async <T>(run: () => T, isWrite: boolean, longest = 0): Promise<T> => {
      if (isWrite && isThrottled()) throw new Error('throttled');
      if (longest > 0 && this.maps.faults && this.#random.chance(0.2)) await this.sleep(this.#random.int(longest));
      const result = await this.maps.request(process, run, isWrite);
      await process.awake();
      if (isWrite && this.maps.faults && this.#random.chance(0.03)) throw new Error('The answer was lost');
      return result;
    };
    return {
      read: () => send(() => older().gate, false),
      ensure: () => send(() => older().gate, false),
      leave: (member) =>
        send(() => {
          const routers = new Map(last().routers);
          routers.delete(member);
          states.push({ ...last(), routers });
        }, true),
      beat: async (next) => {
        const { member, joins } = next();
        const router = this.is('acknowledged with a write inside')
          ? { ...member, acknowledged: Math.max(member.acknowledged, joins ? 0 : seen) }
          : member;
        if (!joins && isThrottled() && this.is('admitted by what is read, without a heartbeat')) return older().gate;
        const answer = await send(
          () => {
            const { gate, routers } = last();
            const known = routers.get(member.id);
            if (!joins && !(known && this.#lives(known))) return undefined;
            states.push({
              gate,
              routers: new Map([...routers, [member.id, { router, at: this.#now }]]),
            });
            if (!joins || !this.is('a router joins by an older gate')) return gate;
            return states[Math.max(0, states.length - 1 - this.#random.int(30))]!.gate;
          },
          true,
          5_000,
        );
        seen = Math.max(seen, answer?.generation ?? 0);
        return answer;
      },
      change: (gate, next) =>
        send(
          () => {
            const { gate: now, routers } = last();
            const blind = this.is('opened late and unconditionally') && 'closing' in next;
            if (now.generation !== gate.generation && !blind) return undefined;
            const changed: ShardGateDocument = { ...now, ...next, generation: gate.generation + 1 };
            const kept = this.is('the gate needs no newer reading') ? { ...changed, needs: 0 } : changed;
            states.push({ gate: kept, routers });
            return changed;
          },
          true,
          150_000,
        ),
      members: (generation) =>
        send(() => {
          const state = older();
          if (this.is('routers read from an older answer')) return alive(state);
          if (state.gate.generation < generation) return undefined;
          return alive(state).filter(
            (one) => !this.is('a silent router counts as stopped') || !this.#isSilent(state, one),
          );
        }, false),
    };
  }

  #lives({ router, at }: Present): boolean {
    const ttl = this.is('a router is forgotten before its write has landed') ? 20 : router.ttl;
    return this.#now - at <= ttl * 1_000;
  }

  #isSilent({ routers }: Partition, { id }: RouterDocument): boolean {
    return this.#now - (routers.get(id)?.at ?? 0) > SILENT_MS;
  }
}

/** A shard and a mapping as a router knows them. */
interface Entry {
  readonly mapping: string;
  readonly shard: string;
  readonly version: string;
  readonly location: ShardLocation;
  validatedAt: number;
  /** When it was validated, for the mistake. */
  at: number;
}

export interface Write {
  readonly key: number;
  readonly database: string;
  readonly shard: string;
}

/** What an oracle sees of routers. */
export interface Watcher {
  admitted(write: Write): void;
  landed(write: Write): void;
}

const codeOf = (key: number): string => encodeKey('int32', key);
/** A write that is sent lands within this: the client ends it after a minute. */
const LANDING_MS = 65_000;
const USED_MS = 30_000;

/** A router with a simple cache. */
export class ModelRouter {
  readonly process: Process;
  throttledUntil = 0;
  readonly #world: RoutingWorld;
  readonly #watcher: Watcher;
  readonly #entries = new Map<number, Entry>();
  readonly #gates = new Map<string, RouterGate>();

  constructor(world: RoutingWorld, watcher: Watcher) {
    this.#world = world;
    this.#watcher = watcher;
    this.process = new Process(world);
  }

  /** The database to which a write of the key would be admitted now. */
  admits(key: number): string | undefined {
    const entry = this.#entries.get(key);
    if (!entry || !this.process.isAwake || this.process.dead) return undefined;
    const pass = this.#enter(key, entry);
    if (pass === undefined || typeof pass === 'string') return undefined;
    pass[Symbol.dispose]();
    return entry.location.database;
  }

  #enter(key: number, { shard, validatedAt, at }: Entry): ShardPass | Held | undefined {
    const age = this.#world.monotonic() - at;
    const counts = this.#world.is('readings count for a time') && age < USED_MS;
    return this.#gates.get(shard)?.enter(codeOf(key), counts ? Infinity : validatedAt);
  }

  /** Resolves with whether a write was admitted, has landed and was answered. */
  async write(key: number, landingMs: number): Promise<boolean> {
    for (let tries = 0; tries < 6; tries++) {
      const entry = this.#entries.get(key) ?? (await this.#lookUp(key));
      await this.process.awake();
      if (!entry) return false;
      if (!this.#gates.has(entry.shard)) await this.#open(entry.shard);
      await this.process.awake();
      const pass = this.#enter(key, entry);
      if (this.process.dead) return false;
      if (pass === 'stale') await this.#validate(key, entry);
      else if (pass === undefined || typeof pass === 'string')
        await Promise.race([this.#gates.get(entry.shard)?.changed(), this.process.sleep(5_000)]);
      else {
        using _ = pass;
        const write: Write = { key, database: entry.location.database, shard: entry.shard };
        this.#watcher.admitted(write);
        await this.#world.sleep(Math.min(landingMs, LANDING_MS));
        this.#watcher.landed(write);
        await this.process.awake();
        return true;
      }
    }
    return false;
  }

  async #open(shard: string): Promise<void> {
    const store = this.#world.gate(this.process, shard, () => this.#world.monotonic() < this.throttledUntil);
    const gate = new RouterGate(store, { map: MAP, shard }, { pollMs: 3_000, clock: this.process });
    await gate.open();
    this.#gates.set(shard, gate);
  }

  async #lookUp(key: number): Promise<Entry | undefined> {
    const { maps } = this.#world;
    const whole = await new Sheet(maps.store<MapHeader>(this.process, PARTITION), this.process).whole();
    const all = [...(whole?.entries.values() ?? [])];
    const mapping = all.filter(isMapping).find((one) => covers(one, codeOf(key)) && one.status === 'online');
    const shard = all.filter(isShard).find((one) => one.shard === mapping?.shard);
    if (!mapping || !shard || shard.detached) return undefined;
    // What was known of the shard at another location doesn't count.
    for (const [other, entry] of this.#entries)
      if (entry.shard === shard.shard && entry.version !== shard.version) this.#entries.delete(other);
    const { version, location } = shard;
    const entry: Entry = { mapping: mapping.id, shard: shard.shard, version, location, validatedAt: 0, at: -Infinity };
    await this.#validate(key, entry);
    return this.#entries.get(key);
  }

  async #validate(key: number, entry: Entry): Promise<void> {
    const { maps } = this.#world;
    const store = maps.store<LocalHeader>(this.process, sheetAt(entry.location, entry.shard), entry.location.database);
    const local = await new Sheet(store, this.process).whole();
    const mapping = local?.entries.get(entry.mapping);
    const isThere = mapping && isMapping(mapping) && mapping.status === 'online';
    // A generation that stays too low: the shard may be elsewhere.
    const isOlder = entry.validatedAt > 0 && (local?.header.generation ?? 0) <= entry.validatedAt;
    if (!local || !isThere || isOlder) return void this.#entries.delete(key);
    this.#entries.set(key, Object.assign(entry, { validatedAt: local.header.generation, at: this.#world.monotonic() }));
  }
}
