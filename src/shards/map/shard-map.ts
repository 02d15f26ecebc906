import { randomUUID } from 'node:crypto';
import { sharedError } from '../../base/shared-errors.ts';
import { LIST_MAPS, keysInvalid, shardsError } from '../errors.ts';
import type { Closed, HoldOptions } from '../gate/shard-gates.ts';
import { type KeyTypeName, type KeyValue, encodeKey } from '../keys/key-type.ts';
import { compareShard } from './compare-shard.ts';
import { type MapDifference, type RepairSide, repairPlan } from './differences.ts';
import {
  type Draining,
  type MapHeader,
  type MapKind,
  type OperationDocument,
  type ShardLocation,
  type ShardSchema,
  isMapping,
  isSameLocation,
  isShard,
  shardId,
  shownLocation,
} from './documents.ts';
import { Drains, type StopOptions, asDrained } from './draining.ts';
import { assertFacts } from './forms.ts';
import { announceChange } from './in-process.ts';
import { type Inspection, inspectionOf } from './inspection.ts';
import { LocalMaps, lost } from './local-maps.ts';
import { Operations, type MapPlan, operationsOf } from './operations.ts';
import type { ChangeOptions, MappingFilter, NewMapping, OperationOptions, StrayKeys } from './options.ts';
import type { ShardMapParts } from './parts.ts';
import * as plans from './plans.ts';
import { type RepairChoice, type RepairOptions, type Repaired, repairAll, repairInTurn } from './repair.ts';
import type { Whole } from './header-guarded-partition.ts';
import { NO_KEYS, type KeySpan, covers, spansOverlap } from '../keys/spans.ts';
import { type MapKeys, type Mapping, type Shard, mapKeysOf, mappingOf, shardOf } from './values.ts';

/**
 * One map: which shard has which keys. Every method that changes it writes metadata only, never documents of the
 * application. A method resolves when the change is in the map and in the local maps of its shards.
 */
export class ShardMap {
  readonly name: string;
  readonly kind: MapKind;
  readonly keyType: KeyTypeName;
  readonly schema: ShardSchema;
  readonly #parts: ShardMapParts;
  readonly #operations: Operations;
  readonly #locals: LocalMaps;
  readonly #drains: Drains;

  constructor(parts: ShardMapParts) {
    const { name, kind, keyType, schema } = parts.header;
    this.name = name;
    this.kind = kind;
    this.keyType = keyType;
    this.schema = schema;
    this.#parts = parts;
    this.#locals = new LocalMaps(parts.header, parts.openLocal, parts.setFences);
    this.#operations = new Operations(parts.sheet, this.#locals);
    this.#drains = new Drains(this.#operations, parts.drain);
  }

