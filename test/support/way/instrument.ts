import { parseSync } from 'oxc-parser';

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

/** The text of a module, each function's body handed to `__enter(file, name, parameters, body)`. Lines stay where they are. */
export function instrument(file: string, text: string): string {
  const { program, errors } = parseSync(file, text);
  if (errors[0]) throw new Error(`${file}: ${errors[0].message}`);
  const edits: { readonly at: number; readonly insert: string }[] = [];
  const wrap = (fn: Node, name: string): void => {
    const body = fn['body'] as Node;
    const parameters = (fn['params'] as Node[]).flatMap(namesOf).join(', ');
    const head = `__enter(${JSON.stringify(file)}, ${JSON.stringify(name)}, [${parameters}], ${fn['async'] === true ? 'async ' : ''}() => `;
    const block = body.type === 'BlockStatement' || body.type === 'FunctionBody';
    edits.push({ at: body.start + (block ? 1 : 0), insert: block ? ` return ${head}{` : `${head}(` });
    edits.push({ at: body.end - (block ? 1 : 0), insert: block ? '});' : '))' });
  };
  const visit = (value: unknown, within: string, called?: string): void => {
    if (Array.isArray(value)) for (const part of value) visit(part, within);
    if (!isNode(value)) return;
    let inside = within;
    if (isFunction(value)) {
      const own = isNode(value['id']) ? String(value['id']['name']) : called;
      inside = own ?? within;
      // A generator's body must stay where its `yield` is, a constructor's where its `super` is.
      if (value['generator'] !== true && called !== 'constructor') wrap(value, inside);
    }
    for (const [field, part] of Object.entries(value))
      visit(part, inside, field === 'init' || field === 'value' ? nameOf(value) : undefined);
  };
  visit(program, '(module)');
  // From the end, so that what was inserted moves nothing that is still to come.
  return edits
    .map((edit, order) => ({ ...edit, order }))
    .toSorted((a, b) => b.at - a.at || b.order - a.order)
    .reduce((done, { at, insert }) => done.slice(0, at) + insert + done.slice(at), text);
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && 'type' in value && 'start' in value;

const isFunction = (node: Node): boolean =>
  /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type) && isNode(node['body']);

/** What a variable, a method or a field is called. */
function nameOf(node: Node): string | undefined {
  const key = node['key'] ?? node['id'];
  if (!isNode(key)) return undefined;
  if (key.type === 'PrivateIdentifier') return `#${String(key['name'])}`;
  return key.type === 'Identifier' ? String(key['name']) : undefined;
}

/** The names that a parameter binds. */
function namesOf(pattern: Node): string[] {
  switch (pattern.type) {
    case 'Identifier':
      return pattern['name'] === 'this' ? [] : [String(pattern['name'])];
    case 'AssignmentPattern':
      return namesOf(pattern['left'] as Node);
    case 'RestElement':
      return namesOf(pattern['argument'] as Node);
    case 'ArrayPattern':
      return (pattern['elements'] as (Node | null)[]).flatMap((part) => (part ? namesOf(part) : []));
    case 'ObjectPattern':
      return (pattern['properties'] as Node[]).flatMap((part) =>
        namesOf(part.type === 'RestElement' ? part : (part['value'] as Node)),
      );
    default:
      return [];
  }
}
