// Writes a considered design as the data-model document.
import { chargeOf, HEADROOM, physicalPartitions } from '../estimate.ts';
import {
  type Choices,
  type ProposedDerived,
  apart,
  proposedAskedOf,
  beside,
  proposedChildrenOf,
  proposedContainerOf,
  proposedCountOf,
  derivedOf,
  holderOf,
  homeOf,
  isRead,
  proposedKeyOf,
  largestOf,
  levelsOf,
  lower,
  membersOf,
  parentField,
  knownOf,
  reachOf,
  proposedRowsOf,
  proposedSizeOf,
  skewOf,
  proposedValuesOf,
  valuesOfKey,
} from './design.ts';
import { decisionsText } from './analysis.ts';
import type { NeededAccess, Entity, Needs } from './needs.ts';
import { derivedExamples, exampleOf } from './examples.ts';
import {
  type ProposedAccess,
  type ProposedPart,
  type ProposedSheet,
  indexing,
  proposedList,
  proposedProjection,
  proposedTogether,
} from './sheet.ts';

/** RU/s at the peak by container, to size each; absent: the smallest. */
export type ProposedPeaks = ReadonlyMap<string, number>;

const STEP = 1000;
/** Of an autoscale maximum: the service takes a tenth as the least throughput, and wants 1 RU/s for each GB (rule B12). */
const RU_PER_GB = 10;
/** How long a marked document stays: longer than a reader of the feed may stand still. */
const MARKED_SECONDS = 7 * 86_400;
const n = (value: number): string => value.toLocaleString('en-US', { maximumFractionDigits: value < 10 ? 2 : 0 });

export function designText(needs: Needs, choices: Choices, peaks: ProposedPeaks = new Map()): string {
  const writer = new Writer(needs, choices, peaks);
  return writer.text();
}

class Writer {
  readonly #needs: Needs;
  readonly #choices: Choices;
  readonly #peaks: ProposedPeaks;
  readonly #derived: readonly ProposedDerived[];
  #known: readonly ProposedSheet[] | undefined;

  constructor(needs: Needs, choices: Choices, peaks: ProposedPeaks) {
    this.#needs = needs;
    this.#choices = choices;
    this.#peaks = peaks;
    this.#derived = derivedOf(needs, choices);
  }

  text(): string {
    const sheets = this.#sheets();
    const { accesses } = this.#needs;
    const parts = [
      `# ${this.#needs.title.replace(/:.*$/, '')}: Azure Cosmos DB NoSQL Data Model`,
      '## Design Philosophy & Approach\nProposed by `millrace model propose` from the requirements: of the options that it compared and did not refuse, those that are billed least. Derived containers are written by projections and by nothing else.',
      `## Aggregate Design Decisions\n${decisionsText(this.#needs, this.#choices, this.#derived)}`,
      `## Container Designs\n\n${sheets.map((sheet) => this.#container(sheet)).join('\n\n')}`,
      `## Indexing Strategy\n\n${sheets.map(indexing).join('\n\n')}`,
      `## Access Pattern Mapping\n| Pattern | Description | Containers/Indexes | Cosmos DB Operations | Implementation Notes |\n|---|---|---|---|---|\n${accesses.map((access) => this.#row(access)).join('\n')}`,
      ...(this.#derived.length > 0
        ? [
            `## Change Feed Projections\n| Projection | Kind | Source (type) | Sink (type) | Key mapping | Fields / measures | Serves | Max lag | Deletes | Start |\n|---|---|---|---|---|---|---|---|---|---|\n${this.#derived.map((derived) => proposedProjection(derived, this.#containerOf(derived.from))).join('\n')}`,
          ]
        : []),
      `## Hot Partition Analysis\n${sheets.map((sheet) => this.#hot(sheet)).join('\n')}`,
      `## Trade-offs and Optimizations\n- **Denormalization**: ${this.#derived.length === 0 ? 'none' : `${proposedList(this.#derived.map(({ container, from, name }) => `${container} repeats ${from.name}, kept fresh by \`${name}\``))}; asking the source instead was compared`}\n- **Write cost**: each derived container adds its writes to those of its source; \`millrace model cost --terms\` shows them\n- **Not weighed**: write sharding, joins of containers, and several regions`,
      '## Global Distribution Strategy\n- **Multi-Region Setup**: one region, no multi-region writes; the costs are for this, and other setups were not compared\n- **Consistency Strategy**: Session\n- **Conflict Resolution**: none, with one region for writes',
      `## Validation Results\n- [x] Each of the ${accesses.length} access patterns has a row in the mapping\n- [x] The options of each decision were compared in RU`,
    ];
    return `${parts.join('\n\n')}\n`;
  }

  #entity(name: string): Entity | undefined {
    return this.#needs.entities.find((one) => one.name === name);
  }

  /** One of each container: copies may be in one that has documents of its own. */
  #sheets(): readonly ProposedSheet[] {
    this.#known ??= this.#allSheets();
    return this.#known;
  }

