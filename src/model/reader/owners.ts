// To which container a text belongs that names it by a type, or not at all.
import { normalised } from './text/labels.ts';
import { remembered } from './remembered.ts';

const ENVIRONMENT = /\b(dev|development|test|qa|stage|staging|prod|production|local)\b/g;
/** `dev-container` and `prod-container` are one container in two environments. */
const base = (name: string): string => normalised(name).replaceAll(ENVIRONMENT, '').trim();
const singular = remembered((name) => base(name).replaceAll(' ', '').replace(/ies$/, 'y').replace(/s$/, ''));

/** The only container, or the first of one container in several environments. */
export function onlyOne<C extends { readonly name: string }>(containers: readonly C[]): C | undefined {
  const [first, ...others] = containers;
  const isSame = others.every(({ name }) => base(name) === base(first?.name ?? '') && base(name) !== normalised(name));
  return isSame ? first : undefined;
}

/** The one container with the name of a type or a document: `user` and "User Document" are of `users`. */
export const namedLike = <C extends { readonly name: string }>(text: string, containers: readonly C[]): C | undefined =>
  only(names, ({ name }) => singular(name), text, containers);

/** The one container whose last word is the name of a type: `provider` is of `integration_providers`. */
export const endingLike = <C extends { readonly name: string }>(
  text: string,
  containers: readonly C[],
): C | undefined =>
  only(endings, ({ name }) => singular(name.split(/[-_ ]|(?<=[a-z])(?=[A-Z])/).at(-1) ?? ''), text, containers);

interface Grouped {
  /** A reader’s list grows while it reads. */
  readonly length: number;
  readonly words: ReadonlyMap<string, readonly object[]>;
}
type Groups = WeakMap<readonly object[], Grouped>;
const names: Groups = new WeakMap();
const endings: Groups = new WeakMap();

/** Rules ask the same list of containers for each field, so the list is grouped once. */
function only<C extends { readonly name: string }>(
  read: Groups,
  word: (container: C) => string,
  text: string,
  containers: readonly C[],
): C | undefined {
  let known = read.get(containers);
  if (known?.length !== containers.length) {
    known = { length: containers.length, words: Map.groupBy(containers, word) };
    read.set(containers, known);
  }
  const found = known.words.get(singular(text)) ?? [];
  // The list itself is the key of the map, so its groups have elements of that list.
  return found.length === 1 ? (found[0] as C) : undefined;
}
