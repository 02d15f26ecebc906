// Sections of both documents by the words of their headings: the template's, those of real ones, and Chinese.
import { normalised, sectionName } from './labels.ts';

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

const SHARED = { shards: ['shard map', 'shard maps', '分片映射'] } as const satisfies Record<string, readonly string[]>;

const find = (table: Record<string, readonly string[]>, title: string): string | undefined => {
  const words = ` ${normalised(title)} `;
  return Object.keys(table).find((name) =>
    table[name]?.some((synonym) => (/[a-z]/.test(synonym) ? words.includes(` ${synonym} `) : words.includes(synonym))),
  );
};

/** Sections that make a document one of requirements. */
export const requirementsSection = (title: string): string | undefined => find(REQUIREMENTS, title);

/** The name of a section in either document; those of the data model win, except the checklist that both have. */
export const sectionNameOf = (title: string): string | undefined =>
  find(SHARED, title) ??
  (find({ checklist: REQUIREMENTS.checklist }, title) || (sectionName(title) ?? requirementsSection(title)));