  #allSheets(): ProposedSheet[] {
    const all = [...this.#own(), ...this.#derived.map((derived) => this.#sheetOf(derived))];
    return [...Map.groupBy(all, ({ name }) => name).values()].flatMap((same) => {
      const [first, ...others] = same;
      return first ? [others.reduce(proposedTogether, first)] : [];
    });
  }

  #own(): ProposedSheet[] {
    const [needs, choices] = [this.#needs, this.#choices];
    return needs.entities.flatMap((entity): ProposedSheet[] => {
      if (choices.embedded.includes(entity.name) || homeOf(choices, entity.name) !== entity.name) return [];
      const members = membersOf(needs, choices, entity.name);
      const name = proposedContainerOf(entity);
      const key = proposedKeyOf(choices, entity.name);
      const reads = needs.accesses.filter((access) => this.#placeOf(access) === name);
      const known = reads.filter((access) => {
        const asked = proposedAskedOf(needs, choices, access);
        return isRead(access.kind) && reachOf(asked.entity, asked.by, key) === 'one';
      });
      const count = members.reduce((all, member) => all + member.count, 0);
      const bytes =
        members.reduce((all, member) => all + member.count * proposedSizeOf(needs, choices, member), 0) / count;
      return [
        {
          name,
          purpose: `the documents of ${proposedList(members.map((member) => member.name))}`,
          types: members.map((member) => lower(member.name)),
          key,
          keyWhy: knownBy(known),
          values: Math.max(...members.map((member) => valuesOfKey(needs, member, key))),
          examples: members.flatMap((member) => [
            ...[1, 2].map((at) => exampleOf(needs, choices, member, at)),
            ...(this.#marked(member)
              ? [{ ...exampleOf(needs, choices, member, 3), deleted: true, ttl: MARKED_SECONDS }]
              : []),
          ]),
          bytes,
          count,
          serves: reads.map(({ id }) => id),
          paths: choices.allPaths.includes(entity.name)
            ? undefined
            : this.#paths(
                // Elements of documents are found by the document's id.
                reads.filter((access) => members.some((member) => member.name === access.entity)),
                key,
                members.some((member) => this.#marked(member)) ? ['deleted'] : [],
              ),
          ttl: entity.keptSeconds === undefined ? undefined : String(entity.keptSeconds),
          largest: Math.max(...members.map((member) => largestOf(needs, member, key))),
          skew: skewOf(needs, widest(needs, members, key) ?? entity, key),
        },
      ];
    });
  }

  #paths(accesses: readonly NeededAccess[], key: string, more: readonly string[] = []): string[] {
    const asked = accesses.filter(({ kind }) => kind === 'list' || kind === 'total');
    return [
      ...new Set([
        'type',
        ...levelsOf(key),
        ...more,
        ...asked.flatMap(({ by, order }) => [...by, ...(order ? [order.field] : [])]),
      ]),
    ].filter((field) => field !== 'id');
  }

