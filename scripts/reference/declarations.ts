// What the source says of a declaration: its docstring, and the members of an interface with theirs.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'oxc-parser';
import type { Comment, Program, TSInterfaceDeclaration } from 'oxc-parser';

export interface Member {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly doc: string;
}

interface Source {
  readonly text: string;
  readonly program: Program;
  readonly comments: readonly Comment[];
}

const root = join(import.meta.dirname, '../..');
const sources = new Map<string, Source>();

function sourceOf(file: string): Source {
  const known = sources.get(file);
  if (known) return known;
  const text = readFileSync(join(root, file), 'utf8');
  const { program, comments } = parseSync(file, text);
  const source = { text, program, comments };
  sources.set(file, source);
  return source;
}

/** The docstring that ends right before this place, as one paragraph. */
function docBefore({ text, comments }: Source, start: number): string {
  const doc = comments.findLast(
    ({ type, value, end }) =>
      type === 'Block' && value.startsWith('*') && end <= start && /^\s*$/.test(text.slice(end, start)),
  );
  return (doc?.value ?? '')
    .replace(/^\*/, '')
    .split('\n')
    .map((line) => line.replace(/^\s*\*? ?/, ''))
    .join(' ')
    .replaceAll(/\s+/g, ' ')
    .replace(/([.:])? ?@throws (.*)$/, '. Throws $2.')
    .trim();
}

/** The docstring of an exported function, class or constant. */
export function docOf(file: string, name: string): string {
  const source = sourceOf(file);
  for (const node of source.program.body) {
    if (node.type !== 'ExportNamedDeclaration' || !node.declaration) continue;
    const declared = node.declaration;
    const names =
      declared.type === 'VariableDeclaration'
        ? declared.declarations.map(({ id }) => (id.type === 'Identifier' ? id.name : ''))
        : 'id' in declared && declared.id?.type === 'Identifier'
          ? [declared.id.name]
          : [];
    const doc = docBefore(source, node.start);
    if (names.includes(name) && doc !== '') return doc;
  }
  return '';
}

/** The members of an interface, those that it inherits last; `files` are searched for what it extends. */
export function membersOf(name: string, files: readonly string[]): Member[] {
  for (const file of files) {
    const source = sourceOf(file);
    const found = source.program.body
      .map((node) => (node.type === 'ExportNamedDeclaration' && node.declaration ? node.declaration : node))
      .find((node): node is TSInterfaceDeclaration => node.type === 'TSInterfaceDeclaration' && node.id.name === name);
    if (found) return [...ownMembers(source, found), ...found.extends.flatMap((of) => inherited(source, of, files))];
  }
  throw new Error(`There is no interface ${name} in ${files.join(', ')}`);
}

function ownMembers(source: Source, { body }: TSInterfaceDeclaration): Member[] {
  return body.body.flatMap((member) => {
    if (member.type !== 'TSPropertySignature' && member.type !== 'TSMethodSignature') return [];
    if (member.computed || member.key.type !== 'Identifier') return [];
    const { name } = member.key;
    const doc = docBefore(source, member.start);
    if (member.type === 'TSMethodSignature')
      return [{ name, type: tidy(source.text.slice(member.start, member.end)), required: true, doc }];
    const annotation = member.typeAnnotation?.typeAnnotation;
    const type = annotation ? tidy(source.text.slice(annotation.start, annotation.end)) : '';
    return [{ name, type, required: !member.optional, doc }];
  });
}

/** `Options`, `Omit<Options, 'stable'>` or `Pick<Options, 'start'>`. */
function inherited(source: Source, of: TSInterfaceDeclaration['extends'][number], files: readonly string[]): Member[] {
  const text = source.text.slice(of.start, of.end);
  const [, helper, base = text, names = ''] = /^(Omit|Pick)<(\w+)(?:<[^>]*>)?, ([^>]*)>$/.exec(text) ?? [];
  const named = new Set([...names.matchAll(/'(\w+)'/g)].map(([, one]) => one));
  return membersOf(base, files).filter(({ name }) => helper === undefined || named.has(name) === (helper === 'Pick'));
}

/** A type as a user thinks of it: `Type<S>` is `m.Container.type`. */
const tidy = (text: string): string =>
  text
    .replaceAll(/\s+/g, ' ')
    .replaceAll('readonly ', '')
    .replaceAll(/\bNoInfer<([^<>]*(?:<[^<>]*>)?)>/g, '$1')
    .replaceAll(/\bOn<\w+, (?:[^<>]|<[^<>]*>)*>/g, "{ theirs: 'ours' }")
    .replaceAll(/\bType<\w+>/g, 'm.Container.type')
    .replace(/;$/, '');
