// Mutants of pipeline.ts: each literal, field, operator, measure and optional part of it changed once.
import { type AnyNode, parse } from 'acorn';
import { childrenOf } from '../prove/limits.ts';
import { type Mutant, Mutating, otherValue } from './mutant.ts';

/** Parts without which a declaration still is one. */
const OPTIONAL: ReadonlySet<string> = new Set(['where', 'missing', 'deleted', 'stable', 'tenant', 'onDelete']);
const MEASURES: Readonly<Record<string, string>> = { sum: 'max', max: 'min', min: 'max', avg: 'sum' };
const OPERATORS: Readonly<Record<string, string>> = {
  '===': '!==',
  '!==': '===',
  '>=': '>',
  '>': '>=',
  '<=': '<',
  '<': '<=',
  '+': '-',
  '-': '+',
  '*': '+',
  '&&': '||',
  '||': '&&',
};

/** `text`: JavaScript. `fields`: another field for each field of the documents. */
export function codeMutants(text: string, fields: ReadonlyMap<string, string>): Mutant[] {
  const mutating = new Mutating('pipeline', text);
  const walk = (node: AnyNode, above: readonly AnyNode[]): void => {
    change(node, above, text, fields, mutating);
    for (const child of childrenOf(node)) walk(child, [...above, node]);
  };
  walk(parse(text, { ecmaVersion: 'latest', sourceType: 'module' }), []);
  return mutating.all.toSorted((a, b) => a.line - b.line);
}

function change(
  node: AnyNode,
  above: readonly AnyNode[],
  text: string,
  fields: ReadonlyMap<string, string>,
  mutating: Mutating,
): void {
  const parent = above.at(-1);
  if (node.type === 'Literal') {
    if (typeof node.value === 'number') mutating.replace(node.start, node.end, String(node.value + 1));
    else if (typeof node.value === 'boolean') mutating.replace(node.start, node.end, String(!node.value));
    else if (typeof node.value === 'string' && node.value !== '' && !isName(node, parent))
      mutating.replace(node.start + 1, node.end - 1, fields.get(node.value) ?? otherValue(node.value));
  } else if (node.type === 'MemberExpression') {
    if (node.computed || node.property.type !== 'Identifier' || node.object.type !== 'Identifier') return;
    const { name, start, end } = node.property;
    const measure = parent?.type === 'CallExpression' && parent.callee === node ? MEASURES[name] : undefined;
    const other = measure ?? fields.get(name);
    if (other !== undefined) mutating.replace(start, end, other);
  } else if (node.type === 'BinaryExpression' || node.type === 'LogicalExpression') {
    const other = OPERATORS[node.operator];
    const at = node.left.end + text.slice(node.left.end, node.right.start).indexOf(node.operator);
    if (other !== undefined) mutating.replace(at, at + node.operator.length, other);
  } else if (
    node.type === 'Property' &&
    // A property of a pattern declares a variable.
    parent?.type === 'ObjectExpression' &&
    node.key.type === 'Identifier' &&
    OPTIONAL.has(node.key.name)
  )
    mutating.replace(node.start, node.end + (/^\s*,/.exec(text.slice(node.end))?.[0].length ?? 0), '');
}

/** The name of a module, of a projection, of the pipeline, of a property, or the path of the document. */
function isName(node: AnyNode, parent: AnyNode | undefined): boolean {
  if (!parent) return true;
  if (/^(Import|Export)/.test(parent.type) || parent.type === 'ExpressionStatement') return true;
  if (parent.type === 'CallExpression') return parent.arguments[0] === node && parent.callee.type === 'Identifier';
  if (parent.type === 'MemberExpression') return parent.computed;
  if (parent.type !== 'Property') return false;
  return parent.key === node || (parent.key.type === 'Identifier' && parent.key.name === 'name');
}
