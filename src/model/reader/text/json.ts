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
  const first = attempt(text);
  const unbracketed =
    first.errors.length > 0 && first.tree?.type === 'object'
      ? attempt(`[${text.replaceAll(/\}(\s*(?:\/\/[^\n]*\s*)*)\{/g, '},$1{')}]`)
      : first;
  const { tree, errors, source } = unbracketed.errors.length === 0 ? unbracketed : first;
  const [error] = errors;
  if (!tree || error) {
    const at = fence.line + lines(source.slice(0, error?.offset ?? 0));
    const curly = /[“”]/.test(fence.text) ? ' (it has curly quotes)' : '';
    return { error: `${error ? printParseErrorCode(error.error) : 'it is empty'}${curly}`, line: at };
  }
  if (source !== text) forgiven.push('a list without brackets');
  if (!isStrict(source)) forgiven.push('comments or trailing commas');
  const list = tree.type === 'array';
  const nodes = list ? (tree.children ?? []) : [tree];
  let [line, from] = [fence.line, 0];
  const elements = nodes.map((node): Element => {
    // From the one before on: a list may have many.
    line += lines(source.slice(from, node.offset));
    from = node.offset;
    return { value: valueOf(node), line };
  });
  return { elements, list, forgiven: [...new Set(forgiven)] };
}

function attempt(source: string): { source: string; tree: Node | undefined; errors: ParseError[] } {
  const errors: ParseError[] = [];
  return { source, errors, tree: parseTree(source, errors, { allowTrailingComma: true }) };
}

function isStrict(source: string): boolean {
  try {
    JSON.parse(source);
    return true;
  } catch {
    return false;
  }
}

const lines = (text: string): number => text.split('\n').length - 1;

function valueOf(node: Node): unknown {
  if (node.type === 'array') return (node.children ?? []).map(valueOf);
  if (node.type !== 'object') return node.value;
  const members = (node.children ?? []).flatMap(({ children: [name, value] = [] }) =>
    name && value ? [[String(name.value), valueOf(value)]] : [],
  );
  return Object.fromEntries(members);
}
