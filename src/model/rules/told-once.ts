// With annotations, two rules may find one thing: one reads the words, and one compares annotations. The second knows more
// of it, so its finding stays.
import type { Annotations } from '../annotations/annotations.ts';
import type { Rule, RuleFinding } from './rule.ts';

/** Leaves out findings that a finding of another rule, which has theirs in `instead`, tells as well. */
export function toldOnce(
  findings: readonly RuleFinding[],
  rules: readonly Rule[],
  annotations: Annotations,
): readonly RuleFinding[] {
  const instead = new Map(rules.flatMap(({ id, instead: of }) => (of ? [[id, new Set(of)] as const] : [])));
  const telling = findings.filter(({ rule }) => instead.has(rule));
  const names = [...annotations.containers, ...annotations.types].map((name) => name.toLowerCase());
  const tells = (of: RuleFinding, finding: RuleFinding): boolean =>
    instead.get(of.rule)?.has(finding.rule) === true && (meet(of, finding) || nameOne(names, of, finding));
  return findings.filter((finding) => !telling.some((of) => tells(of, finding)));
}

const linesOf = ({ at, related = [] }: RuleFinding): ReadonlySet<number> =>
  new Set([at, ...related].map(({ line }) => line));

const meet = (a: RuleFinding, b: RuleFinding): boolean => {
  const lines = linesOf(a);
  return [...linesOf(b)].some((line) => lines.has(line));
};

const nameOne = (names: readonly string[], a: RuleFinding, b: RuleFinding): boolean =>
  names.some((name) => [a, b].every(({ message }) => message.toLowerCase().includes(name)));
