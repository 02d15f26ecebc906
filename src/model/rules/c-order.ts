// C38: an order by words that mean one.
import type { ContainerDetail } from '../documents.ts';
import { type Facts, examplesIn, valueAt } from './facts.ts';
import { fieldsOf } from './fields.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing } from './rule.ts';

/** Words with an order of their own, which isn't that of the alphabet. */
const RANKED =
  /^(?:low|medium|normal|high|critical|urgent|minor|major|blocker|severe|small|large|bronze|silver|gold|platinum|beginner|intermediate|advanced|mon(?:day)?|tues?(?:day)?|wed(?:nesday)?|thu(?:rsday)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?|january|february|march|april|june|july|august|september|october|november|december)$/i;
const UNION = /["'](?<word>[A-Za-z]+)["']/g;

/** What the documents have in the field: the words of examples, or of the type that declares it. */
function wordsOf(facts: Facts, detail: ContainerDetail, path: string): string[] {
  const shown = examplesIn(detail.container).map((one) => valueAt(one, path));
  const declared = fieldsOf(facts, detail).find(({ field }) => field === path);
  const line = facts.design?.lines[(declared?.at.line ?? 0) - 1] ?? '';
  const union = line.includes('|') ? [...line.matchAll(UNION)].map(({ groups }) => groups?.['word']) : [];
  return [...shown, ...union].filter((word) => typeof word === 'string');
}

export const ORDERS_BY_WORDS: readonly Rule[] = [
  {
    id: 'C38',
    title: 'An ORDER BY sorts by a value whose order is meant',
    severity: 'warning',
    source: SOURCES.microsoft('ORDER BY clause in Azure Cosmos DB for NoSQL'),
    why: 'Strings are sorted by their letters: `ORDER BY c.priority DESC` over low, medium and high gives medium, low, high, so the urgent tasks come last (ASM-E153). No error shows it, and a page of ten has the wrong ten. The rule looks at the fields that queries order by, if examples or declarations show such words in them.',
    hint: 'Store the rank as a number beside the word (`priorityRank: 3`), and order by it.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const all = facts.questions.flatMap(({ who, at, detail, queries }) =>
        queries.flatMap(({ order }) => order.map(({ path }) => ({ who, at, detail, path }))),
      );
      if (all.length === 0) {
        yield missing('a query with an ORDER BY');
        return;
      }
      for (const { who, at, detail, path } of all) {
        const words = wordsOf(facts, detail, path);
        if (words.length > 0 && words.every((word) => RANKED.test(word)))
          yield {
            message: `${who} orders ${detail.container.name} by ${path}, whose values are words (${words[0]}): they are sorted by their letters`,
            at,
            related: fieldsOf(facts, detail)
              .filter(({ field }) => field === path)
              .map((one) => one.at),
          };
      }
    },
  },
];
