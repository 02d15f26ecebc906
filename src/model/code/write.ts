import { canonical } from '../../base/json.ts';
import type { Field, FieldKind, Fields } from '../fields.ts';
import type { Container, DocumentType, IndexingPolicy, Model } from '../model.ts';

/** The names of the files in a project. */
export const MODEL_CODE = 'model.ts';
export const EXAMPLES_FILE = 'model.examples.json';

/** Line 1: which file is the truth of the project. */
export const fromDocument = (file: string, sha256: string): string => `// from ${file}, sha256 ${sha256}`;
export const BY_HAND = '// by hand';

/** The widest line that isn't broken. Generated files have the form that formatters give them with these widths. */
const WIDTH = 120;

/**
 * The text of a `model.ts` with what the model has, and the names of the types of its documents.
 * The same model always gives the same text.
 */
export function writeModel(model: Model, first: string): string {
  const used = new Set<string>(['Infer', 'defineModel']);
  const writer = new Writer(used);
  const containers = model.containers.map((container) => writer.container(container, placeOf(model, container)));
  const options = model.containers.some(({ types }) => types.some(({ examples }) => examples.length > 0))
    ? `{ examples: './${EXAMPLES_FILE}' }`
    : undefined;
  const body =
    options === undefined
      ? `export const m = defineModel({\n${containers.map((one) => indent(one, 2)).join('\n')}\n});`
      : `export const m = defineModel(\n  {\n${containers.map((one) => indent(one, 4)).join('\n')}\n  },\n  ${options},\n);`;
  const types = typeNames(model).map(
    ({ name, container, type }) => `export type ${name} = Infer<typeof ${refer(container, type)}>;\n`,
  );
  return [
    `${first}\n`,
    importOf([...used].toSorted((one, other) => (one < other ? -1 : 1))),
    `${body}\n`,
    types.join(''),
  ].join('\n');
}

/** The examples of a model, as `model.examples.json` has them. */
export function writeExamples({ containers }: Model): string {
  const value = containers.map(({ name, types }) => [
    name,
    Object.fromEntries(types.flatMap((type) => (type.examples.length > 0 ? [[type.name, type.examples]] : []))),
  ]);
  return `${json(Object.fromEntries(value), 0)}\n`;
}

type SpreadOfContainer = 'spread' | 'every' | undefined;

const placeOf = ({ shardMaps: [map] = [] }: Model, { name }: Container): SpreadOfContainer =>
  map && Object.hasOwn(map.sharded, name) ? 'spread' : map?.reference.includes(name) ? 'every' : undefined;

class Writer {
  readonly #used: Set<string>;

  constructor(used: Set<string>) {
    this.#used = used;
  }

  container(of: Container, place: SpreadOfContainer): string {
    const types = of.types.map((type) => `${property(type.name)}: ${this.#document(type)},`);
    const options = this.#options(of, place);
    const name = this.#use('container');
    const key = quoted(of.partitionKey.join(', '));
    const head = `${property(of.name)}: ${name}(`;
    const fields = types.length === 0 ? '{}' : `{\n${types.map((type) => indent(type, 2)).join('\n')}\n}`;
    if (options.length === 0) return `${head}${key}, ${fields}),`;
    return `${head}\n${indent([`${key},`, `${fields},`, `${object(options, 8)},`].join('\n'), 2)}\n),`;
  }

