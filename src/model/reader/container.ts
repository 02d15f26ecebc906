// Reads one container from its section. Facts from other sections (indexing) are added before `finish`.
import { isObject } from '../../base/json.ts';
import { fieldsOf } from '../fields.ts';
import type { Container, ContainerFact, DocumentType, SourceLine } from '../model.ts';
import { type Fact, labelledFacts } from './labelled-facts.ts';
import { contentOf, type TextContent } from './text/fences.ts';
import type { Findings } from './findings.ts';
import { IndexingDraft } from './indexing.ts';
import type { LabelName } from './text/labels.ts';
import { type Group, statedLinesOf } from './stated.ts';
import { keyInHeading } from './key-in-heading.ts';
import { type Section, within } from './text/outline.ts';
import { partitionKey, throughput, ttl, uniqueKeys } from './text/values.ts';

/** Facts whose fences `IndexingDraft` reads. */
const INDEXING = new Set<LabelName | undefined>([
  'indexingPolicy',
  'includedPaths',
  'excludedPaths',
  'compositeIndexes',
]);

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type Stated = Mutable<Pick<Container, 'defaultTtl' | 'uniqueKeys' | 'throughput'>>;

/** Bullets that say whose data a container holds, and the words for data without a tenant. */
const WHOSE = /purpose|document types|partition key|用途/i;
const SHARED = /reference data|lookup (table|data)|shared by all tenants|参考数据|所有租户共享/i;

