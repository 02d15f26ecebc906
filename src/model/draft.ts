// Drafts the two documents from a live account, and names what is still to be written.
import { isObject } from '../base/json.ts';
import type { ContainerDefinition } from './container-definitions.ts';
import { type AccountDoc, accountShapeOf, typeNameOf } from './drift.ts';

/** RPS of one container, from the account's metrics. */
export interface DraftLoad {
  readonly reads?: Peaks | undefined;
  readonly writes?: Peaks | undefined;
}
export interface Peaks {
  readonly peak: number;
  readonly average?: number | undefined;
}

export interface Imported {
  readonly definition: ContainerDefinition;
  readonly samples: readonly AccountDoc[];
  readonly load?: DraftLoad | undefined;
}

export interface DraftOptions {
  /** The name of the database. */
  readonly name: string;
  /** Replaces all strings except discriminators. Equal strings stay equal, and dates stay dates. */
  readonly redact: boolean;
}

const EXAMPLES = 3;
const LONGEST = 60;
const ELEMENTS = 3;

/** Texts of `cosmosdb_requirements.md` and `cosmosdb_data_model.md`. */
export function draft(
  containers: readonly Imported[],
  options: DraftOptions,
): { requirements: string; design: string } {
  const patterns = containers.flatMap(({ definition, load }, at) => [
    { id: 2 * at + 1, container: definition.id, write: false, rate: load?.reads },
    { id: 2 * at + 2, container: definition.id, write: true, rate: load?.writes },
  ]);
  const values = new Redaction(options.redact);
  return {
    requirements: requirementsText(patterns, options.name),
    design: designText(containers, patterns, options.name, values),
  };
}

interface Drafted {
  readonly id: number;
  readonly container: string;
  readonly write: boolean;
  readonly rate: Peaks | undefined;
}

const sayRate = ({ rate }: Drafted): string =>
  rate === undefined ? '' : rate.average === undefined ? String(rate.peak) : `${rate.peak}/${rate.average}`;

const requirementsText = (
  patterns: readonly Drafted[],
  name: string,
): string => `# ${name}: Azure Cosmos DB NoSQL Modeling Session

Drafted by \`millrace model import\` from the account. The account shows containers and documents. Write the access patterns yourself.

## Application Overview
- **Domain**: to be written

## Access Patterns Analysis
| Pattern # | Description | RPS (Peak and Average) | Type | Attributes Needed | Key Requirements | Design Considerations | Status |
|---|---|---|---|---|---|---|---|
${patterns
  .map((pattern) => {
    const what = pattern.write ? 'Write a document of' : 'Read a document of';
    const source = pattern.rate === undefined ? '' : " (source: the account's metrics)";
    return `| ${pattern.id} | ${what} ${pattern.container}${source} | ${sayRate(pattern)} | ${pattern.write ? 'Write' : 'Read'} | all | | drafted; split it into the real access patterns | ⏳ |`;
  })
  .join('\n')}
`;

function designText(
  containers: readonly Imported[],
  patterns: readonly Drafted[],
  name: string,
  values: Redaction,
): string {
  const parts = containers.map((of) => containerText(of, patterns, values));
  const policies = containers.filter(({ definition }) => definition.indexingPolicy);
  return [
    `# ${name}: Azure Cosmos DB NoSQL Data Model`,
    '',
    '## Design Philosophy & Approach',
    'Drafted by `millrace model import`: containers as they are defined, and examples sampled from them.',
    '',
    '## Container Designs',
    '',
    ...parts,
    ...(policies.length > 0 ? ['## Indexing Strategy', '', ...policies.map(indexingText)] : []),
    '## Access Pattern Mapping',
    '| Pattern | Description | Containers/Indexes | Cosmos DB Operations | Implementation Notes |',
    '|---|---|---|---|---|',
    ...patterns.map(
      ({ id, container, write }) =>
        `| ${id} | ${write ? 'Write' : 'Read'} a document | \`${container}\` | ${write ? 'Upsert' : 'Point read (id + PK)'} | drafted |`,
    ),
    '',
  ].join('\n');
}

/** The name in backticks if the reader wouldn't take a plain heading as the whole name. */
const heading = (name: string): string =>
  /^[A-Za-z][A-Za-z0-9_]*$/.test(name) && !/container/i.test(name) ? `### ${name} Container` : `### \`${name}\``;

