// Facts for the rules from both documents, computed once: patterns with their rows, containers with their load.
import { didYouMean } from '../../base/near.ts';
import type { Review } from '../review/review.ts';
import type {
  ContainerDetail,
  Design,
  ModelDocuments,
  PatternMapping,
  PatternOperation,
  Pair,
  Pattern,
  ProjectionRow,
  Prose,
  Reference,
  Requirements,
} from '../documents.ts';
import type { Query } from '../query.ts';
import { type Charge, chargeOf, physicalPartitions } from '../estimate.ts';
import type { Container, DocumentType, SourceLine } from '../model.ts';
import { loadOf } from '../load.ts';
import { type Access, type Term, isWrite, sum } from './terms.ts';
import { FENCE } from './fenced.ts';

export { type Access, type Term, isQuery, isWrite, sum } from './terms.ts';

/** One thing that the documents say is asked of a container: a row of the mapping, or a query elsewhere. */
export interface Question {
  readonly detail: ContainerDetail;
  /** `Row 3` or `Line 120`. */
  readonly who: string;
  readonly text: string;
  readonly queries: readonly Query[];
  readonly crossing: boolean;
  /** See `DocumentPair`. */
  readonly scoped?: true;
  readonly mapped: boolean;
  readonly at: SourceLine;
}

/** Sections that only documents by the prompt's template have. */
export const TEMPLATE: ReadonlySet<string> = new Set(['philosophy', 'aggregates', 'mapping', 'projections']);

/** An example has no more lines. */
const LONGEST = 200;

export class Facts {
  readonly requirements: Requirements | undefined;
  readonly design: Design | undefined;
  readonly review: Review | undefined;
  readonly today: Date;
  readonly accesses: readonly Access[];
  readonly questions: readonly Question[];
  readonly #byName: ReadonlyMap<string, ContainerDetail>;
  /** By container, because many documents have hundreds. */
  readonly #accessesTo: ReadonlyMap<ContainerDetail, readonly Access[]>;
  readonly #questionsOf: ReadonlyMap<ContainerDetail, readonly Question[]>;
  readonly #into: ReadonlyMap<string | undefined, readonly ProjectionRow[]>;
  readonly #loads = { peak: new Map<ContainerDetail, Term[]>(), average: new Map<ContainerDetail, Term[]>() };

  constructor({ requirements, design, review }: ModelDocuments, today: Date) {
    this.requirements = requirements;
    this.design = design;
    this.review = review;
    this.today = today;
    this.#byName = new Map((design?.containers ?? []).map((detail) => [detail.container.name.toLowerCase(), detail]));
    this.accesses = this.#accesses();
    this.#accessesTo = Map.groupBy(this.accesses, ({ detail }) => detail);
    this.#into = Map.groupBy(this.rows, ({ sink }) => sink?.container.toLowerCase());
    this.questions = this.#questions();
    this.#questionsOf = Map.groupBy(this.questions, ({ detail }) => detail);
  }

  get patterns(): readonly Pattern[] {
    return this.requirements?.patterns ?? [];
  }

  get pairs(): readonly Pair[] {
    return this.requirements?.pairs ?? [];
  }

  get mapping(): readonly PatternMapping[] {
    return this.design?.mapping ?? [];
  }

  get containers(): readonly ContainerDetail[] {
    return this.design?.containers ?? [];
  }

  get rows(): readonly ProjectionRow[] {
    return this.design?.projections ?? [];
  }

  /** Prose of both documents. */
  get prose(): readonly Prose[] {
    return [...(this.requirements?.prose ?? []), ...(this.design?.prose ?? [])];
  }

  /** Reads that query every physical partition: the row says so, or its query doesn't name the key. */
  get crossing(): readonly Access[] {
    return this.accesses.filter(
      ({ row, write, detail }) =>
        !write &&
        (row.operations.includes('cross-partition') || row.queries.some((query) => !namesKey(detail.container, query))),
    );
  }

  /** Whether a document follows a part of the prompt's template, so that it owes what the template asks for. */
  get templated(): boolean {
    return isTemplated(this);
  }

  /** The bullet Scale of the requirements. */
  get scale(): Prose | undefined {
    return this.requirements?.prose.find(
      ({ section, label }) => section === 'overview' && /scale|规模/i.test(label ?? ''),
    );
  }

  pattern(id: string): Pattern | undefined {
    return this.patterns.find((pattern) => pattern.id === id);
  }

  detail(name: string | undefined): ContainerDetail | undefined {
    return name === undefined ? undefined : this.#byName.get(name.toLowerCase());
  }

  type(of: Reference | undefined): DocumentType | undefined {
    const types = this.detail(of?.container)?.container.types;
    return of?.type === undefined
      ? types?.length === 1
        ? types[0]
        : undefined
      : types?.find(({ name }) => name === of.type);
  }

