// An aggregate over several shards, made of parts that can be added up. The parts are chosen so that the client, which
// adds them up over the physical partitions of a shard, can't get them wrong (ASM-E88): it loses results that are
// undefined, and doesn't compare values of different types.
import { compareValues } from '../../patterns/order.ts';
import type { Aggregate } from './columns.ts';

type Parts = Readonly<Record<string, string>>;

const countOf = (test: string): string => `SUM(${test} ? 1 : 0)`;

/** What a shard is asked for in place of an aggregate, by the names of the parts. */
export function partsOf(kind: Aggregate, argument: string): Parts {
  const e = `(${argument})`;
  if (kind === 'COUNT' || kind === 'COUNTIF') return { count: `${kind}(${argument})` };
  const numbers = { count: `COUNT(${argument})`, numbers: countOf(`IS_NUMBER${e}`) };
  if (kind === 'SUM' || kind === 'AVG') return { ...numbers, sum: `SUM(IS_NUMBER${e} ? ${e} : 0)` };
  return {
    ...numbers,
    nulls: countOf(`IS_NULL${e}`),
    trues: countOf(`(IS_BOOL${e} AND ${e})`),
    falses: countOf(`(IS_BOOL${e} AND NOT ${e})`),
    texts: countOf(`IS_STRING${e}`),
    number: `${kind}(IS_NUMBER${e} ? ${e} : undefined)`,
    text: `${kind}(IS_STRING${e} ? ${e} : undefined)`,
  };
}

const NOTHING = { count: 0, numbers: 0, sum: 0, nulls: 0, trues: 0, falses: 0, texts: 0 };

/** An aggregate over the parts of several shards. */
export class Total {
  readonly #kind: Aggregate;
  readonly #sums = { ...NOTHING };
  #number: unknown;
  #text: unknown;

  constructor(kind: Aggregate) {
    this.#kind = kind;
  }

  add(part: (name: string) => unknown): void {
    for (const name of Object.keys(NOTHING) as (keyof typeof NOTHING)[]) this.#sums[name] += Number(part(name) ?? 0);
    this.#number = this.#better([this.#number, part('number')]);
    this.#text = this.#better([this.#text, part('text')]);
  }

  /** As Cosmos DB has it (ASM-E22). */
  get result(): unknown {
    const { count, numbers, sum, nulls, trues, falses, texts } = this.#sums;
    const kind = this.#kind;
    if (kind === 'COUNT' || kind === 'COUNTIF') return count;
    if (kind === 'SUM') return numbers === count ? sum : undefined;
    if (kind === 'AVG') return numbers === count && count > 0 ? sum / count : undefined;
    // The others are arrays and objects.
    if (nulls + trues + falses + numbers + texts !== count) return undefined;
    return this.#better([
      nulls > 0 ? null : undefined,
      falses > 0 ? false : undefined,
      trues > 0 ? true : undefined,
      this.#number,
      this.#text,
    ]);
  }

  #better(values: readonly unknown[]): unknown {
    const sorted = values.filter((value) => value !== undefined).toSorted(compareValues);
    return this.#kind === 'MIN' ? sorted[0] : sorted.at(-1);
  }
}
