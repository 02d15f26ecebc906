// docs/schemas: for each verb the JSON Schema of what it prints with --json, worked out by the compiler from the type
// that its operation returns.
import { globSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { type Expression, parseSync, Visitor } from 'oxc-parser';
import {
  API,
  type Checker,
  SignatureKind,
  type Symbol as Named,
  SymbolFlags,
  type Type,
  TypeFlags,
} from 'typescript/unstable/sync';

type Schema = Readonly<Record<string, unknown>>;

interface Declared {
  readonly name: string;
  file: string;
  /** Where the name of its property `run`, or of the type of its result, stands. */
  at: number;
}

const root = join(import.meta.dirname, '../..');

/** Every change of a shard map has this result; `changingMap` makes its `run`. */
const CHANGE = { file: 'src/verbs/shards/change.ts', name: 'interface ChangeResult' };

/** Where these functions themselves are. */
const DEFINES = new Set(['src/verbs/operation.ts', CHANGE.file]);

/** The declarations of operations in a file. */
function declaredIn(file: string): Declared[] {
  const { program } = parseSync(file, readFileSync(join(root, file), 'utf8'));
  const found: Declared[] = [];
  const changes: Declared[] = [];
  new Visitor({
    CallExpression: ({ callee, arguments: [given] }) => {
      const makes = callee.type === 'Identifier' ? callee.name : '';
      if (!['defineOperation', 'defineChange', 'changingMap'].includes(makes)) return;
      if (given?.type !== 'ObjectExpression') throw new Error(`${file}: what ${makes} gets isn't written out`);
      const property = (wanted: string): { start: number; value: Expression } | undefined => {
        for (const one of given.properties)
          if (one.type === 'Property' && one.key.type === 'Identifier' && one.key.name === wanted)
            return { start: one.key.start, value: one.value };
        return undefined;
      };
      const word = (wanted: string): string | undefined => {
        const value = property(wanted)?.value;
        return value?.type === 'Literal' && typeof value.value === 'string' ? value.value : undefined;
      };
      const [name, run] = [word('name'), property('run')];
      if (makes === 'defineOperation' && name === undefined) {
        // The rest of it is a call of `changingMap` above it, in the same order.
        const rest = changes.shift();
        if (!rest || !run) throw new Error(`${file}: an operation without a name`);
        Object.assign(rest, { file, at: run.start });
        return;
      }
      if (name === undefined) throw new Error(`${file}: a name isn't written out`);
      if (makes !== 'defineOperation') {
        const at = readFileSync(join(root, CHANGE.file), 'utf8').indexOf(CHANGE.name) + CHANGE.name.indexOf(' ') + 1;
        const change = { name, file: CHANGE.file, at };
        found.push(change);
        if (makes === 'changingMap') changes.push(change);
        return;
      }
      if (!run) throw new Error(`${file}: ${name} has no run`);
      const examples = property('examples')?.value;
      // What a timer alone runs is no verb.
      if (examples?.type === 'ArrayExpression' && examples.elements.length === 0) return;
      found.push({ name, file, at: run.start });
    },
  }).visit(program);
  return found;
}

/** Types as JSON Schema. An object type that contains itself becomes a definition. */
class Writer {
  readonly #checker: Checker;
  readonly #open = new Set<number>();
  readonly #names = new Map<number, string>();
  readonly definitions: Record<string, Schema> = {};

  constructor(checker: Checker) {
    this.#checker = checker;
  }

  of(type: Type): Schema {
    const { flags } = type;
    if (flags & TypeFlags.AnyOrUnknown) return {};
    if (flags & TypeFlags.Null) return { type: 'null' };
    if (flags & TypeFlags.Never) return { not: {} };
    if (type.isStringLiteralType() || type.isNumberLiteralType()) return { const: type.value };
    if (flags & TypeFlags.BooleanLiteral) return { const: this.#checker.typeToString(type) === 'true' };
    if (flags & TypeFlags.Boolean) return { type: 'boolean' };
    if (flags & TypeFlags.StringLike) return { type: 'string' };
    if (flags & TypeFlags.NumberLike) return { type: 'number' };
    if (type.isUnionType()) return this.#union(type.getTypes());
    if (flags & TypeFlags.TypeParameter) return {};
    return this.#object(type);
  }

  #union(types: readonly Type[]): Schema {
    const members = types.filter((one) => !isAbsent(one));
    const literals = members.flatMap((one) => (one.isStringLiteralType() ? [one.value] : []));
    const others = members.filter((one) => !one.isStringLiteralType());
    const booleans = others.filter(({ flags }) => flags & TypeFlags.BooleanLiteral);
    const rest = booleans.length === 2 ? others.filter((one) => !booleans.includes(one)) : others;
    const any: Schema[] = [
      ...(literals.length > 0 ? [{ enum: literals.toSorted() }] : []),
      ...(booleans.length === 2 ? [{ type: 'boolean' }] : []),
      ...rest.map((one) => this.of(one)),
    ];
    const [only] = any;
    if (only && any.length === 1) return only;
    return { anyOf: any.toSorted((a, b) => order(a, b)) };
  }

  #object(type: Type): Schema {
    const checker = this.#checker;
    if (checker.isTupleType(type) && type.isTypeReference())
      return { type: 'array', prefixItems: checker.getTypeArguments(type).map((one) => this.of(one)) };
    if (checker.isArrayLikeType(type) && type.isTypeReference()) {
      const [element] = checker.getTypeArguments(type);
      return { type: 'array', items: element ? this.of(element) : {} };
    }
    const own = this.#names.get(type.id);
    if (own !== undefined) return { $ref: `#/$defs/${own}` };
    if (this.#open.has(type.id)) {
      const name = `${type.getAliasSymbol()?.name ?? type.getSymbol()?.name ?? 'part'}${type.id}`.replaceAll(/\W/g, '');
      const stable = `${name.replace(/\d+$/, '')}${this.#names.size === 0 ? '' : this.#names.size + 1}`;
      this.#names.set(type.id, stable);
      return { $ref: `#/$defs/${stable}` };
    }
    if (type.getSymbol()?.name === 'Date') return { type: 'string', format: 'date-time' };
    this.#open.add(type.id);
    const schema = this.#members(type);
    this.#open.delete(type.id);
    const name = this.#names.get(type.id);
    if (name === undefined) return schema;
    this.definitions[name] = schema;
    return { $ref: `#/$defs/${name}` };
  }

  #members(type: Type): Schema {
    const checker = this.#checker;
    const properties: Record<string, Schema> = {};
    const required: string[] = [];
    const members = checker
      .getPropertiesOfType(type)
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map((member) => [member, checker.getTypeOfSymbol(member)] as const);
    for (const [member, of] of members) {
      // JSON has no functions.
      if (!of || checker.getSignaturesOfType(of, SignatureKind.Call).length > 0 || member.name.startsWith('__@'))
        continue;
      const description = textOf(member, checker);
      properties[member.name] = { ...this.of(of), ...(description === '' ? {} : { description }) };
      if (!(member.flags & SymbolFlags.Optional) && !mayBeAbsent(of)) required.push(member.name);
    }
    const [index] = checker.getIndexInfosOfType(type);
    return {
      type: 'object',
      ...(Object.keys(properties).length > 0 && { properties }),
      ...(required.length > 0 && { required }),
      ...(index && { additionalProperties: this.of(index.valueType) }),
    };
  }
}