  /** Shards, mappings with their locks, and the operation log, all of one reading. Finishes no pending operation. */
  async inspect(): Promise<Inspection> {
    return inspectionOf(await this.#whole());
  }

  async shards(): Promise<Shard[]> {
    return plans.shardsOf(await this.#whole()).map(shardOf);
  }

  /** The shard at a location. @throws MillraceError `not-found` */
  async shard(location: ShardLocation): Promise<Shard> {
    const found = (await this.shards()).find((shard) => isSameLocation(shard.location, location));
    if (found) return found;
    throw sharedError('not-found', `The map ${this.name} has no shard at ${shownLocation(location)}`, LIST_MAPS);
  }

  /** The database and its containers must exist. @throws UsageError `shard-unfit`; MillraceError `exists` */
  async createShard(location: ShardLocation, options: OperationOptions = {}): Promise<Shard> {
    if (!options.dryRun) await this.#parts.prepare(location);
    await this.#parts.assertFit(location, this.schema);
    const id = randomUUID();
    return this.#shard('createShard', { location }, options, (map) => plans.createShard(map, id, location));
  }

  /** @throws MillraceError `wrong-state`, `stale`, `shard-detached` */
  async deleteShard(shard: Shard, options: OperationOptions = {}): Promise<void> {
    await this.#run('deleteShard', { shard }, options, (map) => plans.deleteShard(map, shard));
  }

  /**
   * For a shard whose database is lost, or is being restored elsewhere. Its mappings stay, and changes of other shards no
   * longer wait for it. Its old database is not written to: what reads its local map finds it as it was. Resolves when all
   * routers have stopped to write there.
   * @throws MillraceError `stale`, `routers-not-stopped`: it is detached then, and attaching it waits again
   */
  async detachShard(shard: Shard, options: OperationOptions & StopOptions = {}): Promise<Shard> {
    const detached = await this.#shard('detachShard', { shard }, options, (map) => plans.detachShard(map, shard));
    if (!options.dryRun) await this.#drains.end(await this.#whole(), shardId(shard.id), options);
    return detached;
  }

  /**
   * The shard is at this location from now on, with the same id. Its local map must be there. It may be older than the
   * map: compare them by `check`.
   */
  async attachShard(shard: Shard, location: ShardLocation, options: OperationOptions = {}): Promise<Shard> {
    await this.#parts.assertFit(location, this.schema);
    // A shard that can't be read is a matter of the operation, which may be done already.
    const local = await this.#locals.header(location, shard.id).catch(() => undefined);
    if (local && !options.dryRun) await this.#operations.raise(local.generation);
    return this.#shard('attachShard', { shard, location }, options, (map) => plans.attachShard(map, shard, location));
  }

  /**
   * Takes a shard into a map that was lost and created again under its name: with the id of the local map there, and
   * without mappings. `check` and `repair` bring them.
   * @throws MillraceError `local-map-missing`, `shard-map-damaged`, `exists`
   */
  async adoptShard(location: ShardLocation, options: OperationOptions = {}): Promise<Shard> {
    await this.#parts.assertFit(location, this.schema);
    const found = await this.#parts.localHeaders(location);
    const known = new Set(plans.shardsOf(await this.#whole()).map(({ shard }) => shard));
    const [local] = found.filter(({ shard }) => !known.has(shard));
    if (!local) throw lost(location);
    assertFacts(this.#parts.header, location, local);
    if (!options.dryRun) await this.#operations.raise(local.generation);
    return this.#shard('adoptShard', { location }, options, (map) => plans.createShard(map, local.shard, location));
  }

  /** The mappings in the order of their keys. */
  async mappings({ shard, low, high }: MappingFilter = {}): Promise<Mapping[]> {
    const whole = await this.#whole();
    const keys = low === undefined && high === undefined ? undefined : this.#range(low, high);
    return plans
      .mappingsOf(whole)
      .filter((entry) => (!shard || entry.shard === shard.id) && (!keys || spansOverlap(entry, keys)))
      .map((entry) => mappingOf(whole.header, entry));
  }

  /** The mapping that has the key, online or offline. @throws MillraceError `mapping-missing` */
  async mapping(key: KeyValue): Promise<Mapping> {
    const found = await this.tryMapping(key);
    if (found) return found;
    throw shardsError('mapping-missing', `No mapping of ${this.name} has the key ${String(key)}`);
  }

  async tryMapping(key: KeyValue): Promise<Mapping | undefined> {
    const code = encodeKey(this.keyType, key);
    const whole = await this.#whole();
    const entry = plans.mappingsOf(whole).find((one) => covers(one, code));
    return entry && mappingOf(whole.header, entry);
  }

  /** @throws MillraceError `keys-mapped`, `stale`, `shard-detached`; UsageError `option-invalid`, `shard-key-invalid` */
  async createMapping(mapping: NewMapping, options: OperationOptions = {}): Promise<Mapping> {
    const { shard, status = 'online' } = mapping;
    const keys = this.#keys(mapping);
    return this.#mapping('createMapping', { shard, keys, status }, options, (map) =>
      plans.createMapping(map, shard, keys, status),
    );
  }

  /**
   * Before documents of other shards' keys are copied to a shard: multi-shard queries leave the keys out there, until
   * the map gives them to this shard. A query that runs on meanwhile ends or begins again. The keys that a shard loses
   * become strays by themselves.
   * @throws MillraceError `keys-mapped` if the shard has some of the keys
   */
  async addStrays(shard: Shard, keys: StrayKeys, options: OperationOptions = {}): Promise<void> {
    await this.#run('addStrays', { shard, keys }, options, (map) =>
      plans.changeStrays(map, shard, { add: this.#keys({ shard, ...keys }) }),
    );
  }

  /**
   * After the documents of strays were deleted from the shard; without keys: of all its strays. Delete them when no query
   * runs that is older than the change of the map: it still reads them here.
   */
  async clearStrays(shard: Shard, keys?: StrayKeys, options: OperationOptions = {}): Promise<void> {
    await this.#run('clearStrays', { shard, keys }, options, (map) =>
      plans.changeStrays(map, shard, { clear: keys ? this.#keys({ shard, ...keys }) : 'all' }),
    );
  }

  /**
   * Keys whose documents may be in the shard though the map doesn't give them to it. `unknown`: there are too many to
   * list, and multi-shard queries are refused until all are cleared.
   * @throws MillraceError `local-map-missing`
   */
  async strays(shard: Shard): Promise<readonly MapKeys[] | 'unknown'> {
    const header = await this.#locals.header(shard.location, shard.id);
    if (!header || header.removed) throw lost(shard.location);
    const { strays = [] } = header;
    return strays === 'unknown' ? strays : strays.map((one) => mapKeysOf(this, one));
  }

  /** The mapping must be offline. The documents of its keys stay, as strays. */
  async deleteMapping(mapping: Mapping, options: ChangeOptions = {}): Promise<void> {
    await this.#run('deleteMapping', { mapping }, options, (map) => plans.deleteMapping(map, mapping, options));
  }

  /** Changes status and shard in one step. From online to online with another shard is refused. Moves no documents. */
  updateMapping(
    mapping: Mapping,
    update: plans.MappingUpdate,
    options: ChangeOptions & plans.DrainedOptions = {},
  ): Promise<Mapping> {
    return this.#mapping('updateMapping', { mapping, update }, options, (map) =>
      plans.updateMapping(map, mapping, update, options),
    );
  }

  /**
   * Resolves when the map and the shard's local map say so, and all routers have stopped: no write of these keys that the
   * shard's gate admitted is under way, or lands later.
   * @throws MillraceError `routers-not-stopped`: the mapping is offline then, and the mapping in hand is void
   */
  async markOffline(mapping: Mapping, options: ChangeOptions & StopOptions = {}): Promise<Mapping> {
    const offline = await this.updateMapping(mapping, { status: 'offline' }, options);
    if (!options.dryRun) await this.untilStopped(offline, options);
    return offline;
  }

  /**
   * For a mapping that `updateMapping` has taken offline: the second half of `markOffline`. Resolves with the mark that
   * `markStays` leaves. @throws MillraceError `routers-not-stopped`
   */
  async untilStopped(offline: Mapping, options: StopOptions = {}): Promise<Draining | undefined> {
    return this.#drains.end(this.#parts.sheet.recent ?? (await this.#whole()), offline.id, options);
  }

  /**
   * Tells the routers of a mapping's shard that keys are about to be held, and resolves when they know it. From then on they
   * look at the gate often, until this is opened. No write waits, so it finds silent routers while writes go on.
   * @throws MillraceError `routers-not-stopped`
   */
  announce({ shard }: Mapping, options: HoldOptions = {}): Promise<Closed> {
    return this.#parts.hold(shard, [NO_KEYS], options);
  }

  /**
   * Holds writes of a mapping's keys for a moment, while the mapping stays online: routers wait, and don't fail. Resolves
   * when none is under way. Routers open again after two minutes.
   * @throws MillraceError `routers-not-stopped`: nothing is held then; `stale`
   */
  async hold(mapping: Mapping, options: HoldOptions = {}): Promise<Closed> {
    const entry = (this.#parts.sheet.recent ?? (await this.#whole())).entries.get(mapping.id);
    if (!entry || !isMapping(entry))
      throw shardsError('stale', `The mapping ${mapping.text} was changed or deleted since it was read`);
    const { low, high } = entry;
    return this.#parts.hold(entry.shard, [{ low, ...(high !== undefined && { high }) }], options);
  }

  /** Lets go what a process that died held for this work on a shard. */
  letGo({ id }: Shard, work: string): Promise<void> {
    return this.#parts.letGo(id, work);
  }

  /** Resolves when the map and the shard's local map say so. Routers of this process admit the keys from then on. */
  markOnline(mapping: Mapping, options: ChangeOptions = {}): Promise<Mapping> {
    return this.updateMapping(mapping, { status: 'online' }, options);
  }

  /** Two mappings in place of one, on the same shard, in its status and with its lock. */
  async splitMapping(mapping: Mapping, at: KeyValue, options: ChangeOptions = {}): Promise<[Mapping, Mapping]> {
    this.assertRange('split');
    const code = encodeKey(this.keyType, at);
    const [lower, upper] = await this.#mappings('splitMapping', { mapping, code }, options, (map) =>
      plans.splitMapping(map, mapping, code, options),
    );
    return [lower!, upper!];
  }

  /** One mapping in place of two neighbours, with the lock of the lower one. `owner` is the lower one's token. */
  async mergeMappings(
    lower: Mapping,
    upper: Mapping,
    options: ChangeOptions & { readonly upperOwner?: string } = {},
  ): Promise<Mapping> {
    this.assertRange('merged');
    const owners = { left: options.owner, right: options.upperOwner };
    return this.#mapping('mergeMappings', { lower, upper }, options, (map) =>
      plans.mergeMappings(map, [lower, upper], owners),
    );
  }

  /** From now on a change of the mapping must bring this token. The mapping in hand stays valid. */
  async lockMapping(mapping: Mapping, owner: string, options: OperationOptions = {}): Promise<void> {
    await this.#run('lockMapping', { mapping, owner }, options, (map) => plans.lockMapping(map, mapping, owner));
  }

  async unlockMapping(mapping: Mapping, owner: string, options: OperationOptions = {}): Promise<void> {
    await this.#run('unlockMapping', { mapping, owner }, options, (map) =>
      plans.unlockMapping(map, mapping, { owner }),
    );
  }

  /** Unlocks a mapping without its owner's token. */
  async unlockByForce(mapping: Mapping, options: OperationOptions = {}): Promise<void> {
    await this.#run('unlockByForce', { mapping }, options, (map) => plans.unlockMapping(map, mapping, { force: true }));
  }

  /** Unlocks all mappings of an owner, and returns how many. */
  async unlockAll(owner: string): Promise<number> {
    for (let unlocked = 0; ;) {
      const { removes } = await this.#run('unlockAll', { owner }, {}, (map) => plans.unlockAll(map, owner));
      if (removes.length === 0) return unlocked;
      unlocked += removes.length;
    }
  }

  /** The token of the lock; undefined: the mapping is not locked. @throws MillraceError `stale` */
  async lockOwner(mapping: Mapping): Promise<string | undefined> {
    const entry = (await this.#whole()).entries.get(mapping.id);
    if (entry && isMapping(entry)) return entry.owner;
    throw shardsError('stale', `The mapping ${mapping.text} was changed or deleted since it was read`);
  }

  /** Finishes or undoes all operations that are pending. Returns those that wait for a shard to be undone. */
  async settle(): Promise<readonly { readonly verb: string; readonly reason: string }[]> {
    const whole = await this.#operations.retryUndo(await this.#operations.settled());
    return operationsOf(whole)
      .filter(({ state }) => state === 'undoing')
      .map(({ verb, reason = '' }) => ({ verb, reason }));
  }

  /**
   * Where the map and the local maps of its shards differ, of one shard or of all. Each is compared within a map operation
   * of its own, so every shard must be reachable. Detached shards are passed over. A local map that is missing or damaged
   * is one difference.
   */
  async check(shard?: Shard): Promise<MapDifference[]> {
    const all = plans.shardsOf(await this.#operations.settled());
    const [{ header }, operations, locals] = [this.#parts, this.#operations, this.#locals];
    const whole = (): Promise<Whole<MapHeader>> => this.#whole();
    const found: MapDifference[] = [];
    for (const { shard: id } of all) {
      const run = (plan: () => MapPlan) => this.#run('check', { shard: id }, {}, plan);
      if (!shard || id === shard.id)
        found.push(...(await compareShard(id, { header, operations, locals, whole, run })));
    }
    return found;
  }

  /**
   * Removes differences that `check` found, in one step: `map` makes the local map as the map is, `shard` makes the map as
   * the local map is, without locks. A local map that is lost is written as a whole, by `map` only. At most 40, of one shard, from a check of that shard after which the map has not changed.
   */
  async repair(differences: readonly MapDifference[], side: RepairSide, options: OperationOptions = {}): Promise<void> {
    await this.#repair(differences, side, options);
  }

  /** Returns the generation of its begin. What the local map had before counts no longer, so its routers stop. */
  async #repair(differences: readonly MapDifference[], side: RepairSide, options: OperationOptions): Promise<number> {
    const isLost = differences.find((one) => one.lost !== undefined);
    const rebuilt = isLost && plans.shardIn(await this.#whole(), isLost.shard);
    if (rebuilt && !options.dryRun) await this.#parts.prepare(rebuilt.location);
    if (rebuilt) await this.#parts.assertFit(rebuilt.location, this.schema);
    const { at, shards } = await this.#run(isLost ? 'rebuildShard' : 'repair', { differences, side }, options, (map) =>
      repairPlan(map, differences, side),
    );
    if (!options.dryRun) for (const shard of shards) await this.#parts.drain({ shard, below: at }, {});
    return at;
  }

  /**
   * The same for all differences of a shard, however many: in steps, each a map operation of its own, with a new check
   * where another process changed the map between them. `choice` may decide by the keys. After a failure the steps that
   * were made stay; call it again.
   */
  repairShard(shard: Shard, choice: RepairChoice, options: RepairOptions = {}): Promise<Repaired> {
    const check = (): Promise<MapDifference[]> => this.check(shard);
    const repair = async (differences: readonly MapDifference[], side: RepairSide): Promise<number> => {
      const at = await this.#repair(differences, side, {});
      // Its begin has the generation `at`, and showing it is the next commit.
      return at + 1;
    };
    return repairAll({ check, repair }, choice, options);
  }

  /** The same for all shards. A key that moved between two of them leaves the one before it comes to the other. */
  async repairAll(choice: RepairChoice, options: RepairOptions = {}): Promise<Repaired> {
    const shards = await this.shards();
    const repairs = shards.map((shard) => (chosen: RepairChoice) => this.repairShard(shard, chosen, options));
    return repairInTurn(repairs, choice);
  }

  async #whole(): Promise<Whole<MapHeader>> {
    const whole = await this.#parts.sheet.whole();
    if (whole) return whole;
    throw sharedError('not-found', `There is no shard map ${this.name}`, LIST_MAPS);
  }

  async #run(
    verb: string,
    request: unknown,
    { operationId = randomUUID(), dryRun }: OperationOptions,
    plan: (map: Whole<MapHeader>) => MapPlan,
  ): Promise<Pick<OperationDocument, 'at' | 'removes' | 'adds' | 'shards'>> {
    if (!dryRun) {
      const done = await this.#drains.run({ id: operationId, verb, request }, plan);
      announceChange(this.#parts.header.created, done.shards, done.at);
      return done;
    }
    const whole = await this.#whole();
    return { ...plan(asDrained(whole)), at: whole.header.generation };
  }

  async #mappings(...[verb, request, options, plan]: RunArguments): Promise<Mapping[]> {
    const { adds } = await this.#run(verb, request, options, plan);
    return adds.filter(isMapping).map((entry) => mappingOf(this, entry));
  }

  async #mapping(...given: RunArguments): Promise<Mapping> {
    const [mapping] = await this.#mappings(...given);
    return mapping!;
  }

  async #shard(...[verb, request, options, plan]: RunArguments): Promise<Shard> {
    const { adds } = await this.#run(verb, request, options, plan);
    return shardOf(adds.find(isShard)!);
  }

  #keys({ key, low, high }: NewMapping): KeySpan {
    if (this.kind === 'range' && key === undefined) return this.#range(low, high);
    if (this.kind === 'list' && key !== undefined && low === undefined && high === undefined) {
      const code = encodeKey(this.keyType, key);
      return { low: code, high: code };
    }
    throw keysInvalid(`A mapping of the ${this.kind} map ${this.name} can't have these keys`);
  }

  #range(from?: KeyValue, to?: KeyValue): KeySpan {
    this.assertRange('read by a range');
    const low = from === undefined ? '' : encodeKey(this.keyType, from);
    if (to === undefined) return { low };
    const high = encodeKey(this.keyType, to);
    if (low < high) return { low, high };
    throw keysInvalid(`The low key ${String(from)} is not below the high key ${String(to)}`);
  }

  /** `verb` is what can't be done to the mappings of a list map, such as `split`. @throws UsageError `option-invalid` */
  assertRange(verb: string): void {
    const hint = 'Each of its mappings has one key: change, or move, the mapping of a key.';
    if (this.kind !== 'range') throw keysInvalid(`Mappings of a list map can't be ${verb}`, hint);
  }
}

type RunArguments = [string, unknown, OperationOptions, (map: Whole<MapHeader>) => MapPlan];
