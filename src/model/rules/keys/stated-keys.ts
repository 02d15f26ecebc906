// C31: keys that two places of the text state differently.
import type { Design } from '../../documents.ts';
import type { Container } from '../../model.ts';
import { type StatedKey, contestedIn } from '../contested.ts';
import { type Found, type Rule, type RuleResult, DESIGN, more, together } from '../rule.ts';

/** `lines 3, 7`. */
const linesOf = (places: readonly StatedKey[]): string =>
  `${places.length === 1 ? 'line' : 'lines'} ${places.map(({ at }) => at.line).join(', ')}`;

interface Contest {
  readonly container: Container;
  readonly main: readonly StatedKey[];
  readonly others: readonly StatedKey[];
}

/** The key that most places state, and the places of the others. */
function contestOf(container: Container, all: readonly StatedKey[]): Contest {
  const lineOf = ([first]: readonly StatedKey[]): number => first?.at.line ?? 0;
  const byKey = [...Map.groupBy(all, ({ key }) => key).values()].toSorted(
    (one, other) => other.length - one.length || lineOf(one) - lineOf(other),
  );
  const [main = [], ...others] = byKey;
  return { container, main, others: others.flat() };
}

const keysOf = (places: readonly StatedKey[]): string => [...new Set(places.map(({ key }) => key))].join(', ');

/** The finding stands where fewer places state the key: that is the one to look at first. */
function* differing(design: Design, all: readonly Contest[]): Iterable<Found> {
  const [first] = all;
  if (!first) return;
  const { container, main, others } = first;
  // One of two tables may be of what was before.
  const isRow = ({ at }: StatedKey): boolean => design.lines[at.line - 1]?.trimStart().startsWith('|') === true;
  const isCertain = container.otherKeys !== undefined && !(main.every(isRow) && others.every(isRow));
  for (const finding of together(
    all.flatMap((one) => one.others),
    `${container.name}${more(all.length - 1)} ${all.length > 1 ? 'have' : 'has'} the key ${keysOf(main)} in ${linesOf(main)}, and ${keysOf(others)} here`,
    all.flatMap((one) => one.main.map(({ at }) => at)),
  ))
    yield { ...finding, ...(isCertain && { severity: 'error' }) };
}

export const CHANGING: readonly Rule[] = [
  {
    id: 'C31',
    seesAllKeys: true,
    title: 'The text states one key for a container',
    severity: 'warning',
    why: 'A container has one partition key, which is fixed when it is created (ASM-E131). If a table says `/userId` and another one `/id`, a part of the programs reads by the wrong one. The rule compares what sections, also one for each entity, code, and the rows of tables with a column for the key say. It is an error if a section, a list of labels or code states both. It passes over lines about a migration. No other rule uses a key of this container then, because it would be a guess which of them the programs have.',
    hint: 'Correct the places that are wrong. Until then no rule checks anything by the key of this container.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const { design } = facts;
      if (!design) return;
      const contested = contestedIn(design);
      // The same slip in the definitions of several containers is one.
      const contests = [...contested].map(([{ container }, all]) => contestOf(container, all));
      const sides = ({ main, others }: Contest) => [`main ${keysOf(main)}`, `other ${keysOf(others)}`] as const;
      const counts = Map.groupBy(contests.flatMap(sides), (side) => side);
      const most = (contest: Contest): string => {
        const [one, other] = sides(contest);
        return (counts.get(one)?.length ?? 0) > (counts.get(other)?.length ?? 0) ? one : other;
      };
      for (const group of Map.groupBy(contests, most).values()) yield* differing(design, group);
    },
  },
];