const isAbsent = ({ flags }: Type): boolean => (flags & (TypeFlags.Undefined | TypeFlags.Void)) !== 0;
const mayBeAbsent = (type: Type): boolean =>
  isAbsent(type) ||
  (type.isUnionType() ? type.getTypes().some(mayBeAbsent) : (type.flags & TypeFlags.AnyOrUnknown) !== 0);
const order = (a: Schema, b: Schema): number => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);
const textOf = (member: Named, checker: Checker): string =>
  member.getDocumentationComment(checker).replaceAll(/\s+/g, ' ').trim();

/** File name → text. */
export function outputSchemas(): Map<string, string> {
  const files = globSync('src/**/*.ts', { cwd: root })
    .map((file) => file.split(sep).join('/'))
    .filter(
      (file) =>
        !DEFINES.has(file) && /\b(defineOperation|defineChange)[<(]/.test(readFileSync(join(root, file), 'utf8')),
    );
  const api = new API({ cwd: root });
  const snapshot = api.updateSnapshot({ openProject: join(root, 'tsconfig.json') });
  const [project] = snapshot.getProjects();
  if (!project) throw new Error('The compiler opens no project');
  const { checker } = project;
  const result = new Map<string, string>();
  for (const { name, file, at } of files.flatMap(declaredIn)) {
    const type = checker.getTypeAtPosition(join(root, file), at);
    const [signature] = type ? checker.getSignaturesOfType(type, SignatureKind.Call) : [];
    const promised = signature && checker.getReturnTypeOfSignature(signature);
    const promises = promised?.isUnionType() ? promised.getTypes() : promised ? [promised] : [];
    const resolved = promises.flatMap(
      (one) => (one.isTypeReference() ? checker.getTypeArguments(one)[0] : undefined) ?? [],
    );
    const values = file === CHANGE.file && type ? [type] : resolved;
    if (values.length === 0 || values.some((one) => one.isErrorType()))
      throw new Error(`${file}: the type of ${name}'s result isn't found`);
    const writer = new Writer(checker);
    const [only = {}, ...others] = values.map((one) => writer.of(one));
    const schema = others.length === 0 ? only : { anyOf: [only, ...others] };
    const whole = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      title: `millrace ${name} --json`,
      ...schema,
      ...(Object.keys(writer.definitions).length > 0 && { $defs: writer.definitions }),
    };
    result.set(`${name.replaceAll(' ', '-')}.json`, `${JSON.stringify(whole, undefined, 2)}\n`);
  }
  api.close();
  return result;
}
