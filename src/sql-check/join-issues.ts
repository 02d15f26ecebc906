// Joins that Citus can't run on each node by itself.
import { type JoinIssue, type SqlPart, type Evaluation, isConstant } from './relation.ts';
import type { Closure, SqlFact } from './symbols.ts';

/** Notes which items of FROM aren't joined on their distribution columns. */
export function noteJoins(
  run: Evaluation,
  parts: readonly SqlPart[],
  closure: Closure,
  facts: readonly SqlFact[],
): void {
  const distributed = parts.filter(({ terms }) => terms.some(({ link }) => link));
  const [first, ...others] = distributed;
  if (!first) return;
  const linked = [first];
  let waiting = others;
  for (let found = true; found;) {
    const next = waiting.filter((part) => linked.some((other) => areLinked(run, part, other, closure)));
    linked.push(...next);
    waiting = waiting.filter((part) => !next.includes(part));
    found = next.length > 0;
  }
  for (const part of waiting)
    run.issues.push({
      issue: issueOf(
        run,
        part,
        parts.filter((other) => other !== part),
        facts,
      ),
      parts: [part, first],
    });
}

function areLinked(run: Evaluation, left: SqlPart, right: SqlPart, closure: Closure): boolean {
  const links = (part: SqlPart): Set<number>[] =>
    part.terms.flatMap(({ link }) => (link ? [closure.equalTo(link)] : []));
  return links(left).every((one) =>
    links(right).some((other) =>
      [...one].some((sym) => other.has(sym) && run.symbols.constantOf(sym)?.list === undefined),
    ),
  );
}

function issueOf(run: Evaluation, part: SqlPart, others: readonly SqlPart[], facts: readonly SqlFact[]): JoinIssue {
  const joins = (distributed: boolean): boolean =>
    facts.some(({ a, b }) => {
      if (isConstant(run, a) || isConstant(run, b)) return false;
      return others.some((other) => {
        const fits = (part.syms.has(a) && other.syms.has(b)) || (part.syms.has(b) && other.syms.has(a));
        return fits && other.terms.some(({ link }) => link) === distributed;
      });
    });
  if (joins(true)) return 'repartition';
  // A condition that isn't an equality of columns, or a join by way of a table that every node has.
  if (joins(false) || [...part.syms].some((sym) => run.hints.has(sym))) return 'unclear';
  return 'cartesian';
}
