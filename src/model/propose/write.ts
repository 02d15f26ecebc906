// Writes a considered design as the data-model document, and the requirements with what the design adds to them.
import { chargeOf, DEFAULTS, PROFILES } from '../estimate.ts';
import { averageOf, relationsOf } from '../relations.ts';
import {
  type Choices,
  type Derived,
  containerOf,
  derivedOf,
  lower,
  parentField,
  parentOf,
  reaches,
  rowsOf,
  upper,
  valuesOf,
} from './design.ts';
import type { Access, Entity, Needs } from './needs.ts';

/** RU/s at the peak by container, to size each; absent: the smallest. */
export type Peaks = ReadonlyMap<string, number>;

const HEADROOM = DEFAULTS.headroom;
const STEP = 1000;
const profile = PROFILES[DEFAULTS.profile];
const n = (value: number): string => value.toLocaleString('en-US', { maximumFractionDigits: value < 10 ? 2 : 0 });
const list = (values: readonly string[]): string => values.join(', ');

interface Sheet {
  readonly name: string;
  readonly purpose: string;
  readonly type: string;
  readonly key: string;
  readonly keyWhy: string;
  readonly values: number;
  readonly examples: readonly Readonly<Record<string, unknown>>[];
  readonly bytes: number;
  readonly count: number;
  readonly serves: readonly string[];
  readonly paths: readonly string[] | undefined;
  readonly composite: readonly string[];
  readonly ttl: string | undefined;
}

export function designText(needs: Needs, choices: Choices, peaks: Peaks = new Map()): string {
  const writer = new Writer(needs, choices, peaks);
  return writer.text();
}

class Writer {
  readonly #needs: Needs;
  readonly #choices: Choices;
  readonly #peaks: Peaks;
  readonly #derived: readonly Derived[];

  constructor(needs: Needs, choices: Choices, peaks: Peaks) {
    this.#needs = needs;
    this.#choices = choices;
    this.#peaks = peaks;
    this.#derived = derivedOf(needs, choices);
  }

  text(): string {
    const sheets = [...this.#own(), ...this.#derived.map((derived) => this.#sheetOf(derived))];
    const { accesses } = this.#needs;
    const parts = [
      `# ${this.#needs.title.replace(/:.*$/, '')}: Azure Cosmos DB NoSQL Data Model`,
      '## Design Philosophy & Approach\nProposed by `millrace model propose` from the requirements. Every read asks one partition where that costs less than asking all of them. Derived containers are written by projections and by nothing else.',
      `## Aggregate Design Decisions\n${this.#decisions()}`,
      `## Container Designs\n\n${sheets.map((sheet) => this.#container(sheet)).join('\n\n')}`,
      `## Indexing Strategy\n\n${sheets.map(indexing).join('\n\n')}`,
      `## Access Pattern Mapping\n| Pattern | Description | Containers/Indexes | Cosmos DB Operations | Implementation Notes |\n|---|---|---|---|---|\n${accesses.map((access) => this.#row(access)).join('\n')}`,
      ...(this.#derived.length > 0
        ? [
            `## Change Feed Projections\n| Projection | Kind | Source (type) | Sink (type) | Key mapping | Fields / measures | Serves | Max lag | Deletes | Start |\n|---|---|---|---|---|---|---|---|---|---|\n${this.#derived.map((derived) => this.#projection(derived)).join('\n')}`,
          ]
        : []),
      `## Hot Partition Analysis\n${sheets.map((sheet) => this.#hot(sheet)).join('\n')}`,
      `## Trade-offs and Optimizations\n- **Denormalization**: ${this.#derived.length === 0 ? 'none' : `${list(this.#derived.map(({ container, from, name }) => `${container} repeats ${from.name}, kept fresh by \`${name}\``))}; each avoids a query of all partitions`}\n- **Write cost**: each derived container adds its writes to those of its source; \`millrace model cost --terms\` shows them`,
      '## Global Distribution Strategy\n- **Multi-Region Setup**: one region, no multi-region writes\n- **Consistency Strategy**: Session\n- **Conflict Resolution**: none needed',
      '## Validation Results\n- [x] Each access pattern is mapped to one operation on one container\n- [x] Every option was compared in RU',
    ];
    return `${parts.join('\n\n')}\n`;
  }

  #entity(name: string): Entity | undefined {
    return this.#needs.entities.find((one) => one.name === name);
  }

  /** The entity whose documents hold this one. */
  #holder(entity: Entity): Entity | undefined {
    return this.#choices.embedded.includes(entity.name) ? parentOf(this.#needs, entity) : undefined;
  }

  #key(entity: Entity): string {
    return this.#choices.keys[entity.name] ?? 'id';
  }