  /** `didYouMean` for a container. */
  suggest(wanted: string): string {
    return didYouMean(
      wanted,
      this.containers.map(({ container }) => container.name),
    );
  }

  /** Where a container states one of its facts, or where it begins. */
  place({ container }: ContainerDetail, fact?: keyof ContainerDetail['container']['places']): SourceLine {
    return (fact && container.places[fact]) ?? container.at;
  }

  /** Where an example of the data model begins. */
  example(example: object | undefined, or: SourceLine): SourceLine {
    const line = example && this.design?.exampleLines.get(example);
    return line === undefined ? or : { file: or.file, line };
  }

  /** Where a field of an example stands. */
  field(example: object, name: string, or: SourceLine): SourceLine {
    const { line, file } = this.example(example, or);
    const lines = this.design?.lines ?? [];
    const from = lines.slice(line - 1, line + LONGEST);
    const end = from.findIndex((text) => FENCE.test(text));
    // In a program a name has no quotes.
    const at = from
      .slice(0, end < 0 ? undefined : end)
      .findIndex((text) => text.includes(`"${name}"`) || text.trimStart().startsWith(`${name}:`));
    return { file, line: at < 0 ? line : line + at };
  }

  labelled(detail: ContainerDetail, label: RegExp): Prose | undefined {
    return detail.prose.find((piece) => piece.label !== undefined && label.test(piece.label));
  }

  /** The bullet about a container's partition key. */
  keyText(detail: ContainerDetail): Prose | undefined {
    return this.labelled(detail, /partition key|^pk$|分区键|分片键/i);
  }

  charge(detail: ContainerDetail): Charge {
    return { bytes: detail.size.average, partitions: this.partitions(detail), indexed: indexedOf(detail) };
  }

  estimate(operation: PatternOperation, detail: ContainerDetail): number {
    return chargeOf(operation, this.charge(detail));
  }

  /** `estimate` for a document of another size. */
  estimateOf(operation: PatternOperation, detail: ContainerDetail, bytes: number): number {
    return chargeOf(operation, { ...this.charge(detail), bytes });
  }

  accessesTo(detail: ContainerDetail | undefined): readonly Access[] {
    return (detail && this.#accessesTo.get(detail)) ?? [];
  }

  /** The questions of a container. */
  asked(detail: ContainerDetail): readonly Question[] {
    return this.#questionsOf.get(detail) ?? [];
  }

  /** The projections that write into a container. */
  into(name: string): readonly ProjectionRow[] {
    return this.#into.get(name.toLowerCase()) ?? [];
  }

  partitions(detail: ContainerDetail): number {
    return physicalPartitions(detail.data?.gb ?? 0, detail.container.throughput?.max ?? 0);
  }

  /** Changes a second that patterns write to a container, including creates. */
  writesTo(detail: ContainerDetail, rate: 'peak' | 'average' = 'peak'): number {
    const accesses = this.#accessesTo.get(detail) ?? [];
    return sum(accesses.filter(({ write }) => write).map((access) => access[rate] ?? 0));
  }

  /** The terms of a container's load: patterns, what projections read and write in it, and reads of its feed. */
  load(detail: ContainerDetail, rate: 'peak' | 'average' = 'peak'): readonly Term[] {
    const known = this.#loads[rate].get(detail);
    if (known) return known;
    const terms = loadOf(this, detail, rate);
    this.#loads[rate].set(detail, terms);
    return terms;
  }

  /** RU/s at the peak. */
  peak(detail: ContainerDetail): number {
    return sum(this.load(detail).map(({ perSecond, ru }) => perSecond * ru));
  }

  /** The multi-tenant field, if the documents name one: a bullet Tenancy, or `the tenant` beside the first key level. */
  get tenant(): { readonly field: string; readonly at: SourceLine } | undefined {
    const fields = new Set(this.containers.flatMap(({ container }) => [...fieldsIn(container)]));
    for (const { label, text, at } of this.prose) {
      if (!/^(multi-)?tenan(cy|t)( id| field| key)?s?$|^租户/i.test(label ?? '')) continue;
      const field = text.match(/[\p{L}_]\w*/gu)?.find((word) => fields.has(word));
      if (field !== undefined) return { field, at };
    }
    for (const detail of this.containers) {
      const key = this.labelled(detail, /partition key|分区键/i);
      const [first] = detail.container.partitionKey;
      if (key && first !== undefined && /\b(the|by|is a|per) tenant\b/i.test(key.text))
        return { field: first.slice(1), at: key.at };
    }
    return undefined;
  }

  #questions(): Question[] {
    const rows = this.mapping.flatMap((row): Question[] => {
      const details = row.containers.flatMap((name) => this.detail(name) ?? []);
      const [first] = details;
      // A query of a row with several containers is asked of the first whose key it names.
      const ofQuery = (query: Query) => details.find(({ container }) => namesKey(container, query)) ?? first;
      return details.flatMap((detail): Question[] => {
        const queries = row.queries.filter((query) => ofQuery(query) === detail);
        if (queries.length === 0 && detail !== first) return [];
        return [
          {
            detail,
            who: `Row ${row.printed}`,
            text: `${row.operationText} ; ${row.notes}`,
            queries,
            crossing: row.operations.includes('cross-partition'),
            mapped: true,
            at: row.at,
          },
        ];
      });
    });
    const others = (this.design?.asked ?? []).flatMap(({ container, ...asked }): Question[] => {
      const detail = this.detail(container);
      return detail ? [{ ...asked, detail, who: `Line ${asked.at.line}`, mapped: false }] : [];
    });
    return [...rows, ...others];
  }