/** `### Orders Container`, `` ### 3.1 `orders` – Long Title ``, `### Container: Orders`, `### Orders (Multi-Document: A + B)`. */
export const containerName = ({ code, title }: Pick<Section, 'code' | 'title'>): string =>
  code ??
  (title
    .replace(/^[\d.\s]+/, '')
    .replace(/^(?:\bContainer\b|容器|コンテナ)\s*(?:[::]|[-–—]\s)\s*/i, '')
    .split(/\s*(?:\bContainer\b|容器|コンテナ|\(|\[|[-–—::]\s|\s[-–—])/i)[0]
    ?.replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
    .trim() ||
    title);

/** Words of headings that are about containers, and name none. */
export const GENERAL =
  /\b(partition\w*|strateg\w+|setup|configuration|overview|design|create|steps?|architecture|models?|schemas?|database|settings|policy|choice|keys?|features?|documents?|considerations?|performance|notes?|usage|troubleshooting|summary|integration|migration|security|documentation|frontend|backend)\b/i;
/** What stands before "Container" and is a product, or how many there are. */
const NO_NAME = /\b(cosmos|azure|nosql|single|multiple|multi|several|all|each|every|the|why|how|about)\b/i;
const OF_WORDS = /\S\s+(?:container|容器|コンテナ)\s*(?:[([:–—-].*)?$|^[\d.\s]*(?:container|容器|コンテナ)\s*[::]/iu;

const isWord = (name: string): boolean => /^(?!container)[\p{L}_][\p{L}\p{N}_-]*$/iu.test(name);

/** Whether a heading names a container: in code, as one word, or as "Order Lines Container". */
export function isNamedContainer({ code, title }: Pick<Section, 'code' | 'title'>): boolean {
  if (code !== undefined) return true;
  const name = containerName({ title });
  if (NO_NAME.test(name)) return false;
  const isOfWords = OF_WORDS.test(title);
  // "Settings Container" is one; "Settings" alone may be a part of anything.
  return isWord(name) ? isOfWords || !GENERAL.test(name) : isOfWords && !GENERAL.test(name);
}

/** "Partitioning Strategy" names no container even with a key. */
export const isPhrase = ({ title }: Pick<Section, 'title'>): boolean => {
  const name = containerName({ title });
  return !isWord(name) && (GENERAL.test(name) || NO_NAME.test(name));
};

export class ContainerDraft {
  readonly name: string;
  readonly line: number;
  readonly indexing = new IndexingDraft();
  #key: readonly string[] = [];
  readonly #otherKeys: { readonly paths: readonly string[]; readonly at: SourceLine }[] = [];
  #stated: Stated = {};
  #places: Partial<Record<ContainerFact, SourceLine>> = {};
  #types = new Map<string, { examples: Record<string, unknown>[]; at: SourceLine }>();
  /** Types that a table names. */
  readonly #listed = new Set<string>();
  #designed = false;
  #reference = false;
  #partial = false;
  /** Objects without an id, before any example. */
  readonly #unidentified: { readonly value: Record<string, unknown>; readonly line: number }[] = [];
  /** Line of each example. */
  readonly lines = new Map<object, number>();
  readonly #findings: Findings;

  constructor(section: Section, source: string, findings: Findings) {
    this.name = containerName(section);
    this.line = section.line;
    this.#findings = findings;
    const key = keyInHeading(section.title);
    if (key !== undefined) this.#setKey([key], section.line);
    const [, lived] = /\bTTL\b\s*[:=]?\s*(\d[^,;)]*)/i.exec(section.title) ?? [];
    if (lived !== undefined)
      this.fact({ name: 'ttl', label: 'TTL', text: lived, line: section.line, items: [], fences: [] });
    for (const part of within(section)) {
      const { facts, loose } = labelledFacts(part.blocks, source);
      for (const fence of loose) {
        const content = contentOf(fence, findings);
        if (content) this.#content(content);
        // `partition key: /id` in a fence without a language.
        else for (const fact of statedLinesOf(fence)) if (fact.name !== 'container') this.fact(fact);
      }
      // After the examples: their lines are better places for the types.
      for (const fact of facts) this.fact(fact);
    }
  }

  get keyed(): boolean {
    return this.#key.length > 0;
  }

  /** Whether it has such a fact already. */
  states(name: LabelName | undefined): boolean {
    return (
      (name === 'ttl' && this.#stated.defaultTtl !== undefined) ||
      (name === 'uniqueKeys' && this.#stated.uniqueKeys !== undefined) ||
      (name === 'throughput' && this.#stated.throughput !== undefined)
    );
  }

  /** Whether the section has any part of a design. If not, it is an overview, or the design is in another document. */
  get designed(): boolean {
    return this.#designed;
  }

  fact(fact: Fact): void {
    const values = fact.items.map((item) => item.text);
    if (WHOSE.test(fact.label) && SHARED.test([fact.text, ...values].join(' '))) this.#reference = true;
    const contents = INDEXING.has(fact.name) ? 0 : this.#contents(fact);
    switch (fact.name) {
      case 'partitionKey': {
        const read = partitionKey(fact.text, values);
        // `/tenantId/day` of a hierarchical key is two levels, not a path into an object.
        const [only = ''] = read ?? [];
        const key =
          read?.length === 1 && /\bhierarch/i.test(`${fact.label} ${fact.text}`) && only.includes('/', 1)
            ? only
                .slice(1)
                .split('/')
                .map((level) => `/${level}`)
            : read;
        if (key) this.#setKey(key, fact.line);
        else if (contents === 0)
          this.#lost(fact, 'Write `/storeId`, or `/storeId, /customerId` for a hierarchical key.');
        return;
      }
      case 'ttl': {
        const seconds = ttl([fact.text, ...values].join(' '));
        if (this.#stated.defaultTtl !== undefined && seconds === this.#stated.defaultTtl) return;
        if (seconds === undefined) this.#lost(fact, 'Write seconds, such as 2592000 (30 days), or -1, or none.');
        else if (seconds !== null) this.#set('defaultTtl', seconds, fact.line);
        return;
      }
      case 'throughput': {
        const stated = throughput([/auto/i.test(fact.label) ? 'autoscale' : '', fact.text, ...values].join(' '));
        if (stated === undefined) this.#lost(fact, 'Write autoscale max 4000 RU/s, or manual 400 RU/s.');
        else if (stated !== null) this.#set('throughput', stated, fact.line);
        return;
      }
      case 'uniqueKeys': {
        if (contents > 0) return;
        const keys = uniqueKeys(fact.text, values, /\bkeys$/i.test(fact.label.trim()));
        if (keys === undefined) this.#lost(fact, 'Write /email, or /storeId, /sku for one constraint of two paths.');
        else if (keys.length > 0) this.#set('uniqueKeys', keys, fact.line);
        return;
      }
      case 'types':
        for (const name of [fact.text, ...values].join(' ').matchAll(/`([\w-]+)`/g))
          this.#type(name[1] ?? '', fact.line);
        return;
      case 'indexingPolicy':
      case 'includedPaths':
      case 'excludedPaths':
      case 'compositeIndexes':
        this.indexing.fact(fact, this.#findings);
        return;
      case 'container':
      case 'ignored':
        return;
      case undefined:
        this.#findings.add(
          'information',
          'label-not-read',
          fact.line,
          `${this.name}: Millrace doesn't read the label "${fact.label}"`,
        );
    }
  }

  finish(): Container {
    const findings = this.#findings;
    this.#classify();
    const policy = this.indexing.policy(this.line, findings);
    if (policy && this.indexing.at) this.#places.indexingPolicy = this.indexing.at;
    if (this.#key.length === 0) {
      findings.add(
        'error',
        'partition-key-missing',
        this.line,
        `Container ${this.name} has no partition key`,
        'Add "- **Partition Key**: `/field` - why".',
      );
    }
    if (this.#key.length > 3) {
      findings.add(
        'error',
        'partition-key-levels',
        this.line,
        `Container ${this.name} has ${this.#key.length} key levels; the maximum is three`,
        'Use at most three levels.',
      );
    }
    const types: DocumentType[] = [...this.#types].map(([name, { examples, at }]) => ({
      name,
      fields: fieldsOf(examples),
      examples,
      at,
    }));
    for (const { name, examples, at } of types) {
      if (examples.length === 0 && !this.#listed.has(name))
        findings.add(
          'warning',
          'type-without-example',
          at.line,
          `${this.name}: type ${name} has no example`,
          'Add an example to the JSON.',
        );
    }
    return {
      name: this.name,
      partitionKey: this.#key,
      ...(this.#otherKeys.length > 0 && { otherKeys: this.#otherKeys }),
      types,
      ...(policy && { indexingPolicy: policy }),
      ...this.#stated,
      ...(this.#reference && { reference: true }),
      ...(this.#partial && { partialExamples: true }),
      at: findings.at(this.line),
      places: this.#places,
    };
  }

  /** Reads the fences of a label, and returns how many of them it understood. */
  #contents(fact: Fact): number {
    const contents = fact.fences.flatMap((fence) => contentOf(fence, this.#findings) ?? []);
    for (const content of contents) this.#content(content);
    return contents.length;
  }

  #content(content: TextContent): void {
    this.#designed = true;
    if (content.kind === 'examples') this.examples(content);
    else if (content.kind === 'definition') this.#definition(content.value, content.line, content.text);
    else this.indexing.content(content, this.#findings);
  }

  /** A container definition in the form of the SDK or an ARM template. */
  #definition(value: Record<string, unknown>, line: number, text: string): void {
    const key = isObject(value['partitionKey']) ? value['partitionKey'] : value;
    const at = text.search(/\bpartition_?key["']?\s*[:=]/i);
    const keyLine = at < 0 ? line : line + text.slice(0, at).split('\n').length - 1;
    if (Array.isArray(key['paths'])) this.#setKey(key['paths'].map(String), keyLine);
    else if (typeof value['partitionKey'] === 'string') this.#setKey([value['partitionKey']], keyLine);
    if (typeof value['defaultTtl'] === 'number') this.#set('defaultTtl', value['defaultTtl'], line);
    if (isObject(value['indexingPolicy']))
      this.indexing.content({ kind: 'policy', value: value['indexingPolicy'], line, text }, this.#findings);
    const unique = isObject(value['uniqueKeyPolicy']) ? value['uniqueKeyPolicy']['uniqueKeys'] : value['uniqueKeys'];
    if (!Array.isArray(unique)) return;
    const keys = unique.flatMap((entry: unknown) => {
      const paths = isObject(entry) ? entry['paths'] : entry;
      return Array.isArray(paths) ? [{ paths: paths.map(String) }] : [];
    });
    if (keys.length > 0) this.#set('uniqueKeys', keys, line);
  }

  /** What a resource elsewhere declares. It states the key that its group states; the section's own policy comes first. */
  declared({ value, text, line }: NonNullable<Group['definition']>): void {
    const { partitionKey: _, indexingPolicy, ...rest } = value;
    this.#definition({ ...rest, ...(!this.indexing.at && { indexingPolicy }) }, line, text);
  }

  /** Those of another section too. */
  examples({ elements, partial }: Pick<Extract<TextContent, { kind: 'examples' }>, 'elements' | 'partial'>): void {
    for (const { value, line } of elements) this.#example(value, line);
    if (partial) this.#partial = true;
  }

  #example(value: unknown, line: number): void {
    if (!isObject(value)) {
      this.#findings.add(
        'error',
        'example',
        line,
        `${this.name}: an example is ${value === null ? 'null' : `a ${typeof value}`}, not a JSON object`,
        'Write examples as JSON objects.',
      );
      return;
    }
    if (value['id'] === undefined && this.lines.size > 0) this.#part(line);
    // Its key may be stated below.
    else if (value['id'] === undefined) this.#unidentified.push({ value, line });
    else this.#identified(value, line);
  }

  #part(line: number): void {
    this.#findings.add(
      'information',
      'example-part',
      line,
      `${this.name}: an object without id is a part of a document`,
    );
  }

  /** An object without an id is a document if it has a type or the key; else it is of anything. */
  #classify(): void {
    const isKey = (value: Record<string, unknown>): boolean =>
      this.#key.some((path) => Object.hasOwn(value, path.split('/')[1] ?? ''));
    for (const { value, line } of this.#unidentified) {
      const isDocument = typeof value['type'] === 'string' || isKey(value);
      if (isDocument && this.lines.size === 0) this.#identified(value, line);
      else this.#part(line);
    }
  }

  #identified(value: Record<string, unknown>, line: number): void {
    const { id, type } = value;
    if (typeof id !== 'string' || id === '') {
      this.#findings.add('warning', 'example-id', line, `${this.name}: an example has no id`, 'Add an id, a string.');
    }
    const named = typeof type === 'string' && type !== '';
    this.lines.set(value, line);
    this.#type(named ? type : this.name.toLowerCase(), line).examples.push(value);
  }

  /** A type that a table names. Its example may be anywhere, or nowhere. */
  typed(name: string, line: number): void {
    if (this.#types.has(name)) return;
    this.#listed.add(name);
    this.#type(name, line);
  }

  /** Whether it is said to have documents of a type. */
  has(type: string): boolean {
    return this.#types.has(type);
  }

  #type(name: string, line: number): { examples: Record<string, unknown>[] } {
    this.#designed = true;
    const type = this.#types.get(name) ?? { examples: [], at: this.#findings.at(line) };
    this.#types.set(name, type);
    return type;
  }

  #setKey(key: readonly string[], line: number): void {
    this.#designed = true;
    const before = this.#places.partitionKey;
    if (before && this.#key.join() !== key.join()) {
      const message = `${this.name} has the key ${this.#key.join(', ')} in line ${before.line} and ${key.join(', ')} here`;
      this.#findings.add('error', 'partition-key-twice', line, message, 'State the key once.');
      this.#otherKeys.push({ paths: key, at: this.#findings.at(line) });
    }
    // The first statement is the one that the container's section makes.
    if (before) return;
    this.#key = key;
    this.#places.partitionKey = this.#findings.at(line);
  }

  #set<K extends keyof Stated & ContainerFact>(name: K, value: NonNullable<Stated[K]>, line: number): void {
    this.#stated[name] = value;
    this.#places[name] = this.#findings.at(line);
  }

  #lost(fact: Fact, hint: string): void {
    // A question of a blank form is open, not misunderstood: A5 lists it.
    if (/^\[[^\]]+\?\]$/.test(fact.text)) return;
    this.#findings.add(
      'warning',
      'value',
      fact.line,
      `${this.name}: Millrace doesn't understand ${fact.label} "${fact.text}"`,
      hint,
    );
  }
}
