import { formatOf } from '../../base/format.ts';
import { canonical } from '../../base/json.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { shardsError } from '../errors.ts';
import {
  HEADER_ID,
  type LocalHeader,
  type MapFacts,
  type MapHeader,
  type MappingDocument,
  type OperationDocument,
  type ShardLocation,
  type StraysChange,
  isMapping,
  isSameLocation,
  isShard,
  localPartition,
  shownLocation,
} from './documents.ts';
import { type SetFences, fencedKeys } from './fences.ts';
import { type Edit, type Sheet, type StoredHeader, type Whole, mapDigestOf } from './header-guarded-partition.ts';
import { reversed, straysAfter } from './strays.ts';

/** Opens the local map of a shard, whether it exists or not. */
export type OpenLocal = (location: ShardLocation, shard: string) => Sheet<LocalHeader>;

/**
 * The local map has a later generation: the operation was ended by another process, or is being undone. If it is still
 * pending, the map was restored to an older state than the shard.
 */
export class Overtaken extends Error {
  readonly generation: number;

  constructor(location: ShardLocation, generation: number) {
    super(`The local map of ${shownLocation(location)} is newer than the shard map`);
    this.generation = generation;
  }
}

const ROUNDS = 100;
/** A batch has a hundred operations, and one is of the header. */
const MOST_EDITS = 90;
/** Rounds in which a local map is written as a whole, with so many edits each. */
const MOST_REBUILDS = 1_000;
/** No documents have it. So what was begun to be written counts as damaged. */
const UNFIT_DIGEST = 'f'.repeat(32);

/** The header of a local map, read ahead. */
export type ReadAhead = Promise<StoredHeader<LocalHeader> | undefined>;

interface Decided {
  readonly generation: number;
  readonly removed: boolean;
  readonly strays?: StraysChange | undefined;
  /** Instead of that of the stored header. */
  readonly digest?: string;
}

interface LocalMapPlace {
  readonly location: ShardLocation;
  readonly shard: string;
  readonly ahead?: ReadAhead | undefined;
}

/** The local maps of one map. The generation of a local map decides which operations it takes. */
export class LocalMaps {
  readonly #map: string;
  readonly #facts: MapFacts;
  readonly #open: OpenLocal;
  readonly #setFences: SetFences;

  constructor(
    { name, kind, keyType, schema }: Pick<MapHeader, 'name'> & MapFacts,
    open: OpenLocal,
    setFences: SetFences,
  ) {
    this.#map = name;
    this.#facts = { kind, keyType, schema };
    this.#open = open;
    this.#setFences = setFences;
  }

