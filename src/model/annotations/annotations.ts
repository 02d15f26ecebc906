// The annotations of a document as the rules read them: each with its place, examples with their JSON, queries with the
// fields that they compare. An annotation whose words the document doesn't have is left out and reported.
import { finderOf } from '../evidence.ts';
import type { ModelFinding, Place } from '../model.ts';
import type { Query } from '../query.ts';
import { readJson } from '../reader/json.ts';
import { queryOf } from '../reader/sql.ts';
import type { RawAnnotation, RawAnnotations } from './schema.ts';

export type Kind = RawAnnotation['kind'];
type Raw<K extends Kind> = Extract<RawAnnotation, { readonly kind: K }>;

/** An annotation whose words are in the document, at their line. */
export type Annotation<K extends Kind = Kind> = Raw<K> & {
  readonly at: Place;
  /** Of an example that can be read. */
  readonly document?: Readonly<Record<string, unknown>>;
  /** Of an access with SQL that can be read. */
  readonly query?: Query;
};

/** How a key stands in the document. */
export interface StatedKey {
  readonly key: readonly string[];
  readonly at: Place;
}

export class Annotations {
  readonly file: string;
  /** Of the document. */
  readonly lines: readonly string[];
  /** Of what is there, or is decided. What the text only plans, or has superseded, is left out. */
  readonly all: readonly Annotation[];
  /** Of what the text only plans. */
  readonly planned: readonly Annotation[];
  /** The number of all whose words the document has. */
  readonly found: number;
  readonly findings: readonly ModelFinding[];
  /** Lines with text of the document, and how many of them an annotation has words of. */
  readonly coverage: { readonly lines: number; readonly covered: number };
  /** Names of containers, each as it is written first. */
  readonly containers: readonly string[];
  /** Names of types, each as it is written first. */
  readonly types: readonly string[];
  readonly #byKind: ReadonlyMap<Kind, readonly Annotation[]>;
  /** The containers that annotations name beside a type. */
  readonly #stated: ReadonlyMap<string, readonly string[]>;

  constructor(
    file: string,
    lines: readonly string[],
    all: readonly Annotation[],
    findings: readonly ModelFinding[],
    coverage: Annotations['coverage'],
  ) {
    this.file = file;
    this.lines = lines;
    this.all = all.filter(({ planned, superseded }) => planned !== true && superseded !== true);
    this.found = all.length;
    this.planned = all.filter(({ planned }) => planned === true);
    this.findings = findings;
    this.coverage = coverage;
    this.#byKind = Map.groupBy(this.all, ({ kind }) => kind);
    const named = this.all.flatMap((one) => ('container' in one && one.container !== undefined ? [one.container] : []));
    this.containers = firstOfEach([...this.of('container').map(({ container }) => container), ...named]);
    this.types = firstOfEach(this.all.flatMap((one) => ('type' in one && one.type !== undefined ? [one.type] : [])));
    const placed = this.all.flatMap((one) =>
      'type' in one && 'container' in one && one.type !== undefined && one.container !== undefined
        ? [{ type: one.type, container: one.container }]
        : [],
    );
    this.#stated = new Map(
      [...Map.groupBy(placed, ({ type }) => bare(type))].map(
        ([type, those]) => [type, firstOfEach(those.map(({ container }) => container))] as const,
      ),
    );
  }

  of<K extends Kind>(kind: K): readonly Annotation<K>[] {
    return (this.#byKind.get(kind) ?? []) as readonly Annotation<K>[];
  }

  /** Every place that states the container's key. */
  keysOf(container: string): readonly StatedKey[] {
    return this.of('container')
      .filter((one) => same(one.container, container))
      .flatMap(({ key, at }) => (key ? [{ key, at }] : []));
  }

  /** The key, if every place that states it states the same. Undefined: none is stated, or they differ. */
  keyOf(container: string | undefined): readonly string[] | undefined {
    if (container === undefined) return undefined;
    const [first, ...others] = this.keysOf(container);
    return first && others.every(({ key }) => sameKey(key, first.key)) ? first.key : undefined;
  }

  /** The containers that the document puts a type in; a document with one container has all types there. */
  containersOf(type: string | undefined): readonly string[] {
    const own = type === undefined ? undefined : this.#stated.get(bare(type));
    if (own) return own;
    return this.containers.length === 1 ? this.containers : this.containers.filter((name) => same(name, type));
  }

  /** The container of an annotation: its own, or that of its type if it is in one only. */
  containerOf(one: {
    readonly container?: string | undefined;
    readonly type?: string | undefined;
  }): string | undefined {
    if (one.container !== undefined) return one.container;
    const [first, second] = this.containersOf(one.type);
    return second === undefined ? first : undefined;
  }
}

