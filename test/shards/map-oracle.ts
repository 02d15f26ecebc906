import type { Mapping, MappingStatus, Shard } from '../../src/shards/index.ts';

/** The keys of the histories: 0 … 7. */
export const KEYS = 8;

/** What an administrator asked for. */
export type Call =
  | { readonly verb: 'createShard'; readonly database: string }
  | { readonly verb: 'deleteShard'; readonly shard: Shard }
  | { readonly verb: 'detachShard'; readonly shard: Shard }
  | { readonly verb: 'attachShard'; readonly shard: Shard; readonly database: string }
  | {
      readonly verb: 'createMapping';
      readonly shard: Shard;
      readonly low: number;
      readonly high: number;
      readonly status: MappingStatus;
    }
  | { readonly verb: 'deleteMapping'; readonly mapping: Mapping; readonly owner?: string }
  | {
      readonly verb: 'updateMapping';
      readonly mapping: Mapping;
      readonly status: MappingStatus;
      readonly shard?: Shard;
      readonly owner?: string;
    }
  | { readonly verb: 'splitMapping'; readonly mapping: Mapping; readonly at: number; readonly owner?: string }
  | {
      readonly verb: 'mergeMappings';
      readonly lower: Mapping;
      readonly upper: Mapping;
      readonly owner?: string;
      readonly upperOwner?: string;
    }
  | { readonly verb: 'lockMapping' | 'unlockMapping'; readonly mapping: Mapping; readonly owner: string };

type MappingCall = Extract<Call, { mapping: Mapping } | { lower: Mapping }>;

export interface Piece {
  readonly low: number;
  readonly high: number;
  readonly shard: string;
  readonly status: MappingStatus;
  readonly owner?: string | undefined;
}

/** A plain map in memory. It knows nothing of operations, generations or documents; it says what a call may do. */
export class Oracle {
  /** By id: whether it is detached. */
  #shards = new Map<string, boolean>();
  pieces: readonly Piece[] = [];

  /** What the map is after a disaster. */
  reset(shards: readonly { readonly shard: string; readonly detached?: boolean }[], pieces: readonly Piece[]): void {
    this.#shards = new Map(shards.map(({ shard, detached = false }) => [shard, detached]));
    this.pieces = pieces;
  }

  /** Makes a call that took effect. Returns what was wrong with it. */
  take(call: Call, made: { readonly shard?: string }): string | undefined {
    if (call.verb === 'createShard') {
      this.#shards.set(made.shard ?? '', false);
      return undefined;
    }
    if (call.verb === 'deleteShard' || call.verb === 'detachShard' || call.verb === 'attachShard')
      return this.#changeShard(call.verb, call.shard.id);
    if (call.verb === 'createMapping') {
      const { low, high, status, shard } = call;
      if (this.#shards.get(shard.id) !== false) return 'a shard that is detached or no more was mapped';
      if (this.pieces.some((piece) => piece.low < high && low < piece.high)) return 'keys were mapped twice';
      return this.#replace([], [{ low, high, status, shard: shard.id }]);
    }
    return this.#change(call);
  }

  #changeShard(verb: 'deleteShard' | 'detachShard' | 'attachShard', id: string): string | undefined {
    const detached = this.#shards.get(id);
    if (detached === undefined) return `${verb} of a shard that is no more`;
    if (verb === 'attachShard' && !detached) return 'a shard was attached that was not detached';
    if (verb !== 'deleteShard') return void this.#shards.set(id, verb === 'detachShard');
    if (detached) return 'a detached shard was deleted';
    if (this.pieces.some(({ shard }) => shard === id)) return 'a shard with mappings was deleted';
    return void this.#shards.delete(id);
  }

  #change(call: MappingCall): string | undefined {
    const inHand = call.verb === 'mergeMappings' ? call.lower : call.mapping;
    const piece = this.#piece(inHand);
    if (!piece) return `a void mapping ${inHand.text} was changed`;
    const isLock = call.verb === 'lockMapping';
    if (piece.owner !== call.owner && !(isLock && piece.owner === undefined)) return 'the lock was passed over';
    if (call.verb === 'deleteMapping')
      return piece.status === 'online' ? 'an online mapping was deleted' : this.#replace([piece], []);
    if (call.verb === 'splitMapping') {
      if (call.at <= piece.low || call.at >= piece.high) return 'split at an edge';
      return this.#replace(
        [piece],
        [
          { ...piece, high: call.at },
          { ...piece, low: call.at },
        ],
      );
    }
    if (call.verb === 'updateMapping') return this.#update(piece, call);
    if (call.verb === 'mergeMappings') return this.#merge(piece, call);
    return this.#replace([piece], [{ ...piece, owner: isLock ? call.owner : undefined }]);
  }

  #update(piece: Piece, call: Extract<Call, { verb: 'updateMapping' }>): string | undefined {
    const shard = call.shard?.id ?? piece.shard;
    if (call.shard && this.#shards.get(shard) !== false)
      return 'a mapping was moved to a shard that is detached or no more';
    const moves = shard !== piece.shard && piece.status === 'online' && call.status === 'online';
    return moves ? 'an online mapping was moved' : this.#replace([piece], [{ ...piece, shard, status: call.status }]);
  }

  #merge(piece: Piece, call: Extract<Call, { verb: 'mergeMappings' }>): string | undefined {
    const upper = this.#piece(call.upper);
    if (!upper || upper.owner !== call.upperOwner) return 'a void or locked mapping was merged';
    if (upper.low !== piece.high || upper.shard !== piece.shard || upper.status !== piece.status)
      return 'strangers were merged';
    return this.#replace([piece, upper], [{ ...piece, high: upper.high }]);
  }

  #replace(out: readonly Piece[], put: readonly Piece[]): undefined {
    this.pieces = [...this.pieces.filter((one) => !out.includes(one)), ...put];
  }

  #piece({ key, low = key ?? 0, high = KEYS, shard, status }: Mapping): Piece | undefined {
    return this.pieces.find(
      (piece) =>
        piece.low === low &&
        piece.high === (key === undefined ? high : Number(key) + 1) &&
        piece.shard === shard &&
        piece.status === status,
    );
  }

  /** One line a mapping, in the order of keys. */
  get text(): string {
    return textOf(this.pieces);
  }
}

/** Without locks, which a map loses with its store. */
export const unlockedText = (pieces: readonly Piece[]): string =>
  textOf(pieces.map((piece) => ({ ...piece, owner: undefined })));

export const textOf = (pieces: readonly Piece[]): string =>
  pieces
    .toSorted((a, b) => a.low - b.low)
    .map(({ low, high, shard, status, owner = '' }) => `${low}-${high} ${shard} ${status} ${owner}`)
    .join('\n');
