// Small readings of PostgreSQL's parse trees.
import type { Node } from 'libpg-query';

export type Tree = Readonly<Record<string, unknown>>;

export const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null;

/** `{ ColumnRef: {…} }` → its kind and its fields. */
export function nodeKindOf(node: Node): [string, Tree] {
  const [entry] = Object.entries(node) as [string, Tree][];
  return entry ?? ['', {}];
}

export const stringOf = (node: Node | undefined): string =>
  node !== undefined && 'String' in node ? (node.String.sval ?? '') : '';

export const strings = (nodes: readonly Node[] | undefined): string[] => (nodes ?? []).map(stringOf);

/** The nodes directly below a node, in the order of the tree. */
export function below(node: Tree): Node[] {
  return Object.values(node).flatMap((value): Node[] => {
    if (Array.isArray(value)) return value.filter(isTree).flatMap(asNodes);
    return isTree(value) ? asNodes(value) : [];
  });
}

/** A field holds a node, or the fields of one without its kind. */
function asNodes(value: Tree): Node[] {
  const keys = Object.keys(value);
  const [only] = keys;
  if (keys.length === 1 && only !== undefined && /^[A-Z]/.test(only)) return [value as unknown as Node];
  return below(value);
}

/** The tree as a text without places, so that equal expressions have equal texts. */
export const sqlShapeOf = (node: unknown): string =>
  JSON.stringify(node, (key, value: unknown) => (key.endsWith('location') ? undefined : value));

/** The last part of a type's name, such as `int8`. */
export const typeName = (names: readonly Node[] | undefined): string => strings(names).at(-1) ?? '';

/** Types between whose values `=` is a proper equality, and casts within a family don't change a value. */
export function familyOf(type: string): string {
  if (/^(int2|int4|int8|smallserial|serial|bigserial|serial4|serial8|serial2)$/.test(type)) return 'integer';
  if (/^(text|varchar)$/.test(type)) return 'text';
  return type;
}
