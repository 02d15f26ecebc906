// What the store of a shard map holds. docs/SPEC-shards.md says where each document lies.
import type { KeyTypeName } from '../keys/key-type.ts';

/** The container in the map's database, key `/pk`. */
export const MAP_CONTAINER = 'shardmaps';
/** The container in every shard's database, key `/pk`. */
export const LOCAL_CONTAINER = 'shardmap';

/** Where a shard is. */
export interface ShardLocation {
  readonly database: string;
  /** Address of the account. Absent: the account of the map. */
  readonly endpoint?: string;
}

/** The containers that every shard of a map must have. */
export interface ShardSchema {
  /** By name: the path of the key, such as `/tenantId`. It is the first path of the container's partition key. */
  readonly sharded: Readonly<Record<string, string>>;
  /** Containers that every shard has in full. */
  readonly reference?: readonly string[];
  /**
   * Sharded containers with fences: `router.batch` writes there, and no such write takes effect on a shard that has lost the
   * key, however late it arrives. List maps only; the partition key of the container is the key's path alone.
   */
  readonly fenced?: readonly string[];
}

export type MapKind = 'list' | 'range';
export type MappingStatus = 'online' | 'offline';

/** A document of a sheet. */
export interface SheetDocument {
  readonly id: string;
  readonly pk: string;
  readonly type: string;
  readonly format?: number;
  /** A document with a time to live is not in the digest, because it goes without a commit. */
  readonly ttl?: number;
}

/** The document that every commit to its sheet replaces. */
export interface Header extends SheetDocument {
  /** Every commit raises it. */
  readonly generation: number;
  /** Drawn when the sheet is created: a map that is created again under its name is another one. */
  readonly created: string;
  /** Of all other documents of the sheet (sheet.ts). */
  readonly digest: string;
}

/** What a map is created with, for its whole life. */
export interface MapFacts {
  readonly kind: MapKind;
  readonly keyType: KeyTypeName;
  readonly schema: ShardSchema;
}

/** The header of a map. */
export interface MapHeader extends Header, MapFacts {
  readonly type: 'millrace.shardmap';
  readonly name: string;
}

/** The header of a local map, in the shard. */
export interface LocalHeader extends Header {
  readonly type: 'millrace.localmap';
  readonly map: string;
  readonly shard: string;
  /** The operation that made the last commit. */
  readonly operation: string;
  /** Those of the map, so that a lost map can be created again. Absent only where someone damaged it. */
  readonly facts?: MapFacts;
  /** Keys whose documents may be in the shard, though the map doesn't give them to it. None of them is mapped here. */
  readonly strays?: Strays;
  /** The generation at which keys last began to arrive: from then on documents of other shards' keys may come. */
  readonly arrivals?: number;
  /** The shards of the last operation, if it has several. */
  readonly shards?: readonly string[];
  /** The shard was deleted from the map, or never came into it. */
  readonly removed?: true;
}

/** In the order of keys. `unknown`: there were too many to store. */
export type Strays = readonly { readonly low: string; readonly high?: string }[] | 'unknown';

/** What an operation changes in the strays of its shard, beside what follows from its mappings. */
export interface StraysChange {
  readonly add?: { readonly low: string; readonly high?: string } | 'all';
  readonly clear?: { readonly low: string; readonly high?: string } | 'all';
}

export interface ShardDocument extends SheetDocument {
  readonly type: 'millrace.shard';
  readonly shard: string;
  /** Another one after each change of the shard. */
  readonly version: string;
  readonly location: ShardLocation;
  readonly detached?: true;
  readonly draining?: Draining;
}

/**
 * Routers of a shard are not known to have stopped yet: they may still write by readings of its local map below this
 * generation. Only the map has it, local maps don't.
 */
export interface Draining {
  readonly shard: string;
  readonly below: number;
}

export interface MappingDocument extends SheetDocument {
  readonly type: 'millrace.mapping';
  readonly shard: string;
  /** Codes of keys. A list map has the same key in both; a range map has `[low, high)`, without `high` up to the end. */
  readonly low: string;
  readonly high?: string;
  readonly status: MappingStatus;
  /** The token of the lock's owner. Only the map has it, local maps don't. */
  readonly owner?: string;
  /** Until it is taken away, the keys are not online on another shard. */
  readonly draining?: Draining;
}

/**
 * A document of the operation log.
 * - `pending`: begun; a process that meets it finishes it, or decides to undo it
 * - `undoing`: decided; `left` are the shards in which it isn't undone yet
 * - `done`, `undone`: ended; kept for a day after the end of the next one, so that a repeated call learns what became of
 *   the first one
 */
export interface OperationDocument extends SheetDocument {
  readonly type: 'millrace.mapoperation';
  readonly verb: string;
  /** Digest of what was asked for. */
  readonly request: string;
  readonly state: 'pending' | 'undoing' | 'done' | 'undone';
  /** The map's generation of its begin. Local maps take it with its changes. */
  readonly at: number;
  /** The map's generation of the decision to undo, above `at`. */
  readonly undoAt?: number;
  /** Why it is undone. */
  readonly reason?: string;
  readonly removes: readonly MapDocument[];
  readonly adds: readonly MapDocument[];
  /** For a repair: what changes in the local map, where that isn't what changes in the map. */
  readonly local?: { readonly removes: readonly MappingDocument[]; readonly adds: readonly MappingDocument[] };
  readonly strays?: StraysChange;
  /** The shards whose local maps change, in this order: those that lose a mapping come first. */
  readonly shards: readonly string[];
  readonly left?: readonly string[];
}

export type MapDocument = ShardDocument | MappingDocument;

export const mapPartition = (name: string): string => `map|${name.toLowerCase()}`;
export const localPartition = (map: string, shard: string): string => `${mapPartition(map)}|${shard}`;
export const HEADER_ID = 'header';
export const shardId = (shard: string): string => `shard|${shard}`;
export const operationId = (operation: string): string => `operation|${operation}`;

export const isShard = (entry: SheetDocument): entry is ShardDocument => entry.type === 'millrace.shard';
export const isMapping = (entry: SheetDocument): entry is MappingDocument => entry.type === 'millrace.mapping';
export const isOperation = (entry: SheetDocument): entry is OperationDocument => entry.type === 'millrace.mapoperation';

export const isEnded = ({ state }: OperationDocument): boolean => state === 'done' || state === 'undone';

/** Account addresses are compared without regard to case and a slash at the end; names of databases are exact. */
export const isSameLocation = (one: ShardLocation, other: ShardLocation): boolean =>
  one.database === other.database && addressOf(one) === addressOf(other);

/** Addresses of one account are alike in this form. */
export const addressOf = ({ endpoint = '' }: { readonly endpoint?: string }): string =>
  endpoint
    .toLowerCase()
    .replace(/(?<!\/)\/+$/, '')
    .replace(/:443$/, '');

export const shownLocation = ({ database, endpoint }: ShardLocation): string =>
  endpoint === undefined ? database : `${database} at ${endpoint}`;