/** `Orders`, `orders` and `` `order` `` are one name: documents write names in many ways. */
export const same = (a: string | undefined, b: string | undefined): boolean =>
  a !== undefined && b !== undefined && bare(a) === bare(b);

/** The name without what documents vary. Rules compare the same few names over and over. */
export function bare(name: string): string {
  const known = bared.get(name);
  if (known !== undefined) return known;
  const made = name
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
    .replace(/(?:container|collection|document|entity)$/, '')
    .replace(/ies$/, 'y')
    .replace(/(?<=[^s])s$/, '');
  bared.set(name, made);
  return made;
}
const bared = new Map<string, string>();

/** Key paths are case-sensitive, so they are compared letter by letter. */
export const sameKey = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((path, level) => path === b[level]);

/** `/address/city` as the path that annotations have: `address.city`. */
export const fieldOf = (path: string): string => path.replace(/^\//, '').replaceAll('/', '.');

/** Whether two paths of annotations name one field. */
export const sameField = (a: string, b: string): boolean =>
  fieldOf(a).replace(/\[\]$/, '') === fieldOf(b).replace(/\[\]$/, '');

function firstOfEach(names: readonly string[]): string[] {
  const seen = new Map<string, string>();
  for (const name of names) if (!seen.has(bare(name))) seen.set(bare(name), name);
  return [...seen.values()];
}

/** Finds the words of each annotation in the document. */
export function annotationsOf(
  { annotations }: RawAnnotations,
  lines: readonly string[],
  file: string,
  from: string,
): Annotations {
  const find = finderOf(lines);
  const findings: ModelFinding[] = [];
  const covered = new Set<number>();
  const all = annotations.flatMap((raw, index): Annotation[] => {
    const found = find(raw.words, raw.line);
    if (!found) {
      findings.push({
        code: 'annotation-unfounded',
        severity: 'warning',
        message: `Annotation ${index + 1} (${raw.kind}) of ${from}: these words aren't in the document, so it isn't used: "${raw.words}"`,
        hint: 'Copy the words from the document, or remove the annotation.',
        at: { file, line: Math.min(raw.line, lines.length) },
      });
      return [];
    }
    for (let line = found.line; line <= found.to; line++) covered.add(line);
    return [complete(raw, found.line, lines, file, covered)];
  });
  const withText = lines.filter((text) => /\p{L}/u.test(text)).length;
  return new Annotations(file, lines, all, findings, { lines: withText, covered: covered.size });
}

function complete(
  raw: RawAnnotation,
  line: number,
  lines: readonly string[],
  file: string,
  covered: Set<number>,
): Annotation {
  const at = { file, line };
  if (raw.kind === 'access') {
    const query = raw.sql === undefined ? undefined : queryOf(raw.sql);
    return { ...raw, at, ...(query && { query }) };
  }
  if (raw.kind !== 'example') return { ...raw, at };
  const moved = line - raw.line;
  for (let each = line; each <= raw.to + moved; each++) covered.add(each);
  const text = lines
    .slice(line - 1, raw.to + moved)
    .filter((each) => !/^\s*(?:```|~~~)/.test(each))
    .join('\n');
  const read = readJson({ text, line });
  const value = 'elements' in read ? read.elements[0]?.value : undefined;
  const document =
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  return { ...raw, at, ...(document && { document }) };
}
