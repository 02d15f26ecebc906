import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../../src/base/clock.ts';
import {
  type SheetDocument,
  type Header,
  HEADER_ID,
  type LocalHeader,
  type MapHeader,
  type MapKind,
  type OperationDocument,
  type ShardLocation,
  isEnded,
  isOperation,
  localPartition,
  mapPartition,
} from '../../src/shards/map/documents.ts';
import { shardsError } from '../../src/shards/errors.ts';
import type { MapDrain } from '../../src/shards/map/draining.ts';
import type { SetFences } from '../../src/shards/map/fences.ts';
import { ShardMap } from '../../src/shards/map/shard-map.ts';
import {
  type Commit,
  EMPTY_DIGEST,
  Sheet,
  type SheetStore,
  type Whole,
  mapDigestOf,
} from '../../src/shards/map/header-guarded-partition.ts';
import type { Random } from '../support/random.ts';

/**
 * Mistakes that such a protocol tempts to, with the seed of a history that shows each. The store makes them in place of
 * the code.
 */
export const MISTAKES = {
  'map without header condition': 154_534_473,
  'local map without header condition': 154_534_473,
  'entries not compared with their header': 154_534_474,
  'undo without raising the generation': 154_534_591,
  'operations forgotten': 154_534_472,
  'refusals not confirmed': 154_534_680,
} as const;
export type Mistake = keyof typeof MISTAKES;

export interface State {
  readonly header: Header;
  readonly etag: string;
  readonly entries: ReadonlyMap<string, SheetDocument>;
}

export const MAP = 'm';
export const PARTITION = mapPartition(MAP);

/** A process that sends requests. */
export interface Actor {
  dead: boolean;
}

/** One request or pause of a process. It takes effect when the world picks it. */
interface Request {
  readonly by: Actor;
  readonly run: () => void;
  readonly isWrite: boolean;
}

/** The stores of a map and its shards, in memory. Requests take effect in any order, and the answers may not come. */
export class MapWorld {
  /** Every state that each sheet had, since it was restored. */
  readonly #sheets = new Map<string, readonly State[]>();
  readonly #random: Random;
  readonly #mistake: Mistake | undefined;
  #requests: Request[] = [];
  #etags = 0;
  /** Shards that can't be reached. */
  readonly down = new Set<string>();
  /** False: every request takes effect once and is answered, and reads are of the newest state. */
  faults = false;
  /** Called where no process has a request. Returns whether time has passed. */
  idle: () => boolean = () => false;
  /** Called after each commit. */
  watch: () => void = () => undefined;

  constructor(random: Random, kind: MapKind, mistake?: Mistake) {
    this.#random = random;
    this.#mistake = mistake;
    this.createMap(kind, 'first');
  }

  /** A new map, in place of any that is there. */
  createMap(kind: MapKind, created: string): void {
    const header: MapHeader = {
      id: HEADER_ID,
      pk: PARTITION,
      type: 'millrace.shardmap',
      created,
      generation: 1,
      digest: EMPTY_DIGEST,
      name: MAP,
      kind,
      keyType: 'int32',
      schema: { sharded: { Orders: '/tenantId' } },
    };
    this.#set(PARTITION, { header, etag: '', entries: new Map() });
  }

  /** Every state that the map had since it was restored. */
  get mapStates(): readonly State[] {
    return this.#sheets.get(PARTITION)!;
  }

  restoreMap(state: State): void {
    this.#set(PARTITION, state);
  }

  /** An older copy of a shard's local map, in another database. */
  restore(shard: string, from: ShardLocation, to: ShardLocation): void {
    this.#set(sheetAt(to, shard), this.#random.pick(this.#sheets.get(sheetAt(from, shard))!));
  }

  lose(shard: string, at: ShardLocation): void {
    this.#sheets.delete(sheetAt(at, shard));
  }

