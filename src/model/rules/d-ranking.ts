// D15: rankings over all people, from documents in a partition for each of them.
import type { ContainerDetail } from '../documents.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';
import { linesSaying } from './said.ts';
import { saying } from './service.ts';

const RANKING =
  /\bleader-?boards?\b|\brankings? (?:of|by|over|across|among) (?:all )?(?:users|players|members|teams|customers)|\btop[ -_](?:\d+ )?(?:users|players|scores|members|contributors|sellers)\b|\b(?:most|best)[- ](?:popular|viewed|liked|active|selling) (?:posts?|products?|items?|users?|recipes?|videos?)/i;
const KEPT =
  /cross[- ]partition|fan[- ]?out|materiali[sz]ed|change feed|\bredis\b|\bcache[sd]?\b|\bprojection|\baggregat\w+ (?:container|document)|\bpre-?comput|\b(?:scheduled|nightly|hourly|background) (?:job|function|task)|\bsearch index/i;
const RANKED = /leader|rank|top|score|popular|trending|stat|summar|aggregat/i;
const OF_ONE =
  /^\/(?:id|(?:user|player|member|owner|author|profile|account|customer|team|seller|product|post|item|recipe|video)_?(?:id|name)?)$/i;

export const RANKINGS: readonly Rule[] = [
  {
    id: 'D15',
    title: 'A ranking over all has a container, or something that keeps it',
    severity: 'warning',
    source: SOURCES.microsoft('Data modeling in Azure Cosmos DB'),
    why: 'With the key `/userId` each person is a partition of their own. A leaderboard then reads and sorts the documents of all of them, on each visit. The rule reads sentences about leaderboards and about the top users or the most popular items, if all containers have such a key. It accepts a container for the ranking, and a text that names what keeps it or says that it crosses partitions.',
    hint: 'Derive the ranking by an aggregate with `top`, in a container with a document for each ranking.',
    needs: [DESIGN],
    *check({ design, containers }): Iterable<RuleResult> {
      if (!design) return;
      const all = saying(design, RANKING);
      if (all.length === 0) {
        yield missing('a sentence about a ranking');
        return;
      }
      const isOfOne = ({ container }: ContainerDetail): boolean => OF_ONE.test(container.partitionKey[0] ?? '');
      const [first] = containers.filter(isOfOne);
      const served =
        containers.some(({ container }) => RANKED.test(container.name)) ||
        containers.some((detail) => !isOfOne(detail)) ||
        linesSaying(design, KEPT).some(([line, text]) => RANKING.test(text) || all.some(({ at }) => at.line === line));
      if (first && !served)
        yield* together(
          all,
          `A ranking over all reads every partition of ${first.container.partitionKey.join(', ')}, and nothing keeps it`,
          [first.container.places.partitionKey ?? first.container.at],
        );
    },
  },
];
