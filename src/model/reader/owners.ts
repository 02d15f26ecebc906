// To which container a text belongs that names it by a type, or not at all.
import { normalised } from './labels.ts';
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
export function namedLike<C extends { readonly name: string }>(text: string, containers: readonly C[]): C | undefined {
  const wanted = singular(text);
  const found = containers.filter(({ name }) => singular(name) === wanted);
  return found.length === 1 ? found[0] : undefined;
}
