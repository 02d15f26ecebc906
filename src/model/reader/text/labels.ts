// The labels of a container's bullets: the template's words, variants from real documents, and Chinese.

/** Only the words, in lower case, without numbering, emoji, punctuation and markup. */
export const normalised = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .replaceAll(/^(\s*\d+\s)+/g, '')
    .trim();

/** Bullets of a container, by their whole label. `ignored`: labels that are known, but not read. */
const LABELS = {
  partitionKey: [
    'partition key',
    'partition keys',
    'partition key path',
    'partition key paths',
    'partition key choice',
    'chosen partition key',
    'hierarchical partition key',
    'hierarchical partition keys',
    'pk',
    '分区键',
    '分區鍵',
    '分片键',
    'パーティションキー',
    'パーティション キー',
    'partitionsschlüssel',
  ],
  types: ['document types', 'document type', 'types', '文档类型'],
  ttl: ['ttl', 'time to live', 'default ttl', 'defaultttl', 'ttl policy', '生存时间'],
  throughput: [
    'throughput planning',
    'throughput',
    'provisioned throughput',
    'autoscale',
    'autoscale throughput',
    'ru planning',
    'ru strategy',
    '吞吐量规划',
    '吞吐量',
    'スループット',
  ],
  uniqueKeys: ['unique key policy', 'unique keys', 'unique key', '唯一键'],
  indexingPolicy: ['indexing policy', 'indexing', 'index policy', 'indexing strategy', '索引策略'],
  includedPaths: ['included paths', 'included path', 'include paths', 'indexed paths', '包含路径'],
  excludedPaths: [
    'excluded paths',
    'excluded path',
    'exclude paths',
    'exclude from indexing',
    'excluded from indexing',
    '排除路径',
  ],
  compositeIndexes: ['composite indexes', 'composite indices', 'composite index', 'composite', '复合索引'],
  container: [
    'container',
    'container id',
    'container name',
    'collection',
    'collection id',
    'collection name',
    '容器',
    'コンテナ',
    'コンテナー',
  ],
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

const NAMES: ReadonlyMap<string, LabelName> = new Map(
  synonymsOf<LabelName>(LABELS).flatMap(([name, synonyms]) => synonyms.map((synonym) => [synonym, name] as const)),
);

/** A table of names with their synonyms, in its order. */
export function synonymsOf<K extends string>(table: Record<K, readonly string[]>): [K, readonly string[]][] {
  return Object.entries<readonly string[]>(table).map(([name, synonyms]) => [name as K, synonyms]);
}

export const labelName = (label: string): LabelName | undefined => NAMES.get(normalised(label));