  #children(entity: Entity): Entity[] {
    return this.#needs.entities.filter((one) => this.#holder(one) === entity);
  }

  /** With its elements. */
  #bytes(entity: Entity): number {
    return this.#children(entity).reduce(
      (bytes, child) =>
        bytes +
        child.bytes *
          (averageOf(relationsOf(this.#needs.requirements, { type: entity.name }, { type: child.name })) ?? 1),
      entity.bytes,
    );
  }

  #own(): Sheet[] {
    return this.#needs.entities.flatMap((entity): Sheet[] => {
      if (this.#holder(entity)) return [];
      const name = containerOf(entity);
      const reads = this.#needs.accesses.filter((access) => this.#placeOf(access) === name);
      const ownReads = reads.filter((access) => access.entity === entity.name);
      const key = this.#key(entity);
      const all = this.#choices.allPaths.includes(entity.name);
      return [
        {
          name,
          purpose: `the documents of ${entity.name}`,
          type: lower(entity.name),
          key,
          keyWhy: reads.some((access) => reaches(access, key))
            ? `requests know the ${key}`
            : 'every document is found by it',
          values: valuesOf(this.#needs, entity.name, key),
          examples: [1, 2].map((at) => this.#example(entity, at)),
          bytes: this.#bytes(entity),
          count: entity.count,
          serves: reads.map(({ id }) => id),
          paths: all ? undefined : this.#paths(ownReads, key),
          composite: [],
          ttl: entity.keptSeconds === undefined ? undefined : String(entity.keptSeconds),
        },
      ];
    });
  }

  #paths(accesses: readonly Access[], key: string): string[] {
    const asked = accesses.filter(({ kind }) => kind === 'list' || kind === 'total');
    return [
      ...new Set(['type', key, ...asked.flatMap(({ by, order }) => [...by, ...(order ? [order.field] : [])])]),
    ].filter((field) => field !== 'id');
  }

  #sheetOf(derived: Derived): Sheet {
    const { from, container, group, kind, serves } = derived;
    const [key = 'id'] = group;
    const groups = Math.min(
      from.count,
      group.reduce((product, field) => product * valuesOf(this.#needs, from.name, field), 1),
    );
    const reads = serves.map(({ id }) => id);
    return {
      name: container,
      purpose:
        kind === 'copy' ? `${from.name} by ${key}; derived` : `totals of ${from.name} by ${list(group)}; derived`,
      type: derived.type,
      key,
      keyWhy: `requests know the ${key}`,
      values: valuesOf(this.#needs, from.name, key),
      examples: this.#derivedExamples(derived),
      bytes: kind === 'copy' ? this.#bytes(from) : 300,
      count: kind === 'copy' ? from.count : groups,
      serves: reads,
      paths: kind === 'copy' ? this.#paths(serves, key) : ['type', key],
      composite: [],
      ttl: undefined,
    };
  }

  #example(entity: Entity, at: number): Record<string, unknown> {
    const own = Object.fromEntries(entity.fields.map(({ name }) => [name, this.#value(entity, name, at)]));
    const children = this.#children(entity).map((child) => [
      lower(containerOf(child)),
      [Object.fromEntries(child.fields.map(({ name }) => [name, this.#value(child, name, at)]))],
    ]);
    return { id: own['id'], type: lower(entity.name), ...own, ...Object.fromEntries(children) };
  }

  #value(entity: Entity, field: string, at: number): unknown {
    if (field === 'id') return `${lower(entity.name)}-${at}`;
    const referred = this.#needs.entities.find(({ name }) => field.toLowerCase() === `${name.toLowerCase()}id`);
    if (referred) return `${lower(referred.name)}-${at}`;
    if (/(At|Time)$/.test(field)) return `2026-01-0${at}T10:00:00Z`;
    if (/^(day|date)$|Da(y|te)$/.test(field)) return `2026-01-0${at}`;
    const summed = this.#needs.accesses.some(({ sums, entity: name }) => name === entity.name && sums.includes(field));
    return summed || /cents|count|quantity|amount|price|number|score|total$/i.test(field) ? 100 * at : `${field}-${at}`;
  }

  #derivedExamples({ from, type, kind, group, sums }: Derived): Record<string, unknown>[] {
    return [1, 2].map((at) => {
      const source = this.#example(from, at);
      if (kind === 'copy') return { ...source, type };
      const fields = Object.fromEntries(group.map((field) => [field, source[field]]));
      const parts = Object.keys(fields)
        .toSorted()
        .map((field) => String(fields[field]));
      return {
        id: [type, ...parts].join('|'),
        type,
        ...fields,
        documents: 1,
        ...Object.fromEntries(sums.map((field) => [field, source[field]])),
      };
    });
  }

  #max(name: string): number {
    return Math.max(STEP, Math.ceil((this.#peaks.get(name) ?? 0) / HEADROOM / STEP) * STEP);
  }

  #container(sheet: Sheet): string {
    const max = this.#max(sheet.name);
    const peak = this.#peaks.get(sheet.name) ?? 0;
    return [
      `### ${sheet.name} Container`,
      `\`\`\`json\n[\n${sheet.examples.map((example) => `  ${JSON.stringify(example)}`).join(',\n')}\n]\n\`\`\``,
      [
        `- **Purpose**: ${sheet.purpose}`,
        `- **Aggregate Boundary**: one ${sheet.type}`,
        `- **Partition Key**: \`/${sheet.key}\` - ${sheet.keyWhy}; ${n(sheet.values)} values`,
        `- **Document Types**: \`${sheet.type}\`; the id is unique over the whole container`,
        `- **Document Size**: ${n(sheet.bytes / 1000)} KB`,
        `- **Size**: ${n((sheet.count * sheet.bytes) / 1e9)} GB`,
        `- **Access Patterns Served**: ${list(sheet.serves)}`,
        // Tombstones and traces of derived rows expire.
        `- **TTL**: ${sheet.ttl ?? '-1'}`,
        `- **Throughput Planning**: autoscale max ${n(max)} RU/s (patterns, projections and the change feed: ${n(peak)} RU/s at the peak)`,
        '- **Consistency Level**: Session',
      ].join('\n'),
    ].join('\n');
  }

  #placeOf(access: Access): string {
    const derived = this.#derived.find(({ serves }) => serves.includes(access));
    const entity = this.#entity(access.entity);
    if (derived || !entity) return derived?.container ?? '';
    return containerOf(this.#holder(entity) ?? entity);
  }

  #row(access: Access): string {
    const entity = this.#entity(access.entity);
    const place = this.#placeOf(access);
    const { operation, notes } = entity ? this.#operation(access, entity) : { operation: '', notes: '' };
    return `| ${access.id} | ${access.description.replaceAll('|', ' ')} | ${place} | ${operation} | ${notes} |`;
  }

  #operation(access: Access, entity: Entity): { operation: string; notes: string } {
    const derived = this.#derived.find(({ serves }) => serves.includes(access));
    const holder = this.#holder(entity);
    const indexed = this.#indexed(holder ?? entity);
    const charge = (operation: Parameters<typeof chargeOf>[0], bytes: number): string =>
      `${n(Math.ceil(10 * chargeOf(operation, { bytes, partitions: this.#partitions(entity), indexed }, DEFAULTS, profile)) / 10)} RU`;
    if (holder) {
      const bytes = this.#bytes(holder);
      return access.kind === 'read' || access.kind === 'list'
        ? {
            operation: 'Point read (id + PK)',
            notes: `the elements are in the document of ${holder.name}, ${charge('point-read', bytes)}`,
          }
        : {
            operation: 'Replace with If-Match',
            notes: `an element of the document of ${holder.name}, ${charge('replace', bytes)}`,
          };
    }
    const bytes = this.#bytes(entity);
    const key = derived?.kind === 'copy' ? (derived.group[0] ?? 'id') : this.#key(entity);
    switch (access.kind) {
      case 'create':
        return { operation: 'Create', notes: charge('create', bytes) };
      case 'update':
        return { operation: 'Replace with If-Match', notes: charge('replace', bytes) };
      case 'delete':
        return { operation: 'Delete', notes: charge('delete', bytes) };
      case 'total':
        if (derived)
          return {
            operation: 'Point read (id + PK)',
            notes: `id is \`${derived.type}\` with ${list(derived.group)}, ${charge('point-read', 300)}`,
          };
        break;
      case 'read':
        if (key === 'id' || access.by.includes(key))
          return { operation: 'Point read (id + PK)', notes: charge('point-read', bytes) };
        break;
      case 'list':
        break;
    }
    const rows = rowsOf(this.#needs, access);
    const one = reaches(access, key);
    const type = derived?.type ?? lower(entity.name);
    const where = [...access.by.map((field) => `c.${field} = @${field}`), `c.type = '${type}'`].join(' AND ');
    const order = access.order ? ` ORDER BY c.${access.order.field}${access.order.descending ? ' DESC' : ''}` : '';
    const limit = access.limit === undefined ? '' : ` OFFSET 0 LIMIT ${access.limit}`;
    const select =
      access.kind === 'total'
        ? `COUNT(1) AS documents${access.sums.map((field) => `, SUM(c.${field}) AS ${field}`).join('')}`
        : '*';
    const what = one ? 'one partition' : 'cross-partition';
    return {
      operation: `Query${one ? '' : ', cross-partition'}: \`SELECT ${select} FROM c WHERE ${where}${order}${limit}\``,
      notes: `${what}, at most ${n(access.limit ?? rows)} rows, ${charge(one ? 'query' : 'cross-partition', rows * bytes)}`,
    };
  }

  /** Paths that a write indexes. */
  #indexed(entity: Entity): number {
    return (
      this.#own().find(({ name }) => name === containerOf(entity))?.paths?.length ??
      entity.fields.length + 1 + this.#children(entity).length
    );
  }

  #partitions(entity: Entity): number {
    return profile.partitions((entity.count * this.#bytes(entity)) / 1e9, this.#max(containerOf(entity)));
  }

  #projection({ name, kind, from, container, type, group, serves, sums, stable }: Derived): string {
    const fixed = stable ? '; stable' : '';
    const source = `${containerOf(from)} (${lower(from.name)})`;
    const key =
      kind === 'copy' ? `${group[0] ?? 'id'} = ${group[0] ?? 'id'}; id = id${fixed}` : `[${list(group)}]${fixed}`;
    const fields =
      kind === 'copy' ? 'all' : [`documents = count`, ...sums.map((field) => `${field} = sum(${field})`)].join('; ');
    return `| ${name} | ${kind} | ${source} | ${container} (${type}) | ${key} | ${fields} | ${list(serves.map(({ id }) => `#${id}`))} | 30 s | ${kind === 'copy' ? 'remove' : 'subtract'} | backfill |`;
  }

  #hot({ name, values }: Sheet): string {
    const peak = this.#peaks.get(name) ?? 0;
    return `- **${name}**: the largest key has ${n(Math.max(0.01, Math.min(100, 200 / values)))} % of ${n(peak)} RU/s, if no key has more than twice the average`;
  }

  #decisions(): string {
    const lines = this.#needs.entities.map((entity) => {
      const holder = this.#holder(entity);
      return holder
        ? `- ${entity.name} is embedded in ${holder.name}.`
        : `- ${entity.name} has a container with the key ${this.#key(entity)}.`;
    });
    const more = this.#derived.map(
      ({ container, from, kind }) =>
        `- ${container} is ${kind === 'copy' ? 'a copy' : 'an aggregate'} of ${from.name}.`,
    );
    return [...lines, ...more].join('\n');
  }
}

