// What the documents' headings and bullets are called: the template's words, the drift seen in real ones, and Chinese.

/** Words alone, in lower case: numbering, emoji, punctuation and markup fall away. */
export const normalised = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .replaceAll(/^(\s*\d+\s)+/g, '')
    .trim();

/** Sections of the data-model document by the words their headings contain. */
const SECTIONS = {
  philosophy: ['design philosophy', '设计理念'],
  aggregates: ['aggregate design decisions', 'aggregate design', '聚合设计'],
  containers: [
    'container designs',
    'container design',
    'containers design',
    'container schemas',
    'container schema',
    'container definitions',
    '容器设计',
  ],
  indexing: ['indexing strategy', 'indexing policy', 'indexing policies', '索引策略'],
  mapping: ['access pattern mapping', 'access patterns mapping', 'solved patterns', '访问模式映射'],
  projections: ['change feed projections', '变更源投影'],
  hotPartitions: ['hot partition', '热分区'],
  tradeOffs: ['trade offs', 'tradeoffs', '权衡'],
  distribution: ['global distribution', '全局分布'],
  validation: ['validation results', 'validation checklist', '验证'],
} as const satisfies Record<string, readonly string[]>;
export type SectionName = keyof typeof SECTIONS;

/** Bullets of a container, by their whole label. `ignored` ones are known but say nothing that is read yet. */
const LABELS = {
  partitionKey: [
    'partition key',
    'partition keys',
    'partition key path',
    'partition key paths',
    'hierarchical partition key',
    'pk',
    '分区键',
    '分片键',
  ],
  types: ['document types', 'document type', 'types', '文档类型'],
  ttl: ['ttl', 'time to live', 'default ttl', 'defaultttl', 'ttl policy', '生存时间'],
  throughput: ['throughput planning', 'throughput', 'provisioned throughput', 'ru planning', '吞吐量规划', '吞吐量'],
  uniqueKeys: ['unique key policy', 'unique keys', 'unique key', '唯一键'],
  indexingPolicy: ['indexing policy', 'indexing', 'index policy', 'indexing strategy', '索引策略'],
  includedPaths: ['included paths', 'included path', 'include paths', 'indexed paths', '包含路径'],
  excludedPaths: ['excluded paths', 'excluded path', 'exclude paths', '排除路径'],
  compositeIndexes: ['composite indexes', 'composite indices', 'composite index', '复合索引'],
  container: ['container', 'container id', 'container name', '容器'],
  ignored: [
    'purpose',
    'aggregate boundary',
    'attributes',
    'key attributes',
    'access patterns served',
    'access patterns',
    'consistency level',
    'consistency',
    'ru impact',
    'derived from',
    'size',
    'document size',
    'growth',
    'partition key type',
    'partition count',
  ],
} as const satisfies Record<string, readonly string[]>;
export type LabelName = keyof typeof LABELS;

const find = <K extends string>(
  table: Record<K, readonly string[]>,
  matches: (synonym: string) => boolean,
): K | undefined => {
  for (const name in table) if (table[name].some(matches)) return name;
  return undefined;
};

/** The section of a table whose words a heading contains; Chinese has no spaces between words. */
export function sectionIn<K extends string>(table: Record<K, readonly string[]>, title: string): K | undefined {
  const words = ` ${normalised(title)} `;
  return find(table, (synonym) => words.includes(/[a-z]/.test(synonym) ? ` ${synonym} ` : synonym));
}

export const sectionName = (title: string): SectionName | undefined => sectionIn<SectionName>(SECTIONS, title);

export const labelName = (label: string): LabelName | undefined => {
  const words = normalised(label);
  return find<LabelName>(LABELS, (synonym) => synonym === words);
};
