import { randomUUID } from 'node:crypto';
import type { Mapping, Shard } from '../../src/shards/index.ts';
import {
  type LocalHeader,
  type MapKind,
  type MappingDocument,
  type OperationDocument,
  type ShardDocument,
  type ShardLocation,
  isMapping,
  isOperation,
  isShard,
  operationId,
} from '../../src/shards/map/documents.ts';
import { encodeKey } from '../../src/shards/keys/key-type.ts';
import { type KeySpan, covers } from '../../src/shards/keys/spans.ts';
import { Random } from '../support/random.ts';
import { type Call, KEYS, Oracle, type Piece, textOf, unlockedText } from './map-oracle.ts';
import { type Administrator, MapWorld, type Mistake } from './map-world.ts';

/** What befalls the stores in the middle of a history. */
export const DISASTERS = [
  'none',
  'the map is older, and right',
  'the map is older, and its shards are right',
  'the map is lost',
  'a shard is older and elsewhere',
  'a local map is lost',
] as const;

/** What every run of many histories has. */
export const EVENTS: readonly string[] = [...DISASTERS, 'checked', 'done', 'killed', 'refused', 'repeated', 'undone'];

/** How often things happened, over all histories. */
export const totals: Record<string, number> = {};
const count = (what: string): void => void (totals[what] = (totals[what] ?? 0) + 1);

export interface HistoryOptions {
  readonly kind?: MapKind;
  readonly mistake?: Mistake;
}

/** One history, from its seed. */
export class History {
  readonly #kind: MapKind;
  readonly #random: Random;
  readonly #world: MapWorld;
  readonly #oracle = new Oracle();
  readonly #calls = new Map<string, Call>();
  readonly #ended = new Set<string>();
  /** Mappings that the map has shown, by id, and those of them that an operation has made void. */
  readonly #shown = new Map<string, MappingDocument>();
  readonly #void = new Set<string>();
  /** Shards that were detached, or restored, and not repaired since: their local maps may have anything. */
  readonly #unrepaired = new Set<string>();
  /** Where the map has shown each shard last. */
  readonly #locations = new Map<string, ShardLocation>();
  /** The keys that each shard's local map has had since the last disaster. */
  readonly #had = new Map<string, Set<number>>();
  /** What the map has shown, in order. */
  readonly #states: (readonly Piece[])[] = [];
  /** A person restores the stores: the oracle doesn't follow the steps, but judges what comes of them. */
  #isRestoring = false;
  #disaster: (typeof DISASTERS)[number] = 'none';
  #wrong: string | undefined;

  constructor(seed: number, { kind = 'range', mistake }: HistoryOptions = {}) {
    this.#kind = kind;
    this.#random = new Random(seed);
    this.#world = new MapWorld(this.#random, kind, mistake);
    this.#world.watch = () => this.#look();
  }

