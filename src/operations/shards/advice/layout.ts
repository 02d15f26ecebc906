// The keys of a shard map with what they weigh, and where they are after each move.
import type { Span } from '../../../shards/keys/spans.ts';

export interface WeighedKey {
  readonly code: string;
  /** What is evened out, such as bytes. */
  readonly weight: number;
  readonly bytes: number;
}

export interface WeighedMapping {
  readonly span: Span;
  readonly shard: string;
  /** In the order of their codes. */
  readonly keys: readonly WeighedKey[];
  /** It is offline, or locked, or has just been moved: nothing of it is moved or merged. */
  readonly fixed: boolean;
}

export interface Weighed {
  readonly shards: readonly string[];
  /** In the order of their keys. */
  readonly mappings: readonly WeighedMapping[];
}

/** Keys to move, with the weights of both shards before and after. */
export interface AdvisedMove {
  readonly span: Span;
  /** The measured keys of the span. */
  readonly keys: readonly WeighedKey[];
  readonly weight: number;
  readonly from: string;
  readonly to: string;
  /** The map has no such shard yet. */
  readonly isNew: boolean;
  readonly before: Weights;
  readonly after: Weights;
}

interface Weights {
  readonly from: number;
  readonly to: number;
}

/** Keys of a mapping that follow one another, by their places in it. */
export interface Run {
  readonly mapping: WeighedMapping;
  readonly first: number;
  readonly last: number;
}

const weightOf = (keys: readonly WeighedKey[]): number => keys.reduce((sum, { weight }) => sum + weight, 0);

export class Layout {
  readonly shards: readonly string[];
  #mappings: readonly WeighedMapping[];
  #added = 0;

  constructor({ shards, mappings }: Weighed) {
    this.shards = shards;
    this.#mappings = mappings;
  }

  get mappings(): readonly WeighedMapping[] {
    return this.#mappings;
  }

  of(shard: string): WeighedMapping[] {
    return this.#mappings.filter((one) => one.shard === shard);
  }

  load(shard: string): number {
    return this.of(shard).reduce((sum, { keys }) => sum + weightOf(keys), 0);
  }

  mean(shards: readonly string[]): number {
    return shards.length === 0 ? 0 : shards.reduce((sum, shard) => sum + this.load(shard), 0) / shards.length;
  }

  /** The only key of a shard; undefined: it has none, or several. */
  onlyKey(shard: string): WeighedKey | undefined {
    const [first, ...others] = this.of(shard).flatMap(({ keys }) => keys);
    return others.length === 0 ? first : undefined;
  }

  /** The name of a shard that is to be created. */
  newShard(): string {
    this.#added += 1;
    return `NEW-${this.#added}`;
  }

  move(run: Run, to: string): AdvisedMove {
    const { mapping, first, last } = run;
    const { shard: from } = mapping;
    const keys = mapping.keys.slice(first, last + 1);
    const span = spanOf(run);
    const weights = (): Weights => ({ from: this.load(from), to: this.load(to) });
    const before = weights();
    const parts: readonly WeighedMapping[] = [
      ...(first === 0
        ? []
        : [{ ...mapping, span: { low: mapping.span.low, high: span.low }, keys: mapping.keys.slice(0, first) }]),
      // No key moves twice.
      { ...mapping, span, keys, shard: to, fixed: true },
      ...(last === mapping.keys.length - 1
        ? []
        : [{ ...mapping, span: { ...mapping.span, low: span.high! }, keys: mapping.keys.slice(last + 1) }]),
    ];
    this.#mappings = this.#mappings.flatMap((one) => (one === mapping ? parts : [one]));
    return {
      span,
      keys,
      weight: weightOf(keys),
      from,
      to,
      isNew: !this.shards.includes(to),
      before,
      after: weights(),
    };
  }
}

/** From the first key up to the next one that is measured: no key between them has documents. */
function spanOf({ mapping: { span, keys }, first, last }: Run): Span {
  const high = keys[last + 1]?.code ?? span.high;
  return { low: first === 0 ? span.low : keys[first]!.code, ...(high !== undefined && { high }) };
}
