import { isObject } from '../base/json.ts';
import { parseDate } from '../pipeline/date.ts';
import type { Doc } from '../pipeline/specs.ts';
import type { Container, DocumentType } from '../model/model.ts';
import { Dice } from './dice.ts';

export interface LikeOptions {
  /** Number of documents; each version of an id counts. Default 20. */
  readonly count?: number;
  /** Number of different ids; with few ids, each has many versions. Default 5. */
  readonly ids?: number;
  /** The same seed makes the same documents. Default 1. */
  readonly seed?: number;
}

const DAY_MS = 86_400_000;

/**
 * Documents of the same shape as the examples of the data-model document. Values are those of the examples or of their
 * kind; a field that is missing in some example is sometimes missing; lists are shorter or longer.
 */
export function documentsLike(
  { partitionKey }: Pick<Container, 'partitionKey'>,
  type: DocumentType,
  options: LikeOptions = {},
): Doc[] {
  const { count = 20, ids = 5, seed = 1 } = options;
  const dice = new Dice(seed);
  const keys = new Set(partitionKey.map((path) => path.split('/')[1]));
  // The examples' own ids come first, since other types refer to them.
  const made = Array.from({ length: ids }, (_, number) => `${type.name}-${number + 1}`);
  const names = [...new Set([...type.examples.map(({ id }) => String(id)), ...made])].slice(0, ids);
  // A document's partition key never changes, so each id has one key.
  const fixed = new Map(
    names.map((id, at) => {
      const example = type.examples.find((of) => of['id'] === id) ?? type.examples[at % type.examples.length] ?? {};
      return [id, Object.fromEntries(Object.entries(example).filter(([name]) => keys.has(name)))];
    }),
  );
  return Array.from({ length: count }, () => {
    const id = dice.pick(names);
    return { ...objectLike(type.examples, dice), ...fixed.get(id), id, type: type.name };
  });
}

function objectLike(examples: readonly Doc[], dice: Dice): Doc {
  const names = new Set(examples.flatMap((example) => Object.keys(example)));
  const drawn: Doc = {};
  for (const name of names) {
    const values = examples.filter((example) => name in example).map((example) => example[name]);
    const optional = values.length < examples.length;
    if (!optional || dice.chance(0.5)) drawn[name] = valueLike(values, dice);
  }
  return drawn;
}

/** A value of the same kind as one of the values. */
function valueLike(values: readonly unknown[], dice: Dice): unknown {
  const picked = dice.pick(values);
  if (typeof picked === 'boolean') return dice.chance(0.5);
  if (typeof picked === 'number') return numberLike(numbersOf(values), dice);
  if (typeof picked === 'string') return textLike(picked, dice);
  if (Array.isArray(picked)) return listLike(values.filter(Array.isArray), dice);
  return isObject(picked) ? objectLike(values.filter(isObject), dice) : picked;
}

const numbersOf = (values: readonly unknown[]): number[] => values.filter((value) => typeof value === 'number');

/** Up to twice the largest value; an integer if all are; negative only if one is. */
function numberLike(values: readonly number[], dice: Dice): number {
  const [least, most] = [Math.min(0, ...values), 2 * Math.max(1, ...values)];
  const value = least + dice.unit() * (most - least);
  return values.every(Number.isInteger) ? Math.floor(value) : value;
}

/** A date moves by up to a year and keeps its form; other text stays as in the example. */
function textLike(example: string, dice: Dice): string {
  const ms = /^\d{4}-\d\d-\d\d/.test(example) ? parseDate(example) : undefined;
  if (ms === undefined) return example;
  const moved = new Date(ms + Math.floor((dice.unit() - 0.5) * 730) * DAY_MS).toISOString();
  return moved.slice(0, 10) + example.slice(10);
}

function listLike(lists: readonly unknown[][], dice: Dice): unknown[] {
  const elements = lists.flat();
  if (elements.length === 0) return [];
  const longest = Math.max(...lists.map((list) => list.length));
  return Array.from({ length: Math.floor(dice.unit() * (longest + 2)) }, () => valueLike(elements, dice));
}
