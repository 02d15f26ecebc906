// Random histories of administrators who change one map at the same time: the real map over stores in memory. Requests
// take effect in any order and late, answers are lost, reads are stale, shards can't be reached for a while, processes die
// between any two requests. An oracle makes each operation that took effect on a plain map. SHARD-S1 to SHARD-S7.
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Mapping, Shard } from '../../src/shards/index.ts';
import {
  type LocalHeader,
  type MappingDocument,
  type OperationDocument,
  isMapping,
  isOperation,
  isShard,
  operationId,
} from '../../src/shards/map/documents.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';
import { type Call, KEYS, Oracle, type Piece, textOf } from './map-oracle.ts';
import { type Administrator, MISTAKES, MapWorld, type Mistake } from './map-world.ts';

const SEED = suiteSeed();
const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 150);
/** So many histories are tried with each mistake until one shows it. */
const TRIED = 5_000;

const totals = { done: 0, undone: 0, refused: 0, killed: 0, repeated: 0 };

const codeOf = (code: string | undefined): number =>
  code === undefined ? KEYS : Number(BigInt(`0x${code}`) - 2n ** 31n);

class History {
  readonly #random: Random;
  readonly #world: MapWorld;
  readonly #oracle = new Oracle();
  readonly #calls = new Map<string, Call>();
  readonly #ended = new Set<string>();
  /** Mappings that the map has shown, by id, and those of them that an operation has made void. */
  readonly #shown = new Map<string, MappingDocument>();
  readonly #void = new Set<string>();
  /** What the map has shown, in order. */
  readonly #states: Piece[][] = [];
  #wrong: string | undefined;

  constructor(seed: number, mistake?: Mistake) {
    this.#random = new Random(seed);
    this.#world = new MapWorld(this.#random, 'range', mistake);
    this.#world.watch = () => this.#look();
  }