  #document({ name, fields, examples }: DocumentType): string {
    const { type, ...own } = fields;
    const typed = type === undefined ? examples.length === 0 : examples.every((example) => example['type'] === name);
    const builder = this.#use(typed ? 'document' : 'documentWithoutType');
    // A type without examples is still a document.
    const known = Object.keys(fields).length === 0 ? { id: { kind: 'text' } as const } : typed ? own : fields;
    return `${builder}(${this.#fields(known, 8, `${property(name)}: ${builder}(),`.length)})`;
  }

  /** `at`: how far the line is indented; `around`: the length of what else stands in it. */
  #fields(fields: Fields, at: number, around: number): string {
    const entries = Object.entries(fields);
    const short = entries.map(([name, field]) => this.#named(name, this.#field(field, at + 2, 0)));
    if (!short.some((one) => one.includes('\n')) && fits(short, at + around)) return oneLine(short);
    return lines(
      entries.map(([name, field]) =>
        this.#named(name, this.#field(field, at + 2, property(name).length + ': ,'.length)),
      ),
    );
  }

  #named = (name: string, value: string): string => (name === value ? name : `${property(name)}: ${value}`);

  #field({ isOptional, isNullable, ...field }: Field, at: number, around: number): string {
    const wrappers = [...(isOptional ? [this.#use('optional')] : []), ...(isNullable ? [this.#use('nullable')] : [])];
    const open = wrappers.map((name) => `${name}(`).join('');
    return open + this.#kind(field, at, around + open.length + wrappers.length) + ')'.repeat(wrappers.length);
  }

  #kind(field: Field, at: number, around: number): string {
    if (field.values) return `${this.#use('oneOf')}(${field.values.map(quoted).join(', ')})`;
    if (field.kind === 'list') {
      const builder = this.#use('list');
      const element = field.element ?? { kind: 'any' as const };
      if (element.kind === 'object' && !element.isNullable)
        return `${builder}(${this.#fields(element.fields ?? {}, at, around + builder.length + 2)})`;
      return `${builder}(${this.#field(element, at, around + builder.length + 2)})`;
    }
    if (field.kind === 'object') {
      const builder = this.#use('object');
      return `${builder}(${this.#fields(field.fields ?? {}, at, around + builder.length + 2)})`;
    }
    return this.#use(KINDS[field.kind]);
  }

  #options(of: Container, place: SpreadOfContainer): string[] {
    const { defaultTtl, uniqueKeys, indexingPolicy, vectors, throughput, reference } = of;
    return [
      ...(defaultTtl === undefined ? [] : [`ttl: ${defaultTtl === -1 ? "'per document'" : number(defaultTtl)}`]),
      ...(uniqueKeys ? [`unique: ${literal(uniqueKeys.map(({ paths }) => paths))}`] : []),
      ...(indexingPolicy ? [`index: ${this.#policy(indexingPolicy)}`] : []),
      ...(vectors ? [`vectors: ${literal(vectors)}`] : []),
      ...(reference ? ['reference: true'] : []),
      ...(place ? [`shards: ${quoted(place)}`] : []),
      ...(throughput ? [`throughput: ${this.#use(throughput.kind)}(${number(throughput.max)})`] : []),
    ];
  }

  #policy(policy: IndexingPolicy): string {
    const { includedPaths = [], excludedPaths = [], compositeIndexes = [], ...others } = policy;
    const [excluded, ...more] = excludedPaths;
    const plain =
      canonical(others) === canonical({ indexingMode: 'consistent', automatic: true }) &&
      excluded?.path === '/*' &&
      more.length === 0 &&
      includedPaths.every(({ path }) => path.endsWith('/?'));
    if (!plain) return literal(policy);
    const base = call(
      this.#use('indexed'),
      includedPaths.map(({ path }) => quoted(path.slice(0, -2))),
      10,
    );
    return compositeIndexes.reduce(
      (inner, by) =>
        call(
          this.#use('ordered'),
          [inner, ...by.map(({ path, order }) => quoted(order === 'descending' ? `${path} desc` : path))],
          10,
        ),
      base,
    );
  }

  #use(name: string): string {
    this.#used.add(name);
    return name;
  }
}

const KINDS: Readonly<Record<Exclude<FieldKind, 'list' | 'object'>, string>> = {
  text: 'text',
  int: 'int',
  number: 'number',
  moment: 'moment',
  day: 'day',
  bool: 'bool',
  any: 'any',
};