  /** No reading shows what was before. */
  #set(sheet: string, state: State): void {
    this.#sheets.set(sheet, [{ ...state, etag: String((this.#etags += 1)) }]);
  }

  /** As the query for the local maps of a database. */
  localHeaders({ database }: ShardLocation): LocalHeader[] {
    const headers = [...this.#sheets]
      .filter(([sheet]) => sheet.startsWith(`${database}|`))
      .map(([, states]) => states.at(-1)?.header);
    return (headers as LocalHeader[]).filter(({ removed }) => !removed);
  }

  /** The map as it is. */
  get map(): Whole<MapHeader> {
    return this.#sheets.get(PARTITION)!.at(-1) as Whole<MapHeader>;
  }

  local(shard: string, location: ShardLocation): State | undefined {
    return this.#sheets.get(sheetAt(location, shard))?.at(-1);
  }

  administrator(parts: Omit<AdministratorParts, 'header'> = {}): Administrator {
    return new Administrator(this, { header: this.map.header, ...parts });
  }

  /** The generation that the local map of a shard had before another one. */
  generationBefore(shard: string, generation: number): number {
    const states = [...this.#sheets].flatMap(([sheet, all]) => (sheet.endsWith(localPartition(MAP, shard)) ? all : []));
    const before = states.map(({ header }) => header.generation).filter((one) => one < generation);
    return Math.max(0, ...before);
  }

  /** Runs requests, one after the other in any order, until no process has one. */
  async run(step: () => void = () => undefined): Promise<void> {
    for (;;) {
      await turn();
      if (this.#requests.length === 0 && this.idle()) continue;
      if (this.#requests.length === 0) return;
      step();
      const [request] = this.#requests.splice(this.#random.int(this.#requests.length), 1);
      request?.run();
    }
  }

  /** What the process has sent may still take effect. */
  kill(by: Actor): void {
    by.dead = true;
    this.#requests = this.#requests.filter(
      (request) => request.by !== by || (request.isWrite && this.#random.chance(0.7)),
    );
  }

  request<T>(by: Actor, run: () => T, isWrite = false): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (by.dead) return;
      const settled = (): void => {
        try {
          const result = run();
          if (!by.dead) resolve(result);
        } catch (error) {
          if (!by.dead) reject(error);
        }
      };
      this.#requests.push({ by, run: settled, isWrite });
    });
  }

  store<H extends Header>(by: Actor, sheet: string, database?: string): SheetStore<H> {
    const reach = (): void => {
      if (database !== undefined && this.down.has(database))
        throw Object.assign(new Error(`${database} is down`), { code: 'down' });
    };
    let shown: State | undefined;
    return {
      header: () =>
        this.request(by, () => {
          reach();
          const state = this.#read(sheet);
          if (!state) return undefined;
          const header = state.header as H;
          if (this.#mistake !== 'entries not compared with their header') return { header, etag: state.etag };
          shown = this.#read(sheet);
          return { header: { ...header, digest: mapDigestOf([...(shown?.entries.values() ?? [])]) }, etag: state.etag };
        }),
      entries: () =>
        this.request(by, () => {
          reach();
          const all = [...((shown ?? this.#read(sheet))?.entries.values() ?? [])];
          return all.filter((entry) => !this.#isForgotten(entry));
        }),
      ...(database === undefined && {
        operationsAfter: (generation) =>
          this.request(
            by,
            () =>
              [...((shown ?? this.#read(sheet))?.entries.values() ?? [])].filter(
                (entry) => isOperation(entry) && entry.at > generation && !this.#isForgotten(entry),
              ) as OperationDocument[],
          ),
      }),
      drop: () => Promise.resolve(false),
      commit: (commit) =>
        this.request(
          by,
          () => {
            reach();
            const lost = this.faults && this.#random.chance(0.1);
            if (lost && this.#random.chance(0.5)) return undefined;
            const etag = this.#commit(sheet, commit);
            return lost ? undefined : etag;
          },
          true,
        ),
    };
  }

  #isForgotten(entry: SheetDocument): boolean {
    return this.#mistake === 'operations forgotten' && isOperation(entry) && isEnded(entry) && entry.ttl !== undefined;
  }

  #read(sheet: string): State | undefined {
    const states = this.#sheets.get(sheet) ?? [];
    const back = this.faults && this.#random.chance(0.3) ? this.#random.int(4) : 0;
    return states[Math.max(0, states.length - 1 - back)];
  }

  #commit(sheet: string, { header, ifMatch, put, drop }: Commit): string | undefined {
    const states = this.#sheets.get(sheet) ?? [];
    const now = states.at(-1);
    const isMap = sheet === PARTITION;
    const changesNothing = put.length === 0 && drop.length === 0;
    if (isMap && changesNothing && this.#mistake === 'refusals not confirmed') return ifMatch;
    const unchecked = isMap ? 'map without header condition' : 'local map without header condition';
    if (now?.etag !== ifMatch && this.#mistake !== unchecked) return undefined;
    const entries = new Map(now?.entries);
    for (const id of drop)
      if (!entries.delete(id) && this.#mistake === undefined)
        throw shardsError('shard-map-damaged', `${id} is not in ${sheet}`);
    for (const entry of put) entries.set(entry.id, entry);
    const isRaised =
      this.#mistake !== 'undo without raising the generation' || isMap || !this.#undoes(header.generation);
    const generation = isRaised ? header.generation : (now?.header.generation ?? 0);
    const wrong = this.#mistake !== undefined;
    if (!wrong && mapDigestOf([...entries.values()]) !== header.digest)
      throw new Error(`The digest of ${sheet} is wrong`);
    const digest = mapDigestOf([...entries.values()]);
    const etag = String((this.#etags += 1));
    this.#sheets.set(sheet, [...states, { header: { ...header, generation, digest }, etag, entries }]);
    this.watch();
    return etag;
  }

  #undoes(generation: number): boolean {
    return [...this.map.entries.values()].some((entry) => isOperation(entry) && entry.undoAt === generation);
  }
}

export const sheetAt = ({ database }: ShardLocation, shard: string): string =>
  `${database}|${localPartition(MAP, shard)}`;

export interface AdministratorParts {
  readonly header: MapHeader;
  readonly clock?: Clock;
  readonly drain?: MapDrain;
  readonly setFences?: SetFences;
}

/** A process that changes the map. */
export class Administrator implements Actor {
  readonly map: ShardMap;
  dead = false;

  constructor(
    world: MapWorld,
    { header, clock: given, drain = () => Promise.resolve(), setFences = () => Promise.resolve() }: AdministratorParts,
  ) {
    const clock: Clock = given ?? {
      now: () => 0,
      monotonic: () => 0,
      sleep: () => world.request(this, () => undefined),
    };
    this.map = new ShardMap({
      header,
      sheet: new Sheet(world.store<MapHeader>(this, PARTITION), clock),
      openLocal: (location, shard) =>
        new Sheet(world.store<LocalHeader>(this, sheetAt(location, shard), location.database), clock),
      assertFit: () => Promise.resolve(),
      prepare: () => Promise.resolve(),
      localHeaders: (location) => world.request(this, () => world.localHeaders(location)),
      drain,
      hold: () => Promise.reject(new Error('no keys are held')),
      letGo: () => Promise.resolve(),
      setFences,
    });
  }
}
