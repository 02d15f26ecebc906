// With annotations, two rules may find one thing: one reads the words, and one compares annotations. The second knows more
// of it, so its finding stays. And what matters only at size, or only of a design, isn't told where the annotations say that
// there is little, or that the container is there already.
import type { Annotations } from '../annotations/annotations.ts';
import { isExisting, isSmall } from '../annotations/scale.ts';
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
  return findings.filter((finding) => !isMoot(annotations, finding) && !telling.some((of) => tells(of, finding)));
}

/** Rules on words about fan-outs, searches and few key values. */
const AT_SIZE: ReadonlySet<string> = new Set([
  'B10',
  'B23',
  'B24',
  'B27',
  'C2',
  'C3',
  'C7',
  'C13',
  'C14',
  'D12',
  'E10',
  'E12',
]);
/** Rules on words that ask something of a container's design. */
const OF_DESIGN: ReadonlySet<string> = new Set(['B23', 'B27', 'C2', 'C3', 'C7', 'E9', 'E13', 'E15']);

const OUTSIDE = /^#{1,6} .*\b(?:non-?goals?|out of scope|not in scope|exclusions?)\b/i;

/** Whether the nearest heading says that the document leaves this out. */
const isOutside = ({ lines }: Annotations, line: number): boolean =>
  OUTSIDE.test(lines.slice(0, line).findLast((text) => /^#{1,6} /.test(text)) ?? '');

/** Whether all containers that a finding names are small, or not designed here. One that names none is of all. */
function isMoot(annotations: Annotations, { rule, message, at }: RuleFinding): boolean {
  // Annotations say themselves what is only planned.
  if (/^[B-F]/.test(rule) && isOutside(annotations, at.line)) return true;
  const text = message.toLowerCase();
  const named = annotations.containers.filter((name) => text.includes(name.toLowerCase()));
  const all = named.length > 0 ? named : annotations.containers;
  const every = (is: typeof isSmall): boolean =>
    all.length > 0 && all.every((container) => is(annotations, { container }));
  return (AT_SIZE.has(rule) && every(isSmall)) || (OF_DESIGN.has(rule) && named.length > 0 && every(isExisting));
}

const linesOf = ({ at, related = [] }: RuleFinding): ReadonlySet<number> =>
  new Set([at, ...related].map(({ line }) => line));

const meet = (a: RuleFinding, b: RuleFinding): boolean => {
  const lines = linesOf(a);
  return [...linesOf(b)].some((line) => lines.has(line));
};

const nameOne = (names: readonly string[], a: RuleFinding, b: RuleFinding): boolean =>
  names.some((name) => [a, b].every(({ message }) => message.toLowerCase().includes(name)));