function indexing({ name, paths, serves }: Sheet): string {
  const served = `- **Access Patterns Served**: ${list(serves)}`;
  if (!paths) return `### ${name} Container\n- **Indexing Policy**: automatic\n- **Included Paths**: \`/*\`\n${served}`;
  return `### ${name} Container\n- **Indexing Policy**: selective\n- **Included Paths**: ${list(paths.map((path) => `\`/${path}/?\``))}\n- **Excluded Paths**: \`/*\`\n${served}`;
}

/**
 * The requirements, with the comparison of parent and child that the check asks for where they have none. `why`: what both
 * designs of a child cost.
 */
export function requirementsText(
  { text, requirements, entities, accesses }: Needs,
  choices: Choices,
  why: ReadonlyMap<string, string> = new Map(),
): string {
  if (requirements.pairs.length > 0) return text;
  const needs = { title: '', requirements, text, entities, accesses, relationships: requirements.relationships };
  const pairs = entities.flatMap((child) => {
    const parent = parentOf(needs, child);
    return parent ? [{ parent, child }] : [];
  });
  if (pairs.length === 0) return text;
  const rate = (of: Entity, other: Entity): number =>
    accesses
      .filter(
        ({ entity, kind, by }) =>
          entity === of.name &&
          !['create', 'update', 'delete'].includes(kind) &&
          !(of !== other && by.includes(parentField(other, of))),
      )
      .reduce((sum, { average }) => sum + average, 0);
  const analyses = pairs.map(({ parent, child }) => {
    const both = accesses
      .filter(({ entity, by }) => entity === child.name && by.includes(parentField(parent, child)))
      .reduce((sum, { average }) => sum + average, 0);
    const [only, alone] = [rate(parent, parent), rate(child, parent)];
    const all = Math.max(1e-9, both + only + alone);
    const percent = (value: number): number => Math.round((100 * value) / all);
    const [a, b] = [percent(only), percent(alone)];
    const embedded = choices.embedded.includes(child.name);
    const relation = relationsOf(requirements, { type: parent.name }, { type: child.name })[0];
    const most = relation?.max ?? relation?.average ?? 1;
    return `### [${upper(parent.name)} + ${upper(child.name)}] Container Item Analysis
- **Access Correlation**: ${100 - a - b} % of the queries need both
- **Query Patterns**: ${parent.name} only ${a} %, ${child.name} only ${b} %, both ${100 - a - b} %
- **Size Constraints**: ${n(most)} × ${n(child.bytes / 1000)} KB = ${n((most * child.bytes) / 1000)} KB
- **Decision**: ${embedded ? `${child.name} embedded in ${parent.name}` : 'separate containers'}
- **Justification**: ${why.get(child.name) ?? `${n(most)} × ${n(child.bytes / 1000)} KB don't fit into one document, or are read without the parent`}; a multi-document container isn't considered

**Identifying Relationship Check**
- **Child Independence**: No
- **Access Pattern**: Yes
- **Current Design**: ${embedded ? 'embedded' : `key ${choices.keys[child.name] ?? 'id'}`}`;
  });
  return `${text.trimEnd()}\n\n## Enhanced Aggregate Analysis\n${analyses.join('\n\n')}\n`;
}