  async header(location: ShardLocation, shard: string): Promise<LocalHeader | undefined> {
    return (await this.#open(location, shard).header())?.header;
  }

  /**
   * Reads the header of a local map that an operation is about to change, beside the operation's begin. If it is an older
   * one the first commit fails, as with any reading, and it is read again. If there is none it is read again too.
   */
  readAhead(location: ShardLocation, shard: string): ReadAhead {
    const header = this.#open(location, shard).header();
    // The operation may not begin, and then none waits for it.
    header.catch(() => undefined);
    return header;
  }

  /** A local map that has taken the operation of this generation. */
  async wholeFrom(location: ShardLocation, shard: string, generation: number): Promise<Whole<LocalHeader>> {
    const whole = await this.#open(location, shard).wholeFrom(generation);
    if (whole) return whole;
    throw lost(location);
  }

  /** Makes an operation's changes in one shard, once: in the local map, then in the fences. @throws Overtaken */
  async apply(
    operation: OperationDocument,
    shard: string,
    location: ShardLocation,
    ahead: ReadAhead | undefined,
  ): Promise<void> {
    const { before, after } = changesIn(operation, shard, this.#map);
    const removed = operation.verb === 'deleteShard';
    const decide = (header: LocalHeader | undefined): (Edit & Decided) | undefined => {
      if (header && isApplied(operation, header)) return undefined;
      if (header && header.generation >= operation.at) throw new Overtaken(location, header.generation);
      // Its local map may be lost. `check` says so then.
      if (!header && isBack(operation)) return undefined;
      // A map that was restored to an older state has shards that were deleted since: their local maps count again.
      if (operation.verb !== 'createShard' && operation.verb !== 'deleteShard' && !header) throw lost(location);
      return { generation: operation.at, removed, before, after, strays: operation.strays };
    };
    await this.#commit(operation, { location, shard, ahead }, decide);
    await this.#setFences({ shard, location }, fencedKeys(before, after), operation.at);
  }

  /**
   * Writes a local map as a whole, as the map says, whatever is left of it. Batches before the last leave one that doesn't
   * count. Which documents are in the shard isn't known, so the keys of all other shards are its strays.
   * @throws Overtaken
   */
  async rebuild(
    operation: OperationDocument,
    shard: string,
    location: ShardLocation,
    mappings: readonly MappingDocument[],
  ): Promise<void> {
    const pk = localPartition(this.#map, shard);
    const of = (isOurs: boolean) => mappings.filter((one) => (one.shard === shard) === isOurs);
    const wanted = new Map(of(true).map((entry) => [entry.id, localForm(entry, pk)]));
    const after = [...wanted.values()];
    const fields = straysAfter({}, { before: of(false), after }, {}, operation.at);
    const sheet = this.#open(location, shard);
    for (let round = 0; ; round++) {
      if (round === MOST_REBUILDS) throw inEveryRound(location);
      const stored = await sheet.header();
      if (stored && isApplied(operation, stored.header)) break;
      if (stored && stored.header.generation >= operation.at) throw new Overtaken(location, stored.header.generation);
      const there = new Map((await sheet.entries()).map((entry) => [entry.id, entry]));
      const differs = [...new Set([...there.keys(), ...wanted.keys()])].filter(
        (id) => canonical(there.get(id)) !== canonical(wanted.get(id)),
      );
      const ids = differs.slice(0, MOST_EDITS);
      const isLast = ids.length === differs.length;
      const generation = isLast ? operation.at : (stored?.header.generation ?? 0);
      const next = { ...this.#header(operation, shard, { generation, removed: !isLast }, stored?.header), ...fields };
      const edit: Edit = {
        before: ids.flatMap((id) => there.get(id) ?? []),
        after: ids.flatMap((id) => wanted.get(id) ?? []),
      };
      await sheet.commit(stored, next, edit, isLast ? mapDigestOf([...there.values()]) : UNFIT_DIGEST);
    }
    await this.#setFences({ shard, location }, fencedKeys([], after), operation.at);
  }

  /**
   * Takes an operation's changes in one shard back, and raises the generation above the operation's. So a write of the
   * operation that is still on its way is refused.
   */
  async undo(operation: OperationDocument, shard: string, location: ShardLocation): Promise<true> {
    const { undoAt: generation = Infinity } = operation;
    const { before, after } = changesIn(operation, shard, this.#map);
    const isCreated = operation.verb === 'createShard';
    await this.#commit(operation, { location, shard }, (header) => {
      // What is lost stays lost.
      if (!header && operation.verb === 'rebuildShard')
        return { generation, removed: true, before: [], after: [], digest: UNFIT_DIGEST };
      // A late write of the operation needs a header too, except the one that creates it.
      if (!header && !isCreated) return undefined;
      if (header && header.generation >= generation) return undefined;
      const isThere = header !== undefined && isApplied(operation, header);
      // A map that was restored to an older state undoes the creation of a shard that has lived on since.
      const removed = header?.removed === true || (isCreated && (!header || isThere));
      if (!isThere) return { generation, removed, before: [], after: [] };
      return { generation, removed, before: after, after: before, strays: reversed(operation.strays ?? {}) };
    });
    await this.#setFences({ shard, location }, fencedKeys(after, before), generation);
    return true;
  }

  async #commit(
    operation: OperationDocument,
    { location, shard, ahead }: LocalMapPlace,
    decide: (header: LocalHeader | undefined) => (Edit & Decided) | undefined,
  ): Promise<true> {
    const sheet = this.#open(location, shard);
    for (let round = 0; round < ROUNDS; round++) {
      // A repair changes less than the map and the local map differ by, so what is mapped here is read.
      const whole = operation.local && (await sheet.whole());
      const first = round === 0 ? await ahead : undefined;
      const stored = whole ?? first ?? (await sheet.header());
      const decided = decide(stored?.header);
      if (!decided) return true;
      const { generation, removed, before, after, strays = {}, digest } = decided;
      const mapped = whole ? mappingsAfter(whole, { before, after }) : after.filter(isMapping);
      const next = {
        ...this.#header(operation, shard, { generation, removed }, stored?.header),
        ...straysAfter(stored?.header ?? {}, { before: before.filter(isMapping), after: mapped }, strays, generation),
      };
      if (await sheet.commit(stored, next, { before, after }, digest)) return true;
    }
    throw inEveryRound(location);
  }

  #header(
    { id, shards }: OperationDocument,
    shard: string,
    { generation, removed }: Pick<Decided, 'generation' | 'removed'>,
    stored: LocalHeader | undefined,
  ): Omit<LocalHeader, 'digest'> {
    return {
      id: HEADER_ID,
      pk: localPartition(this.#map, shard),
      type: 'millrace.localmap',
      ...formatOf('localmap'),
      created: stored?.created ?? id,
      map: this.#map,
      shard,
      generation,
      operation: id,
      // Those of another map stay, and a repair finds them.
      facts: stored?.facts ?? this.#facts,
      ...(shards.length > 1 && { shards }),
      ...(removed && { removed }),
    };
  }
}

const mappingsAfter = ({ entries }: Whole<LocalHeader>, { before, after }: Edit): MappingDocument[] => {
  const taken = new Set(before.map(({ id }) => id));
  return [...[...entries.values()].filter(({ id }) => !taken.has(id)), ...after].filter(isMapping);
};

/** A shard that is attached where it was. */
const isBack = ({ verb, removes, adds }: OperationDocument): boolean => {
  const [was, is] = [removes.find(isShard), adds.find(isShard)];
  return verb === 'attachShard' && was !== undefined && is !== undefined && isSameLocation(was.location, is.location);
};

const inEveryRound = (location: ShardLocation): Error =>
  sharedError('contended', `The local map of ${shownLocation(location)} changed in every round`);

const isApplied = ({ id, at }: OperationDocument, { operation, generation }: LocalHeader): boolean =>
  generation === at && operation === id;

export const lost = (location: ShardLocation): Error =>
  shardsError('local-map-missing', `The shard ${shownLocation(location)} has no local map`);

interface LocalEdit extends Edit {
  readonly before: readonly MappingDocument[];
  readonly after: readonly MappingDocument[];
}

function changesIn({ removes, adds, local }: OperationDocument, shard: string, map: string): LocalEdit {
  const pk = localPartition(map, shard);
  const of = (entries: OperationDocument['adds']): MappingDocument[] =>
    entries.filter(isMapping).flatMap((entry) => (entry.shard === shard ? [localForm(entry, pk)] : []));
  return { before: of(local?.removes ?? removes), after: of(local?.adds ?? adds) };
}

/** A mapping as a local map has it: without its lock and what routers may still do. */
function localForm(mapping: MappingDocument, pk: string): MappingDocument {
  const { owner: _, draining: __, ...entry } = mapping;
  return { ...entry, pk };
}