  #sheetOf(derived: ProposedDerived): ProposedSheet {
    const { from, container, group, kind, serves } = derived;
    const [key = 'id'] = group;
    const groups = Math.min(
      from.count,
      group.reduce((product, field) => product * proposedValuesOf(this.#needs, from.name, field), 1),
    );
    const reads = serves.map(({ id }) => id);
    const examples = derivedExamples(this.#needs, this.#choices, derived);
    return {
      name: container,
      purpose:
        kind === 'copy'
          ? `${from.name} by ${key}; derived`
          : `totals of ${from.name} by ${proposedList(group)}; derived`,
      types: [derived.type],
      key,
      keyWhy: knownBy(serves),
      values: proposedValuesOf(this.#needs, from.name, key),
      examples,
      bytes: kind === 'copy' ? proposedSizeOf(this.#needs, this.#choices, from) : totalBytes(examples),
      count: kind === 'copy' ? from.count : groups,
      serves: reads,
      paths: kind === 'copy' ? this.#paths(serves, key) : ['type', key],
      ttl: undefined,
      largest: largestOf(this.#needs, from, key),
      skew: skewOf(this.#needs, from, key),
    };
  }

  /** For the peak, and no less than the service takes for what is stored. */
  #max(name: string): number {
    const { count = 0, bytes = 0 } = this.#sheets().find((sheet) => sheet.name === name) ?? {};
    const least = Math.max((this.#peaks.get(name) ?? 0) / HEADROOM, (RU_PER_GB * count * bytes) / 1e9);
    return Math.max(STEP, Math.ceil(least / STEP) * STEP);
  }

  #container(sheet: ProposedSheet): string {
    const max = this.#max(sheet.name);
    const levels = levelsOf(sheet.key);
    const peak = this.#peaks.get(sheet.name) ?? 0;
    return [
      `### ${sheet.name} Container`,
      `\`\`\`json\n[\n${sheet.examples.map((example) => `  ${JSON.stringify(example)}`).join(',\n')}\n]\n\`\`\``,
      [
        `- **Purpose**: ${sheet.purpose}`,
        `- **Aggregate Boundary**: one ${sheet.types.join(', one ')}`,
        `- **Partition Key**: ${proposedList(levels.map((level) => `\`/${level}\``))}${levels.length > 1 ? ' (hierarchical)' : ''} - ${sheet.keyWhy}; ${n(sheet.values)} values`,
        `- **Document Types**: ${proposedList(sheet.types.map((type) => `\`${type}\``))}`,
        `- **Document Size**: ${n(sheet.bytes / 1000)} KB`,
        `- **Size**: ${n((sheet.count * sheet.bytes) / 1e9)} GB`,
        `- **Access Patterns Served**: ${proposedList(sheet.serves)}`,
        // Tombstones and traces of derived rows expire.
        `- **TTL**: ${sheet.ttl ?? '-1'}`,
        `- **Throughput Planning**: autoscale max ${n(max)} RU/s (patterns, projections and the change feed: ${n(peak)} RU/s at the peak)`,
        '- **Consistency Level**: Session',
      ].join('\n'),
    ].join('\n');
  }

  #placeOf(access: NeededAccess): string {
    const derived = this.#derived.find(({ serves }) => serves.includes(access));
    const entity = this.#entity(access.entity);
    if (derived || !entity) return derived?.container ?? '';
    return this.#containerOf(holderOf(this.#needs, this.#choices, entity) ?? entity);
  }

  /** The container that an entity's documents are in. */
  #containerOf({ name }: Entity): string {
    return proposedContainerOf({ name: homeOf(this.#choices, name) });
  }

  #row(access: NeededAccess): string {
    const { operation, notes } = this.#operation(access);
    const others = isRead(access.kind)
      ? apart(this.#needs, this.#choices, access).map((one) => this.#containerOf(one))
      : [];
    const places = proposedList([this.#placeOf(access), ...others]);
    return `| ${access.id} | ${access.description.replaceAll('|', ' ')} | ${places} | ${operation} | ${notes} |`;
  }

  #operation(access: NeededAccess): { operation: string; notes: string } {
    const [needs, choices] = [this.#needs, this.#choices];
    const { entity, by } = proposedAskedOf(needs, choices, access);
    const held = entity.name !== access.entity;
    const bytes = proposedSizeOf(needs, choices, entity);
    const write = (operation: 'create' | 'replace' | 'delete'): string =>
      this.#ru(this.#charge(operation, entity, bytes));
    const type = `type \`${lower(entity.name)}\``;
    if (!isRead(access.kind) && held)
      return { operation: 'Replace with If-Match', notes: `an element of ${type}, ${write('replace')}` };
    switch (access.kind) {
      case 'create':
        return { operation: 'Create', notes: `${type}, ${write('create')}` };
      case 'update':
        return { operation: 'Replace with If-Match', notes: `${type}, ${write('replace')}` };
      case 'delete':
        // The feed shows no deletes.
        if (this.#marked(entity))
          return {
            operation: 'Replace with If-Match, sets `deleted` and `ttl`',
            notes: `${type}, ${write('replace')}`,
          };
        return { operation: 'Delete', notes: `${type}, ${write('delete')}` };
      case 'read':
      case 'list':
      case 'total':
        break;
    }
    return this.#read(access, entity, by);
  }

  /** Whether a deleted document is marked first, so that what is derived from it sees the delete. */
  #marked(entity: Entity): boolean {
    const deletes = this.#needs.accesses.some(({ kind, entity: name }) => kind === 'delete' && name === entity.name);
    return deletes && this.#derived.some(({ from }) => from === entity);
  }

  /** A condition that leaves out what is marked as deleted. */
  #live(entities: readonly Entity[]): string[] {
    return entities.some((entity) => this.#marked(entity)) ? ['NOT IS_DEFINED(c.deleted)'] : [];
  }

  /** A read, and one more for each child that is elsewhere. */
  #read(access: NeededAccess, entity: Entity, by: readonly string[]): { operation: string; notes: string } {
    const [needs, choices] = [this.#needs, this.#choices];
    const derived = this.#derived.find(({ serves }) => serves.includes(access));
    if (derived?.kind === 'aggregate')
      return {
        operation: 'Point read (id + PK)',
        notes: `id is \`${derived.type}\` with ${proposedList(derived.group)}, ${this.#ru(this.#charge('point-read', entity, totalBytes(derivedExamples(needs, choices, derived))))}`,
      };
    const key = derived ? (derived.group[0] ?? 'id') : proposedKeyOf(choices, entity.name);
    const bytes = proposedSizeOf(needs, choices, entity);
    const children = access.withs.flatMap((name) => this.#entity(name) ?? []);
    const others = apart(needs, choices, access);
    const inside = children.filter((child) => beside(choices, entity, child) && !others.includes(child));
    const reach = reachOf(entity, by, key);
    const where = [...by];
    const parts: ProposedPart[] = [];
    if (inside.length > 0) {
      const rows = inside.map((child) => proposedCountOf(needs, entity, child));
      const all = inside.reduce((sum, child, at) => sum + (rows[at] ?? 1) * child.bytes, bytes);
      const types = proposedList([entity, ...inside].map(({ name }) => `'${lower(name)}'`));
      const count = 1 + rows.reduce((sum, one) => sum + one, 0);
      parts.push(
        this.#query({
          entity,
          key,
          by,
          select: '*',
          where: [
            ...levelsOf(key).map((level) => `c.${level} = @${level}`),
            `c.type IN (${types})`,
            ...this.#live([entity, ...inside]),
          ],
          tail: '',
          rows: count,
          bytes: all,
        }),
      );
    } else if (by.includes('id') && reach === 'one') {
      const what = entity.name === access.entity ? '' : `the elements are in type \`${lower(entity.name)}\`, `;
      parts.push({
        operation: 'Point read (id + PK)',
        notes: what,
        ru: this.#charge('point-read', entity, bytes),
      });
    } else {
      const found = entity.name === access.entity ? proposedRowsOf(needs, access) : 1;
      const order = access.order ? ` ORDER BY c.${access.order.field}${access.order.descending ? ' DESC' : ''}` : '';
      const limit = access.limit === undefined ? '' : ` OFFSET 0 LIMIT ${access.limit}`;
      const type = derived?.type ?? lower(entity.name);
      parts.push(
        this.#query({
          entity,
          key,
          by,
          select:
            access.kind === 'total'
              ? `COUNT(1) AS documents${access.sums.map((field) => `, SUM(c.${field}) AS ${field}`).join('')}`
              : '*',
          where: [
            ...where.map((field) => `c.${field} = @${field}`),
            `c.type = '${type}'`,
            ...(derived ? [] : this.#live([entity])),
          ],
          tail: entity.name === access.entity ? `${order}${limit}` : '',
          rows: found,
          limit: access.limit,
          bytes: found * bytes,
        }),
      );
    }
    for (const child of others) {
      const field = parentField(entity, child);
      const childKey = proposedKeyOf(choices, child.name);
      const rows = proposedCountOf(needs, entity, child);
      parts.push(
        this.#query({
          entity: child,
          key: childKey,
          by: [field],
          select: '*',
          where: [`c.${field} = @id`, `c.type = '${lower(child.name)}'`, ...this.#live([child])],
          tail: '',
          rows,
          bytes: rows * child.bytes,
        }),
      );
    }
    return {
      operation: parts.map(({ operation }) => operation).join(' + '),
      notes: `${parts.map(({ notes }) => notes).join('')}${this.#ru(parts.reduce((sum, { ru }) => sum + ru, 0))}`,
    };
  }

  #query({ entity, key, by, select, where, tail, rows, limit, bytes }: ProposedAccess): ProposedPart {
    const partitions = this.#partitions(entity);
    const reach = reachOf(entity, by, key);
    const known = knownOf(entity, by, key).join('/');
    // A prefix is on as many physical partitions as its part of the data takes.
    const asked = {
      one: 1,
      all: partitions,
      prefix: Math.ceil(partitions * largestOf(this.#needs, entity, known)),
    };
    const what = { one: 'one partition', prefix: 'the partitions of a prefix', all: 'cross-partition' }[reach];
    return {
      operation: `Query${reach === 'all' ? ', cross-partition' : ''}: \`SELECT ${select} FROM c WHERE ${where.join(' AND ')}${tail}\``,
      notes: `${what}, at most ${n(limit ?? rows)} rows, `,
      // The base charge has the first partition.
      ru: chargeOf('cross-partition', { bytes, rows, partitions: asked[reach] - 1, indexed: 0 }),
    };
  }

  #charge(operation: Parameters<typeof chargeOf>[0], entity: Entity, bytes: number): number {
    const indexed = this.#indexed(entity);
    return chargeOf(operation, { bytes, partitions: this.#partitions(entity), indexed });
  }

  #ru(value: number): string {
    return `${n(Math.ceil(10 * value) / 10)} RU`;
  }

  /** Paths that a write indexes. */
  #indexed(entity: Entity): number {
    return (
      this.#sheets().find(({ name }) => name === this.#containerOf(entity))?.paths?.length ??
      entity.fields.length + 1 + proposedChildrenOf(this.#needs, this.#choices, entity).length
    );
  }

  #partitions(entity: Entity): number {
    const members = membersOf(this.#needs, this.#choices, homeOf(this.#choices, entity.name));
    const bytes = members.reduce((sum, one) => sum + one.count * proposedSizeOf(this.#needs, this.#choices, one), 0);
    return physicalPartitions(bytes / 1e9, this.#max(this.#containerOf(entity)));
  }

  #hot({ name, largest, skew }: ProposedSheet): string {
    const peak = this.#peaks.get(name) ?? 0;
    return `- **${name}**: the largest key takes ${n(peak * largest)} RU/s, ${n(Math.max(0.01, 100 * largest))} % of the load: ${skew}`;
  }
}

/** Of a total, which the requirements give no size: as its examples. */
const totalBytes = (examples: readonly object[]): number =>
  Math.max(...examples.map((example) => JSON.stringify(example).length));

/** Why a key is chosen: the reads that know it. */
const knownBy = (reads: readonly NeededAccess[]): string =>
  reads.length === 0 ? 'no read knows it' : `known to the reads of pattern ${proposedList(reads.map(({ id }) => id))}`;

/** The entity whose largest key has the greatest part. */
const widest = (needs: Needs, members: readonly Entity[], key: string): Entity | undefined =>
  members.toSorted((a, b) => largestOf(needs, b, key) - largestOf(needs, a, key))[0];