  /** What went wrong. */
  async run(): Promise<string | undefined> {
    await this.#as((one) =>
      Promise.all(['A', 'B'].map((database) => this.#call(one, { verb: 'createShard', database }))),
    );
    await this.#administrators();
    await this.#as((one) => this.#end(one));
    const disaster = this.#random.pick(DISASTERS);
    count(disaster);
    if (disaster === 'none' || this.#wrong !== undefined) return this.#wrong;
    this.#disaster = disaster;
    await this.#befall(disaster);
    await this.#administrators();
    await this.#as((one) => this.#end(one));
    return this.#wrong;
  }

  /** One process, without faults. */
  async #as(act: (one: Administrator) => Promise<unknown>): Promise<void> {
    this.#world.faults = false;
    const ended = act(this.#world.administrator()).catch((error: unknown) =>
      this.#fail(`at the end: ${(error as Error).stack}`),
    );
    await this.#world.run();
    await ended;
  }

  /** Three processes at the same time, with faults. */
  async #administrators(): Promise<void> {
    const world = this.#world;
    world.faults = true;
    const administrators = [1, 2, 3].map(() => world.administrator());
    for (const one of administrators)
      void this.#administer(one).catch((error: unknown) => this.#fail(String((error as Error).stack)));
    await world.run(() => this.#disturb(administrators));
    world.down.clear();
  }

  #disturb(administrators: readonly Administrator[]): void {
    const random = this.#random;
    if (random.chance(0.02)) {
      const database = random.pick(['A', 'B', 'C']);
      if (!this.#world.down.delete(database)) this.#world.down.add(database);
    }
    const alive = administrators.filter(({ dead }) => !dead);
    if (alive.length > 0 && random.chance(0.004)) {
      count('killed');
      this.#world.kill(random.pick(alive));
    }
  }

  async #administer(one: Administrator): Promise<void> {
    const inHand: Mapping[] = [];
    for (let calls = 0; calls < 6; calls++) {
      // Some decide by what they read before.
      if (inHand.length === 0 || this.#random.chance(0.8)) inHand.splice(0, Infinity, ...(await one.map.mappings()));
      const shards = await one.map.shards();
      const shard = shards[this.#random.int(shards.length)];
      if (shard && this.#random.chance(0.06)) await this.#compare(one, shard);
      else {
        const call = this.#choose(inHand, shard);
        if (call) await this.#call(one, call);
      }
    }
  }

  #choose(mappings: readonly Mapping[], shard: Shard | undefined): Call | undefined {
    const random = this.#random;
    const mapping = mappings[random.int(mappings.length)];
    const owner = random.chance(0.8) ? {} : { owner: random.pick(['x', 'y']) };
    const status = random.pick(['online', 'offline'] as const);
    if (shard?.detached && random.chance(0.5)) return { verb: 'attachShard', shard, database: shard.location.database };
    const dice = random.unit();
    if (dice < 0.05) return { verb: 'createShard', database: 'C' };
    if (!shard) return undefined;
    if (dice < 0.1) return { verb: 'deleteShard', shard };
    if (dice < 0.12) return { verb: 'detachShard', shard };
    if (dice < 0.35 || !mapping) {
      const low = random.int(KEYS);
      const keys = this.#kind === 'list' ? 1 : 1 + random.int(KEYS - low);
      return { verb: 'createMapping', shard, low, high: low + keys, status };
    }
    if (dice < 0.45) return { verb: 'deleteMapping', mapping, ...owner };
    if (dice < 0.75 || (this.#kind === 'list' && dice < 0.93))
      return { verb: 'updateMapping', mapping, status, ...(random.chance(0.6) && { shard }), ...owner };
    if (dice < 0.85) return { verb: 'splitMapping', mapping, at: random.int(KEYS), ...owner };
    if (dice < 0.93) {
      const upper = mappings.find(({ low }) => low === mapping.high) ?? mapping;
      return { verb: 'mergeMappings', lower: mapping, upper, ...owner, ...(random.chance(0.5) && { upperOwner: 'x' }) };
    }
    return { verb: random.pick(['lockMapping', 'unlockMapping'] as const), mapping, owner: random.pick(['x', 'y']) };
  }

  /** Compares a shard with the map, and repairs the shard. */
  async #compare({ map }: Administrator, shard: Shard): Promise<void> {
    const wasUnrepaired = this.#unrepaired.has(shard.id);
    try {
      const found = await map.check(shard);
      if (found.length > 0 && !wasUnrepaired && !this.#unrepaired.has(shard.id))
        this.#fail(`a shard differs: ${JSON.stringify(found)}`);
      count('checked');
      await map.repairShard(shard, 'map');
    } catch (error) {
      this.#assertKnown('check', codeOf(error));
    }
  }

  /** Sends a call, and again where it is unknown whether it took effect. */
  async #call({ map }: Administrator, call: Call): Promise<void> {
    const id = randomUUID();
    this.#calls.set(id, call);
    const since = Math.max(0, this.#states.length - 1);
    const times = this.#random.chance(0.2) ? 2 : 1;
    for (let time = 0; time < times; time++) {
      if (time > 0) count('repeated');
      const answer = await send(map, call, id).then(() => 'done', codeOf);
      this.#judge(id, call, answer);
      if (answer === 'keys-mapped' && call.verb === 'createMapping' && !this.#wasMapped(call, since))
        this.#fail('keys that no mapping had during the call were refused as mapped');
      if (answer !== 'done') count('refused');
    }
  }

  #wasMapped({ low, high }: { readonly low: number; readonly high: number }, since: number): boolean {
    return this.#states.slice(since).some((pieces) => pieces.some((piece) => piece.low < high && low < piece.high));
  }

  /** What an answer says is so in the store, at that moment. */
  #judge(id: string, { verb }: Call, answer: string): void {
    const entry = this.#world.map.entries.get(operationId(id)) as OperationDocument | undefined;
    const isDone = entry?.state === 'done';
    this.#assertKnown(verb, answer);
    if (answer === 'done' && !isDone) this.#fail(`${verb} was acknowledged and is ${entry?.state ?? 'unknown'}`);
    if (answer !== 'done' && isDone) this.#fail(`${verb} was done and the answer was ${answer}`);
  }

  #assertKnown(verb: string, answer: string): void {
    if (/^(\w*Error|shard-map-damaged)/.test(answer)) this.#fail(`${verb} failed: ${answer}`);
  }

  get #pieces(): Piece[] {
    return [...this.#world.map.entries.values()].filter(isMapping).map(pieceOf);
  }

  get #shards(): ShardDocument[] {
    return [...this.#world.map.entries.values()].filter(isShard);
  }

  /** After each commit: what has taken effect is made on the oracle; then both must be alike. */
  #look(): void {
    const { entries } = this.#world.map;
    for (const entry of entries.values()) {
      if (isMapping(entry)) this.#shown.set(entry.id, entry);
      if (isShard(entry)) this.#locations.set(entry.shard, entry.location);
      if (!isOperation(entry) || entry.state !== 'done' || this.#ended.has(entry.id)) continue;
      this.#ended.add(entry.id);
      count('done');
      const kept = new Set(entry.adds.map(({ id }) => id));
      for (const { id } of entry.removes) if (!kept.has(id)) this.#void.add(id);
      const call = this.#calls.get(entry.id.slice(operationId('').length));
      if (call?.verb === 'detachShard') this.#unrepaired.add(call.shard.id);
      const made = entry.adds.find(isShard);
      const said = call && this.#oracle.take(call, { ...(made && { shard: made.shard }) });
      if (said !== undefined && !this.#isRestoring) this.#fail(said);
    }
    const pieces = this.#pieces;
    this.#states.push(pieces);
    if (this.#isRestoring) return;
    if (textOf(pieces) !== this.#oracle.text)
      this.#fail(`the map shows\n${textOf(pieces)}\nand should show\n${this.#oracle.text}`);
    this.#admits();
    this.#assertStrays();
  }

  /** What a shard has lost since the last disaster is a stray of it, and nothing that it has, unless it isn't repaired. */
  #assertStrays(): void {
    for (const [shard, location] of this.#locations) {
      const local = this.#localOf(shard);
      const { strays = [] } = (local?.header ?? {}) as Partial<LocalHeader>;
      const name = `${shard} ${JSON.stringify(location)}`;
      const had = this.#had.get(name) ?? new Set<number>();
      this.#had.set(name, had);
      const mapped = [...(local?.entries.values() ?? [])].filter(isMapping);
      for (let key = 0; key < KEYS; key++) {
        const isIn = (spans: readonly KeySpan[]): boolean => spans.some((one) => covers(one, encodeKey('int32', key)));
        const [isMapped, isStray] = [isIn(mapped), strays !== 'unknown' && isIn(strays)];
        if (isMapped) had.add(key);
        // An attached shard may still have mappings that went elsewhere while it was detached.
        if (isMapped && isStray && !this.#unrepaired.has(shard))
          this.#fail(`the key ${key} is mapped and a stray in ${shard}`);
        if (!isMapped && !isStray && had.has(key)) this.#fail(`the key ${key} was lost by ${shard} and is no stray`);
      }
    }
  }

  /** A router may know any mapping that the map ever showed. The local map of its shard says whether it counts. */
  #admits(): void {
    for (let key = 0; key < KEYS; key++) {
      const shards = new Set<string>();
      for (const { shard, id } of this.#shown.values()) {
        const local = this.#unrepaired.has(shard) ? undefined : this.#localOf(shard)?.entries.get(id);
        if (!local || !isMapping(local)) continue;
        if (this.#void.has(id)) this.#fail(`a shard still has the void mapping ${id}`);
        const { low, high, status } = pieceOf(local);
        if (status === 'online' && low <= key && key < high) shards.add(shard);
      }
      if (shards.size > 1) this.#fail(`${shards.size} shards admit the key ${key}`);
    }
  }

  #localOf(shard: string) {
    const location = this.#locations.get(shard);
    return location && this.#world.local(shard, location);
  }

  /** The next process leaves nothing pending, and map and shards alike. */
  async #end(one: Administrator): Promise<void> {
    const { map } = one;
    const left = await map.settle();
    if (left.length > 0) this.#fail(`${left.length} operations are still pending with all shards up`);
    for (const shard of await map.shards()) {
      const { database } = shard.location;
      if (shard.detached) await this.#call(one, { verb: 'attachShard', shard, database });
      if (this.#unrepaired.has(shard.id)) await map.repairShard(shard, 'map');
      this.#unrepaired.delete(shard.id);
    }
    const differences = await map.check();
    if (differences.length > 0) this.#fail(`map and local maps differ: ${JSON.stringify(differences)}`);
    for (const entry of this.#world.map.entries.values())
      if (isOperation(entry)) {
        if (entry.state === 'undone') count('undone');
        if (entry.state === 'pending' || entry.state === 'undoing') this.#fail(`an operation is ${entry.state}`);
      }
    for (const shard of await map.shards())
      if ((this.#localOf(shard.id)?.header as LocalHeader | undefined)?.removed)
        this.#fail('a shard counts as removed');
    this.#admits();
  }

  /** A store is restored or lost, and a person brings the stores together again. */
  async #befall(disaster: (typeof DISASTERS)[number]): Promise<void> {
    const before = { pieces: this.#pieces, shards: this.#shards };
    this.#isRestoring = true;
    if (disaster === 'a shard is older and elsewhere') await this.#as((one) => this.#loseShard(one));
    else if (disaster === 'a local map is lost') await this.#as((one) => this.#loseLocalMap(one));
    else if (disaster === 'the map is lost') {
      this.#world.createMap(this.#kind, randomUUID());
      await this.#as(async (one) => {
        for (const { location } of before.shards) {
          const shard = await one.map.adoptShard(location);
          await one.map.repairShard(shard, 'shard');
        }
      });
      this.#expect(before.pieces);
    } else await this.#restoreMap(before, disaster === 'the map is older, and right');
    for (const known of [this.#shown, this.#void, this.#unrepaired, this.#had]) known.clear();
    this.#isRestoring = false;
    this.#oracle.reset(this.#shards, this.#pieces);
    this.#look();
  }

  async #restoreMap(
    before: { readonly pieces: readonly Piece[]; readonly shards: readonly ShardDocument[] },
    isRight: boolean,
  ): Promise<void> {
    const state = this.#random.pick(this.#world.mapStates);
    this.#world.restoreMap(state);
    const pending = [...state.entries.values()].find((entry) => isOperation(entry) && entry.state === 'pending');
    const restored = this.#pieces;
    await this.#as(async (one) => {
      const { map } = one;
      await map.settle();
      if (!isRight) {
        const known = new Set((await map.shards()).map(({ id }) => id));
        for (const { location, shard } of before.shards) if (!known.has(shard)) await this.#adopt(one, location);
      }
      for (const shard of await map.shards()) if (shard.detached) await map.attachShard(shard, shard.location);
      const { stays } = await map.repairAll(isRight ? 'map' : 'shard');
      if (stays.length > 0) this.#fail('a repair of all left differences');
    });
    // The pending one may have been finished, or undone.
    if (!isRight) this.#expect(before.pieces);
    else if (!pending) this.#expect(restored);
  }

  /** A shard that the map still has there was deleted in the lost time. */
  async #adopt({ map }: Administrator, location: ShardLocation): Promise<void> {
    const deleted = (await map.shards()).find((shard) => shard.location.database === location.database);
    if (deleted) {
      const attached = deleted.detached ? await map.attachShard(deleted, location) : deleted;
      await map.repairShard(attached, 'shard');
      await map.deleteShard(attached);
    }
    await map.adoptShard(location);
  }

  async #loseShard({ map }: Administrator): Promise<void> {
    const [shard] = await map.shards();
    if (!shard) return;
    const pieces = this.#pieces;
    const elsewhere = { database: `${shard.location.database}2` };
    this.#world.restore(shard.id, shard.location, elsewhere);
    await map.repairShard(await map.attachShard(await map.detachShard(shard), elsewhere), 'map');
    this.#expect(pieces);
  }

  async #loseLocalMap({ map }: Administrator): Promise<void> {
    const shard = (await map.shards()).find(({ detached }) => !detached);
    if (!shard) return;
    const pieces = this.#pieces;
    this.#world.lose(shard.id, shard.location);
    const { stays } = await map.repairAll('map');
    if (stays.length > 0) this.#fail('a repair of all left differences');
    this.#expect(pieces);
  }

  #expect(pieces: readonly Piece[]): void {
    if (unlockedText(pieces) !== unlockedText(this.#pieces))
      this.#fail(`restored is\n${unlockedText(this.#pieces)}\nand should be\n${unlockedText(pieces)}`);
  }

  #fail(said: string): void {
    this.#wrong ??= this.#disaster === 'none' ? said : `${this.#disaster}: ${said}`;
  }
}

const codeOf = (error: unknown): string => (error as { code?: string }).code ?? String((error as Error).stack);

const numberOf = (code: string): number => Number(BigInt(`0x${code}`) - 2n ** 31n);

/** A list map's mapping has one key: the same code in `low` and `high`. */
function pieceOf({ low, high, ...rest }: MappingDocument): Piece {
  if (high === low) return { ...rest, low: numberOf(low), high: numberOf(low) + 1 };
  return { ...rest, low: low === '' ? 0 : numberOf(low), high: high === undefined ? KEYS : numberOf(high) };
}

function send(map: Administrator['map'], call: Call, id: string): Promise<unknown> {
  const options = { operationId: id, ...('owner' in call && { owner: call.owner }) };
  if (call.verb === 'createShard') return map.createShard({ database: call.database }, options);
  if (call.verb === 'deleteShard') return map.deleteShard(call.shard, options);
  if (call.verb === 'detachShard') return map.detachShard(call.shard, options);
  if (call.verb === 'attachShard') return map.attachShard(call.shard, { database: call.database }, options);
  if (call.verb === 'createMapping') {
    const { shard, status, low, high } = call;
    return map.createMapping({ shard, status, ...(map.kind === 'list' ? { key: low } : { low, high }) }, options);
  }
  if (call.verb === 'deleteMapping') return map.deleteMapping(call.mapping, options);
  if (call.verb === 'splitMapping') return map.splitMapping(call.mapping, call.at, options);
  if (call.verb === 'mergeMappings') {
    const { upperOwner } = call;
    return map.mergeMappings(call.lower, call.upper, { ...options, ...(upperOwner !== undefined && { upperOwner }) });
  }
  if (call.verb === 'updateMapping') {
    const { status, shard } = call;
    return map.updateMapping(call.mapping, { status, ...(shard && { shard }) }, options);
  }
  const lock = call.verb === 'lockMapping' ? map.lockMapping.bind(map) : map.unlockMapping.bind(map);
  return lock(call.mapping, call.owner, options);
}