function importOf(names: readonly string[]): string {
  const named = names.map((name) => (name === 'Infer' ? 'type Infer' : name));
  const line = `import { ${named.join(', ')} } from 'millrace';\n`;
  return line.length <= WIDTH + 1
    ? line
    : `import {\n${named.map((name) => `  ${name},\n`).join('')}} from 'millrace';\n`;
}

const indent = (text: string, by: number): string => text.replaceAll(/^(?=.)/gm, ' '.repeat(by));
const oneLine = (members: readonly string[]): string => (members.length === 0 ? '{}' : `{ ${members.join(', ')} }`);
const lines = (members: readonly string[]): string =>
  members.length === 0 ? '{}' : `{\n${members.map((one) => `${indent(one, 2)},\n`).join('')}}`;
const fits = (members: readonly string[], around: number): boolean => oneLine(members).length + around <= WIDTH;

const object = (members: readonly string[], at: number): string =>
  !members.some((one) => one.includes('\n')) && fits(members, at) ? oneLine(members) : lines(members);

/** A call in a line of its own options; broken if it is too long. */
function call(name: string, args: readonly string[], at: number): string {
  const line = `${name}(${args.join(', ')})`;
  return !line.includes('\n') && line.length + at + 'index: ,'.length <= WIDTH
    ? line
    : `${name}(\n${args.map((arg) => `${indent(arg, 2)},\n`).join('')})`;
}

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
const number = (value: number): string => String(value).replaceAll(/\B(?=(\d{3})+(?!\d))/g, '_');
const IDENTIFIER = /^[\p{L}_$][\p{L}\p{N}_$]*$/u;
const property = (name: string): string =>
  name === '__proto__' ? "['__proto__']" : IDENTIFIER.test(name) ? name : quoted(name);
/** A type in a type query, where no dot follows brackets. */
const refer = (container: string, type: string): string =>
  [container, type].every((name) => IDENTIFIER.test(name))
    ? `m.${container}.${type}`
    : `m[${quoted(container)}][${quoted(type)}]`;

/** A value of JSON as TypeScript. */
function literal(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return oneLine(Object.entries(value).map(([name, member]) => `${property(name)}: ${literal(member)}`));
}

/** JSON with an example's members in lines of their own, and short lists of scalars in one. */
function json(value: unknown, at: number): string {
  const inner = ' '.repeat(at + 2);
  if (Array.isArray(value)) {
    const items = value as readonly unknown[];
    if (items.length === 0) return '[]';
    const scalars = items.every((item) => typeof item !== 'object' || item === null);
    const line = `[${items.map((item) => JSON.stringify(item)).join(', ')}]`;
    if (scalars && line.length + at <= WIDTH / 2) return line;
    return `[\n${items.map((item) => inner + json(item, at + 2)).join(',\n')}\n${' '.repeat(at)}]`;
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, member]) => `${inner}${JSON.stringify(name)}: ${json(member, at + 2)}`,
  );
  return members.length === 0 ? '{}' : `{\n${members.join(',\n')}\n${' '.repeat(at)}}`;
}

/** A name for the documents of each type: that of the type, and of its container too if two types have one. */
export function typeNames(
  model: Pick<Model, 'containers'>,
): { readonly name: string; readonly container: string; readonly type: string }[] {
  const all = model.containers.flatMap(({ name, types }) =>
    types.map((type) => ({ container: name, type: type.name })),
  );
  const taken = new Set<string>(['Infer']);
  return all.map(({ container, type }) => {
    const ambiguous = all.filter((other) => pascal(other.type) === pascal(type)).length > 1;
    const wanted = ambiguous ? pascal(container) + pascal(type) : pascal(type);
    let name = wanted;
    for (let n = 2; taken.has(name); n++) name = `${wanted}${n}`;
    taken.add(name);
    return { name, container, type };
  });
}

/** A valid TypeScript name of letters and digits; a name that begins with a digit gets a leading T. */
function pascal(text: string): string {
  const name = text
    .split(/[^\p{L}\p{N}]+/u)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
  return /^\p{L}/u.test(name) ? name : `T${name}`;
}
