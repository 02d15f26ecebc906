// Sections of both documents by the words of their headings: the template's, those of real ones, and Chinese.
import { sectionIn, sectionName } from './labels.ts';
import { type Section, within } from './outline.ts';

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

/** Sections that make a document one of requirements. */
export const requirementsSection = (title: string): string | undefined => sectionIn(REQUIREMENTS, title);

/** The name of a section in either document; of those that only one has, the data model's win. */
export const sectionNameOf = (title: string): string | undefined =>
  sectionIn(SHARED, title) ?? sectionName(title) ?? requirementsSection(title);

/** The tree's sections of one name, in order, each with all that stands under it and has no other name. */
export const sectionsNamed = (root: Section, name: string): Section[] =>
  [...within(root)].filter((section) => section.depth > 0 && sectionNameOf(section.title) === name);
