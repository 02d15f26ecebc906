// What a rule asks for, why, and its source.
import { styleText } from 'node:util';
import { suggestion } from '../../base/near.ts';
import { type Rule, SOURCES, type Severity } from '../../model/rules/rule.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { GROUPS } from './check-text.ts';

export interface Explained {
  readonly rule: string;
  readonly group: string;
  readonly title: string;
  readonly severity: Severity;
  readonly source: string;
  readonly why: string;
  readonly hint: string;
}

/** @throws UsageError `not-found` */
export function explained(wanted: string, rules: readonly Rule[]): Explained {
  const id = wanted.trim().toUpperCase();
  const found = rules.find((rule) => rule.id === id);
  if (!found) {
    const ids = rules.map((rule) => rule.id);
    throw sharedError('not-found', `There is no rule ${wanted}${suggestion(id, ids)}`, {
      hint: 'See the rules in docs/rules.md.',
    });
  }
  const { title, severity = 'error', source = SOURCES.ours, why, hint } = found;
  return { rule: id, group: GROUPS[id.charAt(0)] ?? '', title, severity, source, why, hint };
}

export function explainedText({ rule, group, title, severity, source, why, hint }: Explained): string {
  const bold = (text: string): string => styleText('bold', text, { stream: process.stdout });
  return [
    bold(`${rule}  ${title}`),
    `${group} · ${severity}`,
    '',
    wrapped(why),
    '',
    bold('How to fix it'),
    wrapped(hint),
    '',
    bold('Source'),
    wrapped(source),
  ].join('\n');
}

/** Breaks lines between words at 100 columns. */
const wrapped = (text: string): string => text.replaceAll(/(?![^\n]{1,100}$)([^\n]{1,100})\s/g, '$1\n');