function containerText({ definition, samples }: Imported, patterns: readonly Drafted[], values: Redaction): string {
  const { id, partitionKey, defaultTtl, uniqueKeyPolicy, throughput } = definition;
  const typed = Map.groupBy(samples, (doc) => typeNameOf(doc, id));
  const examples = [...typed].flatMap(([, documents]) => representative(documents)).map((doc) => values.of(doc));
  const unique = (uniqueKeyPolicy?.uniqueKeys ?? []).map(({ paths }) => `\`${paths.join(', ')}\``);
  const own = patterns.filter(({ container }) => container === id);
  return [
    heading(id),
    ...(examples.length > 0
      ? ['```json', `[\n${examples.map((doc) => `  ${JSON.stringify(doc)}`).join(',\n')}\n]`, '```']
      : []),
    `- **Purpose**: to be written${examples.length === 0 ? '; the container was empty' : ''}`,
    `- **Partition Key**: \`${partitionKey.paths.join(', ')}\``,
    ...(typed.size > 0 ? [`- **Document Types**: ${[...typed.keys()].map((type) => `\`${type}\``).join(', ')}`] : []),
    `- **Access Patterns Served**: ${own.map((pattern) => pattern.id).join(', ')}`,
    `- **TTL**: ${defaultTtl === undefined ? 'none' : defaultTtl}`,
    ...(unique.length > 0 ? [`- **Unique Keys**: ${unique.join('; ')}`] : []),
    ...(throughput
      ? [
          `- **Throughput Planning**: ${throughput.kind === 'autoscale' ? 'autoscale max' : 'manual'} ${throughput.max.toLocaleString('en-US')} RU/s`,
        ]
      : []),
    '',
    '',
  ].join('\n');
}

const indexingText = ({ definition: { id, indexingPolicy } }: Imported): string =>
  [heading(id), '- **Indexing Policy**:', '```json', JSON.stringify(indexingPolicy, undefined, 2), '```', '', ''].join(
    '\n',
  );

/** A few documents that show most: each adds paths or types that the documents before don't have. */
function representative(documents: readonly AccountDoc[]): AccountDoc[] {
  const chosen: AccountDoc[] = [];
  const shown = new Set<string>();
  const traits = (doc: AccountDoc): string[] =>
    [...accountShapeOf(doc)].flatMap(([path, kinds]) => [...kinds].map((kind) => `${path} ${kind}`));
  while (chosen.length < Math.min(EXAMPLES, documents.length)) {
    const left = documents.filter((doc) => !chosen.includes(doc));
    const news = (doc: AccountDoc): number => traits(doc).filter((trait) => !shown.has(trait)).length;
    const [best] = left.map((doc) => ({ doc, news: news(doc) })).toSorted((a, b) => b.news - a.news);
    if (!best) break;
    chosen.push(best.doc);
    for (const trait of traits(best.doc)) shown.add(trait);
  }
  return chosen;
}

/** Prepares values for examples: shortens them, and replaces strings if the options ask for it. */
class Redaction {
  readonly #on: boolean;
  readonly #known = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  constructor(on: boolean) {
    this.#on = on;
  }

  of(doc: AccountDoc): AccountDoc {
    return Object.fromEntries(
      Object.entries(doc).map(([field, value]) => [field, field === 'type' ? value : this.#value(field, value)]),
    );
  }

  #value(field: string, value: unknown): unknown {
    if (typeof value === 'string') return this.#on ? this.#instead(field, value) : shortened(value);
    if (Array.isArray(value)) return value.slice(0, ELEMENTS).map((element) => this.#value(field, element));
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, this.#value(name, member)]));
  }

  /** `storeId-1`: the same text always gets the same replacement, so that references still match. */
  #instead(field: string, value: string): string {
    const known = this.#known.get(value);
    if (known !== undefined) return known;
    const date = /^\d{4}([-/])\d\d\1\d\d(.*)$/.exec(value);
    const count = (this.#counts.get(field) ?? 0) + 1;
    const made = date ? `2000${date[1]}01${date[1]}01${(date[2] ?? '').replaceAll(/\d/g, '0')}` : `${field}-${count}`;
    if (!date) this.#counts.set(field, count);
    this.#known.set(value, made);
    return made;
  }
}

/** Keeps the end of a long text: ids often differ there. */
const shortened = (text: string): string => {
  const letters = Array.from(text);
  return letters.length > LONGEST ? `${letters.slice(0, LONGEST - 9).join('')}…${letters.slice(-8).join('')}` : text;
};
