import { distance } from 'fastest-levenshtein';

/** The known name that is most like the wanted one, if a typing mistake explains it: `Orders` for `orders` or `Ordres`. */
export function near(wanted: string, names: readonly string[]): string | undefined {
  const ranked = names
    .map((name) => ({ name, far: slip(wanted.toLowerCase(), name.toLowerCase()) }))
    .toSorted((a, b) => a.far - b.far);
  const [best] = ranked;
  return best && best.far <= Math.max(1, Math.floor(wanted.length / 3)) ? best.name : undefined;
}

/** Two letters in the wrong order count as one mistake, not two. */
function slip(wanted: string, name: string): number {
  const swapped = wanted !== name && letters(wanted) === letters(name);
  return swapped && distance(wanted, name) === 2 ? 1 : distance(wanted, name);
}

const letters = (word: string): string => Array.from(word).toSorted().join('');

/** The first of some wrong names that a typing mistake explains, and the right one. */
export function misspeltOf(
  wrong: readonly string[],
  right: readonly string[],
): { name: string; meant: string } | undefined {
  for (const name of wrong) {
    const meant = near(name, right);
    if (meant !== undefined) return { name, meant };
  }
  return undefined;
}

/** The nearest name, or the list of all names. */
export function didYouMean(wanted: string, names: readonly string[]): string {
  const best = near(wanted, names);
  if (best !== undefined) return `Did you mean ${best}?`;
  return names.length === 0 ? 'Add it to the model.' : `Name one of: ${names.join(', ')}.`;
}

/** `: did you mean X?` if a known name is near, else an empty text. */
export function suggestion(wanted: string, known: readonly string[]): string {
  const best = near(wanted, known);
  return best === undefined ? '' : `: did you mean ${best}?`;
}
