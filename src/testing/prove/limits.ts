// The values at which an answer may change: what the meanings and the code compare a field with. Documents with these
// values, and with those beside them, show a filter or a branch that is slightly wrong.
import { type AnyNode, parse } from 'acorn';
import { isObject } from '../../base/json.ts';
import { type Token, readTokens } from '../../base/sql-tokens.ts';
import type { Documents } from '../../model/documents.ts';
import { withoutTypes } from './without-types.ts';

export interface Limits {
  readonly numbers: readonly number[];
  /** Texts by the field that is compared with them; those of an unknown field are under the empty name. */
  readonly texts: ReadonlyMap<string, readonly string[]>;
}

export const NO_LIMITS: Limits = { numbers: [], texts: new Map() };

/** `code`: the text of pipeline.ts. */
export function limitsOf({ design, requirements }: Documents, code?: string): Limits {
  const found = new Found();
  for (const { text } of [...(design?.meanings ?? []), ...(requirements?.meanings ?? [])]) ofQuery(text, found);
  if (code !== undefined) ofCode(code, found);
  return found;
}

class Found implements Limits {
  readonly #numbers = new Set<number>();
  readonly #texts = new Map<string, Set<string>>();

  get numbers(): readonly number[] {
    return [...this.#numbers];
  }

  get texts(): ReadonlyMap<string, readonly string[]> {
    return new Map([...this.#texts].map(([field, texts]) => [field, [...texts]]));
  }

  number(value: number): void {
    this.#numbers.add(value);
  }

  text(field: string | undefined, value: string): void {
    const texts = this.#texts.get(field ?? '') ?? new Set();
    this.#texts.set(field ?? '', texts.add(value));
  }
}

const BETWEEN_TERMS: ReadonlySet<string> = new Set(['AND', 'OR', 'WHERE', 'SELECT', 'GROUP', 'ORDER']);

/** Numbers and texts of the conditions; a text belongs to the field of its term. */
function ofQuery(text: string, found: Found): void {
  const read = readTokens(text);
  if ('why' in read) return;
  for (const term of terms(read.tokens)) {
    const field = term.find(({ kind }, at) => kind === 'name' && term[at - 1]?.text === '.')?.text;
    const sign = term.some(({ text: one, word }) => /^[<>=]$/.test(one) || word === 'IN' || word === 'BETWEEN');
    for (const [at, token] of term.entries()) {
      if (token.kind === 'string') found.text(field, token.text.slice(1, -1));
      if (token.kind === 'number' && sign)
        found.number(Number(`${term[at - 1]?.text === '-' ? '-' : ''}${token.text}`));
    }
  }
}

/** The AND of a BETWEEN ends no term. */
function terms(tokens: readonly Token[]): Token[][] {
  const all: Token[][] = [[]];
  let range = false;
  for (const token of tokens) {
    if (BETWEEN_TERMS.has(token.word) && !(range && token.word === 'AND')) all.push([]);
    else all.at(-1)?.push(token);
    range = token.word === 'BETWEEN' || (range && token.word !== 'AND');
  }
  return all;
}

const COMPARES: ReadonlySet<string> = new Set(['===', '!==', '==', '!=', '<', '>', '<=', '>=']);
const ASKS: ReadonlySet<string> = new Set(['includes', 'startsWith', 'endsWith', 'indexOf', 'has']);
/** Their numbers are places in a text or a list. */
const PLACES: ReadonlySet<string> = new Set(['slice', 'substring', 'substr', 'at', 'toFixed', 'padStart', 'padEnd']);

/** A code that has no certain reading gives no values. */
function ofCode(code: string, found: Found): void {
  let program: AnyNode;
  try {
    program = parse(withoutTypes(code), { ecmaVersion: 'latest', sourceType: 'module' });
  } catch {
    return;
  }
  const lists = new Map<string, readonly string[]>();
  const walk = (node: AnyNode, parent: AnyNode | undefined): void => {
    if (node.type === 'VariableDeclarator' && node.id.type === 'Identifier' && node.init)
      lists.set(node.id.name, textsIn(node.init));
    compared(node, parent, lists, found);
    for (const child of childrenOf(node)) walk(child, node);
  };
  walk(program, undefined);
}

function compared(
  node: AnyNode,
  parent: AnyNode | undefined,
  lists: ReadonlyMap<string, readonly string[]>,
  found: Found,
): void {
  if (node.type === 'Literal' && typeof node.value === 'number' && !isPlace(parent))
    found.number(parent?.type === 'UnaryExpression' && parent.operator === '-' ? -node.value : node.value);
  else if (node.type === 'BinaryExpression' && COMPARES.has(node.operator)) {
    for (const [value, other] of [
      [node.left, node.right],
      [node.right, node.left],
    ] as const)
      if (value.type === 'Literal' && typeof value.value === 'string') {
        found.text(fieldOf(other), value.value);
        // A text is smaller than itself with something behind it.
        if (/^[<>]/.test(node.operator)) found.text(fieldOf(other), `${value.value}~`);
      }
  } else if (node.type === 'SwitchStatement') {
    for (const { test } of node.cases)
      if (test?.type === 'Literal' && typeof test.value === 'string')
        found.text(fieldOf(node.discriminant), test.value);
  } else if (node.type === 'CallExpression' && node.callee.type === 'MemberExpression') {
    const { object, property } = node.callee;
    const [asked] = node.arguments;
    if (property.type !== 'Identifier' || !ASKS.has(property.name) || !asked) return;
    if (asked.type === 'Literal' && typeof asked.value === 'string') found.text(fieldOf(object), asked.value);
    const list = object.type === 'Identifier' ? (lists.get(object.name) ?? []) : textsIn(object);
    for (const value of list) found.text(fieldOf(asked), value);
  }
}

const isPlace = (parent: AnyNode | undefined): boolean =>
  parent?.type === 'CallExpression' &&
  parent.callee.type === 'MemberExpression' &&
  parent.callee.property.type === 'Identifier' &&
  PLACES.has(parent.callee.property.name);

/** The elements of `['a', 'b']` and of `new Set(['a', 'b'])`. */
function textsIn(node: AnyNode): readonly string[] {
  if (node.type === 'NewExpression') return node.arguments.flatMap(textsIn);
  if (node.type !== 'ArrayExpression') return [];
  return node.elements.flatMap((element) =>
    element?.type === 'Literal' && typeof element.value === 'string' ? [element.value] : [],
  );
}

const fieldOf = (node: AnyNode): string | undefined =>
  node.type === 'MemberExpression' && !node.computed && node.property.type === 'Identifier'
    ? node.property.name
    : undefined;

/** The nodes directly within a node. */
export const childrenOf = (node: AnyNode): AnyNode[] =>
  Object.values(node)
    .flat()
    .filter((value: unknown): value is AnyNode => isObject(value) && typeof value['type'] === 'string');
