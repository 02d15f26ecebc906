// Reads JSON as it is written in Markdown: with comments, trailing commas, `...`, or a list without its brackets.
import { type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import type { StatedFence } from '../labelled-facts.ts';

export interface Element {
  readonly value: unknown;
  readonly line: number;
}

export interface TolerantJson {
  /** The elements of the list, or the one value, each with its line. */
  readonly elements: readonly Element[];
  readonly list: boolean;
  /** Parts that aren't strict JSON. */
  readonly forgiven: readonly string[];
}

/** An error that the reader can't tolerate, with its line. */
export interface BrokenJson {
  readonly error: string;
  readonly line: number;
}

/** Said of JSON that leaves out some of its fields. */
export const ELLIPSIS = 'an ellipsis';

export function readJson(fence: StatedFence): TolerantJson | BrokenJson {
  const forgiven: string[] = [];
  // Replaced by blanks of the same length, so that offsets and lines stay the same.
  const text = fence.text.replaceAll(/(?<=^|[[{,\s])(?:\.{3}|…)[ \t]*,?(?=\s|[\]}]|$)/g, (dots) => {
    forgiven.push(ELLIPSIS);
    return ' '.repeat(dots.length);
  });
  if (forgiven.length === 0) {
    const plain = strictly(fence);
    if (plain) return plain;
  }
  const first = attempt(text);
  const unbracketed =
    first.errors.length > 0 && first.tree?.type === 'object'
      ? attempt(`[${text.replaceAll(/\}(\s*(?:\/\/[^\n]*\s*)*)\{/g, '},$1{')}]`)
      : first;
  const { tree, errors, source } = unbracketed.errors.length === 0 ? unbracketed : first;
  const [error] = errors;
  if (!tree || error) {
    const at = fence.line + lines(source, error?.offset ?? 0);
    const curly = /[“”]/.test(fence.text) ? ' (it has curly quotes)' : '';
    return { error: `${error ? printParseErrorCode(error.error) : 'it is empty'}${curly}`, line: at };
  }
  if (source !== text) forgiven.push('a list without brackets');
  if (!parsedStrictly(source)) forgiven.push('comments or trailing commas');
  const list = tree.type === 'array';
  const nodes = list ? (tree.children ?? []) : [tree];
  return {
    elements: nodes.map((node) => ({ value: valueOf(node), line: fence.line + lines(source, node.offset) })),
    list,
    forgiven: [...new Set(forgiven)],
  };
}

function attempt(source: string): { source: string; tree: Node | undefined; errors: ParseError[] } {
  const errors: ParseError[] = [];
  return { source, errors, tree: parseTree(source, errors, { allowTrailingComma: true }) };
}

function parsedStrictly(source: string): { readonly value: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(source);
    return { value };
  } catch {
    return undefined;
  }
}

/** Strict JSON, which most is. The tolerant parser takes ten times as long. */
function strictly({ text, line }: StatedFence): TolerantJson | undefined {
  const parsed = parsedStrictly(text);
  if (!parsed) return undefined;
  const { value } = parsed;
  if (!Array.isArray(value))
    return { elements: [{ value, line: line + lines(text, text.search(/\S/)) }], list: false, forgiven: [] };
  const starts = startsOf(text);
  const elements = value.map((element: unknown, index) => ({ value: element, line: line + (starts[index] ?? 0) }));
  return { elements, list: true, forgiven: [] };
}

/** The line of each element of a list of strict JSON. */
function startsOf(text: string): number[] {
  const starts: number[] = [];
  let [depth, line, begun] = [0, 0, false];
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},\n]|[^\s"[\]{},]+/g)) {
    if (token === '\n') line += 1;
    else if (token === ']' || token === '}') depth -= 1;
    else if (token === ',') begun &&= depth > 1;
    else {
      if (depth === 1 && !begun) {
        starts.push(line);
        begun = true;
      }
      if (token === '[' || token === '{') depth += 1;
    }
  }
  return starts;
}

const lines = (text: string, offset: number): number => text.slice(0, offset).split('\n').length - 1;

function valueOf(node: Node): unknown {
  if (node.type === 'array') return (node.children ?? []).map(valueOf);
  if (node.type !== 'object') return node.value;
  const members = (node.children ?? []).flatMap(({ children: [name, value] = [] }) =>
    name && value ? [[String(name.value), valueOf(value)]] : [],
  );
  return Object.fromEntries(members);
}
