import type { Mapping, MappingStatus, Shard } from '../../src/shards/index.ts';

/** The keys of the histories: 0 … 7. */
export const KEYS = 8;

/** What an administrator asked for. */
export type Call =
  | { readonly verb: 'createShard'; readonly database: string }
  | { readonly verb: 'deleteShard'; readonly shard: Shard }
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

export interface Piece {
  readonly low: number;
  readonly high: number;
  readonly shard: string;
  readonly status: MappingStatus;
  readonly owner?: string | undefined;
}

/** A plain map in memory. It knows nothing of operations, generations or documents; it says what a call may do. */
export class Oracle {
  readonly shards = new Set<string>();
  pieces: Piece[] = [];

  /** Makes a call that took effect. Returns what was wrong with it. */
  take(call: Call, made: { readonly shard?: string }): string | undefined {
    if (call.verb === 'createShard') {
      this.shards.add(made.shard ?? '');
      return undefined;
    }
    if (call.verb === 'deleteShard') {
      if (this.pieces.some(({ shard }) => shard === call.shard.id)) return 'a shard with mappings was deleted';
      return this.shards.delete(call.shard.id) ? undefined : 'a shard was deleted twice';
    }
    if (call.verb === 'createMapping') {
      const { low, high, status, shard } = call;
      if (!this.shards.has(shard.id)) return 'a shard that is no more was mapped';
      if (this.pieces.some((piece) => piece.low < high && low < piece.high)) return 'keys were mapped twice';
      return this.#replace([], [{ low, high, status, shard: shard.id }]);
    }
    return this.#change(call);
  }

  #change(call: Exclude<Call, { verb: 'createShard' | 'deleteShard' | 'createMapping' }>): string | undefined {
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
    if (!this.shards.has(shard)) return 'a mapping was moved to a shard that is no more';
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

  #piece({ low = 0, high = KEYS, shard, status }: Mapping): Piece | undefined {
    return this.pieces.find(
      (piece) => piece.low === low && piece.high === high && piece.shard === shard && piece.status === status,
    );
  }

  /** One line a mapping, in the order of keys. */
  get text(): string {
    return textOf(this.pieces);
  }
}

export const textOf = (pieces: readonly Piece[]): string =>
  pieces
    .toSorted((a, b) => a.low - b.low)
    .map(({ low, high, shard, status, owner = '' }) => `${low}-${high} ${shard} ${status} ${owner}`)
    .join('\n');
