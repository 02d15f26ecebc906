// A second reader's verdicts on findings: what isn't right is set aside, with the reason.
import { plainText } from '../evidence.ts';
import type { ModelFinding } from '../model.ts';
import type { RuleFinding } from '../rules/rule.ts';
import { markOf } from './review.ts';
import type { Verdict, Verdicts } from './schema.ts';

/** The line of a place. */
export type LineOf = (at: RuleFinding['at']) => string | undefined;

/**
 * The name of a finding for verdicts. It changes with its rule, its message and its line's text, and not with numbers of
 * lines. Findings that are equal in all of these share a verdict.
 */
export const nameOf = ({ rule, message, at }: RuleFinding, lineOf: LineOf): string =>
  `${rule}-${markOf(`${rule} ${message.replaceAll(LINES, 'line')} ${plainText(lineOf(at) ?? '')}`)}`;

const LINES = /\blines? \d+(?:(?:, | and |–|-)\d+)*/gi;

export interface SetAside {
  readonly finding: RuleFinding;
  readonly verdict: Verdict;
}

export interface Judged {
  readonly findings: readonly RuleFinding[];
  readonly setAside: readonly SetAside[];
  /** Verdicts on what isn't found. */
  readonly unused: readonly ModelFinding[];
}

/** A finding without a verdict stands. */
export function judged(
  all: readonly RuleFinding[],
  waived: readonly RuleFinding[],
  verdicts: Verdicts | undefined,
  lineOf: LineOf,
): Judged {
  if (!verdicts) return { findings: all, setAside: [], unused: [] };
  const byName = new Map(verdicts.all.map((verdict) => [verdict.finding, verdict]));
  const used = new Set(waived.map((finding) => nameOf(finding, lineOf)));
  const findings: RuleFinding[] = [];
  const setAside: SetAside[] = [];
  for (const finding of all) {
    const verdict = byName.get(nameOf(finding, lineOf));
    if (verdict) used.add(verdict.finding);
    if (verdict && verdict.verdict !== 'right') setAside.push({ finding, verdict });
    else findings.push(verdict?.remedy === undefined ? finding : { ...finding, hint: verdict.remedy });
  }
  const unused = [...byName.keys()].filter((name) => !used.has(name));
  return { findings, setAside, unused: unused.length === 0 ? [] : [unusedFinding(verdicts, unused)] };
}

const unusedFinding = ({ file, document }: Verdicts, names: readonly string[]): ModelFinding => ({
  code: 'verdict-unused',
  severity: 'information',
  message: `${file}: no finding has the name ${names.join(', ')}`,
  hint: 'The finding or its line has changed, or is gone. Remove the verdict, or write it for the new finding.',
  at: { file: document, line: 1 },
});
