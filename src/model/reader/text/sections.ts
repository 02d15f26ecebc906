// Recognises sections by the words of their headings: the template's, variants from real documents, and Chinese.
import { normalised, synonymsOf } from './labels.ts';
import { type Section, within } from './outline.ts';
import { remembered } from '../remembered.ts';

/** Sections of the data-model document by the words their headings contain. */
const DATA_MODEL = {
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
  hotPartitions: ['hot partition', 'hot partitions', '热分区'],
  tradeOffs: ['trade offs', 'tradeoffs', '权衡'],
  distribution: ['global distribution', '全局分布'],
  validation: ['validation results', 'validation checklist', '验证'],
} as const satisfies Record<string, readonly string[]>;
type SectionName = keyof typeof DATA_MODEL;

/** Sections of the requirements. */
const REQUIREMENTS = {
  overview: ['application overview', 'app overview', '应用概述', '应用程序概述', '应用概览'],
  patterns: ['access patterns analysis', 'access pattern analysis', 'access patterns', '访问模式分析', '访问模式'],
  relationships: ['entity relationships', 'entity relationship', 'relationships deep dive', '实体关系'],
  pairs: ['aggregate analysis', '聚合分析', '聚合体分析'],
  consolidation: [
    'container consolidation',
    'consolidation analysis',
    'consolidation candidates',
    '容器合并',
    '容器整合',
  ],
  considerations: ['design considerations', '设计考虑', '设计注意事项', '设计考量'],
  checklist: ['validation checklist', '验证清单', '验证检查'],
} as const satisfies Record<string, readonly string[]>;

/** Sections that both documents may have. */
const SHARED = { shards: ['shard map', 'shard maps', '分片映射'], checklist: REQUIREMENTS.checklist } as const;

/** The section of a table whose words a heading contains; Chinese has no spaces between words. */
function searchIn<K extends string>(table: Record<K, readonly string[]>): (title: string) => K | undefined {
  const all = synonymsOf(table).map(([name, synonyms]) => ({
    name,
    synonyms: synonyms.map((synonym) => (/[a-z]/.test(synonym) ? ` ${synonym} ` : synonym)),
  }));
  return (title) => {
    const words = wordsOf(title);
    return all.find(({ synonyms }) => synonyms.some((synonym) => words.includes(synonym)))?.name;
  };
}

const wordsOf = remembered((title) => ` ${normalised(title)} `);

const inDataModel = searchIn<SectionName>(DATA_MODEL);
const inRequirements = searchIn(REQUIREMENTS);
const inBoth = searchIn(SHARED);

/** Sections that only a data-model document has. */
export const sectionName = (title: string): SectionName | undefined => inDataModel(title);

/** Sections of a requirements document. */
export const requirementsSection = (title: string): string | undefined => inRequirements(title);

/** The name of a section in either document; if both have a match, the data model's wins. */
export const sectionNameOf = (title: string): string | undefined =>
  inBoth(title) ?? sectionName(title) ?? requirementsSection(title);

/** All sections with this name, in order. */
export const sectionsNamed = (root: Section, name: string): Section[] =>
  [...within(root)].filter((section) => section.depth > 0 && sectionNameOf(section.title) === name);
