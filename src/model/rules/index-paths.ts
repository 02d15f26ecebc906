// The indexing policies of annotations: their paths, and what they cover.
import { type Annotation, type Annotations, same } from '../annotations/annotations.ts';

export type Index = Annotation<'index'>;

export const indexesOf = (annotations: Annotations, container: string): readonly Index[] =>
  annotations.of('index').filter((one) => one.container === undefined || same(one.container, container));

export interface Path {
  readonly path: string;
  readonly excluded: boolean;
  readonly at: Index['at'];
}
export const pathsOf = (indexes: readonly Index[]): Path[] =>
  indexes.flatMap(({ included = [], excluded = [], at }) => [
    ...included.map((path) => ({ path, excluded: false, at })),
    ...excluded.map((path) => ({ path, excluded: true, at })),
  ]);

/** `/address/city/?` as the field `address.city`. */
export const indexedField = (path: string): string =>
  path
    .replaceAll(/^\/|\/[?*]$/g, '')
    .replaceAll(/^["']|["']$/g, '')
    .replaceAll('/[]', '[]')
    .replaceAll('/', '.');

/** The whole policy: said so, or with its mode and paths as JSON has them. */
export const isWhole = (index: Index): boolean =>
  index.whole === true || (index.mode !== undefined && pathsOf([index]).some(({ path }) => /^\/.*\/[?*]$/.test(path)));
