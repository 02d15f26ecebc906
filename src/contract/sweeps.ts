// G17: the sweeps of an archive find what is due by an index.
import { isUnindexed, unindexed } from '../definition/archive-index.ts';
import { type Rule, SOURCES, noDesign } from '../model/rules/rule.ts';
import type { Contract } from './declared.ts';
import { noPipeline } from './existence.ts';

export function sweeps(contract: Contract): Rule[] {
  return [
    {
      id: 'G17',
      title: 'The date of an archive is indexed',
      severity: 'warning',
      source: SOURCES.ours,
      why: 'A sweep asks the container for the documents whose date is old enough. If the policy leaves the date out, each sweep reads all documents of the container, and its RU grow with the container and not with what is due. No row of the mapping has this query, so no other rule sees it. An archive whose condition alone decides needs no date.',
      hint: 'Include the path of the date in the indexing policy of the source.',
      *check(facts) {
        const { pipeline } = contract;
        if (!pipeline || !facts.design) {
          yield pipeline ? noDesign : noPipeline;
          return;
        }
        for (const spec of pipeline.archives) {
          const detail = facts.detail(spec.from.container);
          const declared = contract.named(spec.name);
          // A source with an upcast is read by its feed, since the date may come from another field.
          const upcast = pipeline.sources.some(
            (of) => of.container === spec.from.container && of.type === spec.from.type && of.upcast !== undefined,
          );
          if (!detail || !declared || upcast || !isUnindexed(spec, detail.container.indexingPolicy)) continue;
          yield {
            ...unindexed(spec),
            at: facts.place(detail, 'indexingPolicy'),
            related: [contract.at(declared, spec.dateField)],
          };
        }
      },
    },
  ];
}
