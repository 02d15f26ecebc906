// One policy may be of several containers. What is wrong with it is one finding, not one for each of them.
import type { Facts } from '../facts.ts';
import { type Found, type Rule, type RuleResult, more } from '../rule.ts';

interface Named {
  readonly found: Found;
  readonly rest: string;
}

/** The rule, with one finding for the containers whose findings stand at the same line and end alike. */
export const oncePerPolicy = (rule: Rule): Rule => ({
  ...rule,
  *check(facts) {
    const groups = new Map<string, Named[]>();
    for (const result of rule.check(facts)) {
      const named = namedIn(facts, result);
      if (named) {
        const { at, severity } = named.found;
        const key = `${severity} ${at.line} ${/\w+(?=s?$)/.exec(named.rest)?.[0]}`;
        groups.set(key, [...(groups.get(key) ?? []), named]);
      } else yield result;
    }
    for (const group of groups.values()) yield* combined(group);
  },
});

/** A finding that begins with the name of a container. */
function namedIn({ containers }: Facts, result: RuleResult): Named | undefined {
  if (!('message' in result)) return undefined;
  const [, name, rest = ''] = /^([^:]+)(: .*)$/s.exec(result.message) ?? [];
  return containers.some(({ container }) => container.name === name) ? { found: result, rest } : undefined;
}

function* combined(group: readonly Named[]): Iterable<Found> {
  // The one with the most places has what the others have.
  const [first] = group.toSorted((a, b) => (b.found.related?.length ?? 0) - (a.found.related?.length ?? 0));
  if (!first) return;
  const { found, rest } = first;
  const name = found.message.slice(0, found.message.length - rest.length);
  const related = group.flatMap(({ found: one }) => one.related ?? []);
  const places = [...new Map(related.map((place) => [`${place.file}:${place.line}`, place])).values()];
  const fixes = new Map(
    group.flatMap(({ found: one }) => one.fixes ?? []).map((fix) => [`${fix.at.line} ${fix.from}`, fix]),
  );
  yield {
    ...found,
    message: `${name}${more(group.length - 1)}${rest}`,
    ...(places.length > 0 && { related: places }),
    ...(fixes.size > 0 && { fixes: [...fixes.values()] }),
  };
}
