// Sizes of one document of a type that the texts of both documents state: `a reading 0.2 KB`, `432,000 readings a day, 0.2 KB each`.
import { bytesOf, quantities } from '../reader/quantity.ts';
import { words } from '../relations.ts';
import type { Place } from '../model.ts';
import type { Facts } from './facts.ts';

export interface SaidSize {
  /** The type's name in one form. */
  readonly name: string;
  readonly bytes: number;
  readonly at: Place;
}

const EACH =
  /(?<![\d.,])\d[\d,]* (?<name>[a-z][\w-]*)(?: (?:a|per) \w+)?, (?:about |~)?(?<size>\d[\d.,]* ?(?:KB|MB|B)) each\b/gi;
const ONE =
  /\b(?:an?|each|one) (?<name>[a-z][\w-]*)(?: (?:has|is|takes|of|at))? (?:about |~)?(?<size>\d[\d.,]* ?(?:KB|MB|B))\b(?! (?:compressed|zipped|at most|max|maximum|at worst|in the worst))/gi;

export function saidSizes({ prose, containers }: Facts): SaidSize[] {
  const names = new Set(
    containers.flatMap(({ container }) => [words(container.name), ...container.types.map((type) => words(type.name))]),
  );
  return prose.flatMap(({ text, at }) =>
    [...text.matchAll(EACH), ...text.matchAll(ONE)].flatMap(({ groups = {} }): SaidSize[] => {
      const name = words(groups['name'] ?? '');
      const [size] = quantities(groups['size'] ?? '');
      const bytes = size && bytesOf(size);
      return names.has(name) && bytes !== undefined ? [{ name, bytes, at }] : [];
    }),
  );
}