  async run(): Promise<string | undefined> {
    const world = this.#world;
    const first = world.administrator();
    const shards = Promise.all(['A', 'B'].map((database) => this.#call(first, { verb: 'createShard', database })));
    await world.run();
    await shards;
    world.faults = true;
    const administrators = [1, 2, 3].map(() => world.administrator());
    for (const one of administrators) void this.#administer(one).catch((error: unknown) => this.#fail(String(error)));
    await world.run(() => this.#disturb(administrators));
    world.faults = false;
    world.down.clear();
    const last = world.administrator();
    const end = this.#end(last).catch((error: unknown) => this.#fail(`at the end: ${String(error)}`));
    await world.run();
    await end;
    return this.#wrong;
  }

  #disturb(administrators: readonly Administrator[]): void {
    const random = this.#random;
    if (random.chance(0.02)) {
      const database = random.pick(['A', 'B', 'C']);
      if (!this.#world.down.delete(database)) this.#world.down.add(database);
    }
    const alive = administrators.filter(({ dead }) => !dead);
    if (alive.length > 0 && random.chance(0.004)) {
      totals.killed += 1;
      this.#world.kill(random.pick(alive));
    }
  }

  async #administer(one: Administrator): Promise<void> {
    const inHand: Mapping[] = [];
    for (let calls = 0; calls < 6; calls++) {
      // Some decide by what they read before.
      if (inHand.length === 0 || this.#random.chance(0.8)) inHand.splice(0, Infinity, ...(await one.map.mappings()));
      const call = this.#choose(inHand, await one.map.shards());
      if (call) await this.#call(one, call);
    }
  }

  #choose(mappings: readonly Mapping[], shards: readonly Shard[]): Call | undefined {
    const random = this.#random;
    const [mapping, shard] = [mappings[random.int(mappings.length)], shards[random.int(shards.length)]];
    const owner = random.chance(0.8) ? {} : { owner: random.pick(['x', 'y']) };
    const status = random.pick(['online', 'offline'] as const);
    const dice = random.unit();
    if (dice < 0.05) return { verb: 'createShard', database: 'C' };
    if (!shard) return undefined;
    if (dice < 0.1) return { verb: 'deleteShard', shard };
    if (dice < 0.35 || !mapping) {
      const low = random.int(KEYS);
      return { verb: 'createMapping', shard, low, high: low + 1 + random.int(KEYS - low), status };
    }
    if (dice < 0.45) return { verb: 'deleteMapping', mapping, ...owner };
    if (dice < 0.75) return { verb: 'updateMapping', mapping, status, ...(random.chance(0.6) && { shard }), ...owner };
    if (dice < 0.85) return { verb: 'splitMapping', mapping, at: random.int(KEYS), ...owner };
    if (dice < 0.93) {
      const upper = mappings.find(({ low }) => low === mapping.high) ?? mapping;
      return { verb: 'mergeMappings', lower: mapping, upper, ...owner, ...(random.chance(0.5) && { upperOwner: 'x' }) };
    }
    return { verb: random.pick(['lockMapping', 'unlockMapping'] as const), mapping, owner: random.pick(['x', 'y']) };
  }

  /** Sends a call, and again where it is unknown whether it took effect. */
  async #call({ map }: Administrator, call: Call): Promise<void> {
    const id = randomUUID();
    this.#calls.set(id, call);
    const since = Math.max(0, this.#states.length - 1);
    const times = this.#random.chance(0.2) ? 2 : 1;
    for (let time = 0; time < times; time++) {
      if (time > 0) totals.repeated += 1;
      const answer = await send(map, call, id).then(
        () => 'done',
        (error: unknown) => (error as { code?: string }).code ?? String(error),
      );
      this.#judge(id, call, answer);
      if (answer === 'keys-mapped' && call.verb === 'createMapping' && !this.#wasMapped(call, since))
        this.#fail('keys that no mapping had during the call were refused as mapped');
      if (answer !== 'done') totals.refused += 1;
    }
  }

  #wasMapped({ low, high }: { readonly low: number; readonly high: number }, since: number): boolean {
    return this.#states.slice(since).some((pieces) => pieces.some((piece) => piece.low < high && low < piece.high));
  }

  /** What an answer says is so in the store, at that moment. */
  #judge(id: string, { verb }: Call, answer: string): void {
    const entry = this.#world.map.entries.get(operationId(id)) as OperationDocument | undefined;
    const isDone = entry?.state === 'done';
    if (/^(Error|TypeError|shard-map-damaged)/.test(answer)) this.#fail(`${verb} failed: ${answer}`);
    if (answer === 'done' && !isDone) this.#fail(`${verb} was acknowledged and is ${entry?.state ?? 'unknown'}`);
    if (answer !== 'done' && isDone) this.#fail(`${verb} was done and the answer was ${answer}`);
  }

  /** After each commit: what has taken effect is made on the oracle; then both must be alike. */
  #look(): void {
    const { entries } = this.#world.map;
    for (const entry of entries.values()) {
      if (isMapping(entry)) this.#shown.set(entry.id, entry);
      if (!isOperation(entry) || entry.state !== 'done' || this.#ended.has(entry.id)) continue;
      this.#ended.add(entry.id);
      totals.done += 1;
      const kept = new Set(entry.adds.map(({ id }) => id));
      for (const { id } of entry.removes) if (!kept.has(id)) this.#void.add(id);
      const call = this.#calls.get(entry.id.slice(operationId('').length));
      const made = entry.adds.find(isShard);
      const said = call && this.#oracle.take(call, { ...(made && { shard: made.shard }) });
      if (said !== undefined) this.#fail(said);
    }
    const pieces = [...entries.values()]
      .filter(isMapping)
      .map(({ low, high, ...rest }) => ({ ...rest, low: low === '' ? 0 : codeOf(low), high: codeOf(high) }));
    this.#states.push(pieces);
    if (textOf(pieces) !== this.#oracle.text)
      this.#fail(`the map shows\n${textOf(pieces)}\nand should show\n${this.#oracle.text}`);
    this.#admits();
  }

  /** A router may know any mapping that the map ever showed. The local map of its shard says whether it counts. */
  #admits(): void {
    for (let key = 0; key < KEYS; key++) {
      const shards = new Set<string>();
      for (const { shard, id } of this.#shown.values()) {
        const local = this.#localOf(shard)?.entries.get(id);
        if (!local || !isMapping(local)) continue;
        if (this.#void.has(id)) this.#fail(`a shard still has the void mapping ${id}`);
        if (local.status !== 'online') continue;
        if ((local.low === '' ? 0 : codeOf(local.low)) <= key && key < codeOf(local.high)) shards.add(shard);
      }
      if (shards.size > 1) this.#fail(`${shards.size} shards admit the key ${key}`);
    }
  }

  #localOf(shard: string) {
    return ['A', 'B', 'C']
      .map((database) => this.#world.local(shard, { database }))
      .find((local) => local !== undefined);
  }

  /** The next process leaves nothing pending, and map and shards alike. */
  async #end({ map }: Administrator): Promise<void> {
    const left = await map.settle();
    if (left.length > 0) this.#fail(`${left.length} operations are still pending with all shards up`);
    const differences = await map.check();
    if (differences.length > 0) this.#fail(`map and local maps differ: ${JSON.stringify(differences)}`);
    for (const entry of this.#world.map.entries.values())
      if (isOperation(entry)) {
        if (entry.state === 'undone') totals.undone += 1;
        if (entry.state === 'pending' || entry.state === 'undoing') this.#fail(`an operation is ${entry.state}`);
      }
    for (const shard of await map.shards())
      if ((this.#localOf(shard.id)?.header as LocalHeader | undefined)?.removed)
        this.#fail('a shard counts as removed');
  }

  #fail(said: string): void {
    this.#wrong ??= said;
  }
}

function send(map: Administrator['map'], call: Call, id: string): Promise<unknown> {
  const options = { operationId: id, ...('owner' in call && { owner: call.owner }) };
  if (call.verb === 'createShard') return map.createShard({ database: call.database }, options);
  if (call.verb === 'deleteShard') return map.deleteShard(call.shard, options);
  if (call.verb === 'createMapping') return map.createMapping(call, options);
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

async function failureOf(seed: number, mistake?: Mistake): Promise<string[]> {
  const said = await new History(seed, mistake).run();
  return said === undefined ? [] : [`${said} (MILLRACE_SEED=${seed} MILLRACE_HISTORIES=1)`];
}

describe(`administrators who change one map (seed ${SEED})`, () => {
  it('do what a plain map does, one operation after the other, whatever dies or is lost', async () => {
    const failures: string[] = [];
    for (let seed = SEED; seed < SEED + HISTORIES; seed++) failures.push(...(await failureOf(seed)));
    expect(failures.slice(0, 3)).toEqual([]);
    // A few histories need not have every kind of event.
    const rare = HISTORIES > 50 ? Object.entries(totals).filter(([, total]) => total === 0) : [];
    expect(rare).toEqual([]);
  });

  it.each(Object.entries(MISTAKES))('are seen to fail with the mistake: %s', async (mistake, first) => {
    const failures: string[] = [];
    for (let seed = first; seed < first + TRIED && failures.length === 0; seed++)
      failures.push(...(await failureOf(seed, mistake as Mistake)));
    expect(failures).not.toEqual([]);
  });
});
