// Bicep read without its compiler: enough of it to hold infra/ against the code.
import { globSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Language, type Node, Parser } from 'web-tree-sitter';

const ROOT = join(import.meta.dirname, '../..');
await Parser.init();
const grammar = createRequire(import.meta.url).resolve('tree-sitter-bicep/package.json');
const language = await Language.load(join(dirname(grammar), 'tree-sitter-bicep.wasm'));

export interface BicepFile {
  /** Below infra/. */
  readonly file: string;
  readonly text: string;
  readonly root: Node;
}

export interface Declaration {
  readonly name: string;
  /** What follows the name: a resource's type, a module's path. */
  readonly of: string;
  readonly body: Value | undefined;
  readonly text: string;
}

/** A literal as what it says; anything else as its text, as `{ raw }`. */
export type Value = string | number | boolean | null | readonly Value[] | { readonly [name: string]: Value } | Raw;
export interface Raw {
  readonly raw: string;
}

export const bicepFiles = (): BicepFile[] =>
  globSync('**/*.bicep', { cwd: join(ROOT, 'infra') }).map((file) =>
    parse(file, readFileSync(join(ROOT, 'infra', file), 'utf8')),
  );

export function parse(file: string, text: string): BicepFile {
  const parser = new Parser();
  parser.setLanguage(language);
  const tree = parser.parse(text);
  if (!tree) throw new Error(`${file} can't be parsed`);
  return { file, text, root: tree.rootNode };
}

/** Where the parser had to guess: `line: text`. */
export function syntaxErrors({ root }: BicepFile): string[] {
  const found: string[] = [];
  const visit = (node: Node): void => {
    if (node.isError || node.isMissing) found.push(`${node.startPosition.row + 1}: ${node.text.slice(0, 60)}`);
    else for (const child of node.children) if (child) visit(child);
  };
  if (root.hasError) visit(root);
  return found;
}

type Kind = 'resource' | 'module' | 'parameter' | 'variable' | 'output';

export const declarations = ({ root }: BicepFile, kind: Kind): Declaration[] =>
  root.descendantsOfType(`${kind}_declaration`).flatMap((node) => {
    if (!node) return [];
    const parts = node.namedChildren.filter((child) => child !== null);
    const name = parts.find((child) => child.type === 'identifier')?.text ?? '';
    const of = parts.find((child) => child.type === 'string');
    return { name, of: of ? contentOf(of) : '', body: bodyOf(node), text: node.text };
  });

export const parameters = (file: BicepFile): { name: string; optional: boolean }[] =>
  declarations(file, 'parameter').map(({ name, text }) => ({ name, optional: /^param \w+ \w+ =/m.test(text) }));

/** All names that a file declares, and all that it uses and no one declares. */
export function undeclared(file: BicepFile): string[] {
  const kinds = ['resource', 'module', 'parameter', 'variable'] as const;
  const known = new Set(kinds.flatMap((kind) => declarations(file, kind).map(({ name }) => name)));
  // Loop variables and parameters of lambdas.
  for (const [, loop, lambda] of file.text.matchAll(/\[for (\w+) in|(\w+) =>/g)) known.add(loop ?? lambda ?? '');
  const used = file.root
    .descendantsOfType('identifier')
    .filter((node): node is Node => {
      const parent = node?.parent;
      if (!node || !parent || /type|output_declaration/.test(parent.type)) return false;
      const first = parent.namedChildren[0]?.id === node.id;
      const name = parent.namedChildren.find((child) => child?.type === 'identifier');
      if (parent.type.endsWith('_declaration')) return name?.id !== node.id;
      if (parent.type === 'object_property') return !first;
      return first || !/member|resource_expression/.test(parent.type);
    })
    .map(({ text }) => text);
  return [...new Set(used)].filter((name) => !known.has(name) && !BUILT_IN.has(name));
}

const BUILT_IN = new Set(
  `allowed concat contains description empty environment existing flatten guid if indexOf int items json last length loadJsonContent loadTextContent map maxLength maxValue min minLength minValue range
  replace split string resourceGroup subscription subscriptionResourceId take tenant toLower trim union uniqueString`.split(
    /\s+/,
  ),
);

/** A name's place in a tree of values: `properties.siteConfig.minTlsVersion`. */
export function at(value: Value | undefined, path: string): Value | undefined {
  let here = value;
  for (const name of path.split('.')) {
    if (typeof here !== 'object' || here === null || isArray(here) || isRaw(here)) return undefined;
    here = here[name];
  }
  return here;
}

/** Every member of every object within, with its name. */
export function* members(value: Value | undefined): Generator<readonly [string, Value]> {
  if (typeof value !== 'object' || value === null || isRaw(value)) return;
  if (isArray(value)) {
    for (const item of value) yield* members(item);
    return;
  }
  for (const [name, member] of Object.entries(value)) {
    yield [name, member];
    yield* members(member);
  }
}

export const isArray = (value: Value): value is readonly Value[] => Array.isArray(value);
export const isRaw = (value: Value): value is Raw =>
  typeof value === 'object' && value !== null && 'raw' in value && Object.keys(value).length === 1;

/** The object a declaration ends with, through `if (…)` and `[for …]`. */
function bodyOf(node: Node): Value | undefined {
  const last = node.namedChildren.at(-1);
  if (!last) return undefined;
  if (last.type === 'object' || last.type === 'array') return valueOf(last);
  const inner = last.descendantsOfType('object').find((of) => of && of.endIndex >= last.endIndex - 2);
  return valueOf(inner ?? last);
}

function valueOf(node: Node): Value {
  switch (node.type) {
    case 'object':
      return Object.fromEntries(
        node.namedChildren.flatMap((property) => {
          const [key, value] = [property?.namedChildren[0], property?.namedChildren.at(-1)];
          if (property?.type !== 'object_property' || !key || !value) return [];
          return [[key.type === 'string' ? contentOf(key) : key.text, valueOf(value)]];
        }),
      );
    case 'array':
      return node.namedChildren.flatMap((item) => (item && item.type !== 'comment' ? [valueOf(item)] : []));
    case 'string':
      return node.text.includes('${') ? { raw: node.text } : contentOf(node);
    case 'number':
      return Number(node.text);
    case 'boolean':
      return node.text === 'true';
    case 'null':
      return null;
    default:
      return { raw: node.text };
  }
}

const contentOf = (string: Node): string => string.text.slice(1, -1).replaceAll("\\'", "'").replaceAll('\\\\', '\\');