  #accesses(): Access[] {
    return this.mapping.flatMap((row) => {
      // A row of several containers counts once, for the first.
      const detail = this.detail(row.containers[0]);
      if (!detail) return [];
      return row.ids.map((id): Access => {
        const pattern = this.pattern(id);
        const [first = pattern?.type === 'write' ? 'replace' : 'query'] = row.operations;
        const operation = row.operations.includes('cross-partition') ? 'cross-partition' : first;
        return {
          pattern,
          row,
          detail,
          ru: row.ru ?? this.estimate(operation, detail) * row.times,
          stated: row.ru !== undefined,
          peak: pattern?.rate?.per === undefined ? pattern?.rate?.peak : undefined,
          average: pattern?.rate?.average,
          write: row.operations.some(isWrite) || (row.operations.length === 0 && pattern?.type === 'write'),
        };
      });
    });
  }
}

export const isTemplated = ({ requirements, design }: Pick<ModelDocuments, 'requirements' | 'design'>): boolean =>
  requirements !== undefined ||
  (design?.headings ?? []).some(({ section }) => TEMPLATE.has(section ?? '') || section === 'hotPartitions');

/** Whether a query sets the first level of the key equal to a value, so that it doesn't read every partition. */
export const namesKey = ({ partitionKey: [first] }: Container, { equal }: Query): boolean =>
  first === undefined || equal.includes(first.slice(1).replaceAll('/', '.'));

/** Said of a query that has the key's field in other letters. */
export function otherCase({ partitionKey: [first = ''] }: Container, { filters }: Query): string {
  const wanted = first.slice(1).replaceAll('/', '.');
  const written = filters.find((path) => path !== wanted && path.toLowerCase() === wanted.toLowerCase());
  return written === undefined ? '' : `: it has ${written}, and names are case-sensitive`;
}

/** The number of properties that a write indexes: the included ones, or all except the excluded. */
function indexedOf({ container, index }: ContainerDetail): number {
  const fields = Math.max(0, ...examplesIn(container).map((example) => Object.keys(example).length));
  const all = index.included.length === 0 || index.included.some(({ text }) => text === '/*');
  return all
    ? Math.max(0, fields - index.excluded.filter(({ text }) => text !== '/*' && !text.includes('_etag')).length)
    : index.included.length;
}

export const examplesIn = ({ types }: Container): Readonly<Record<string, unknown>>[] =>
  types.flatMap(({ examples }) => examples);

/** Top-level fields that any example has. Most rules ask for them. */
export function fieldsIn(container: Container): ReadonlySet<string> {
  const known = fields.get(container) ?? new Set(examplesIn(container).flatMap(Object.keys));
  fields.set(container, known);
  return known;
}
const fields = new WeakMap<Container, ReadonlySet<string>>();

/** Terms as a sum: `pattern 1 90/s × 1 RU + projection totals 20/s × 9 RU = 270 RU/s`. */
export const writtenFacts = (terms: readonly Term[], format: (value: number) => string): string =>
  `${terms.map(({ what, perSecond, ru }) => `${what} ${format(perSecond)}/s × ${format(ru)} RU`).join(' + ')} = ${format(sum(terms.map(({ perSecond, ru }) => perSecond * ru)))} RU/s`;

/** A field of an example by its path `/a/b`. */
export function valueAt(example: unknown, path: string): unknown {
  let step: unknown = example;
  for (const name of path.split(/[/.]/).filter(Boolean)) {
    if (typeof step !== 'object' || step === null) return undefined;
    step = (step as Record<string, unknown>)[name];
  }
  return step;
}

/** Whether each example has the key's value as its id. */
export const isOfId = (container: Container): boolean => {
  const [first = ''] = container.partitionKey;
  const examples = examplesIn(container);
  return examples.length > 0 && examples.every((example) => valueAt(example, first) === example['id']);
};
