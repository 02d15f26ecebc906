import { styleText } from 'node:util';
import { z } from 'zod';
import type { Rule } from '../../model/rules/rule.ts';
import { compareIds } from '../../model/rules/index.ts';
import { defineOperation } from '../operation.ts';
import { suggestion } from '../../base/near.ts';
import { GROUPS } from './check-text.ts';
import { everyRule } from './pair.ts';
import { operationsError } from '../errors.ts';

export const modelExplain = defineOperation({
  noun: 'model',
  verb: 'explain',
  summary: 'Explain a rule of `model check`: what it asks for, why, and its source',
  examples: ['millrace model explain B11', 'millrace model explain'],
  effect: 'reads',
  argument: 'rule',
  input: z.object({ rule: z.string().optional().describe('a rule such as B11 (default: list all rules)') }),
  run: async ({ rule: wanted }) => {
    const rules = everyRule().toSorted((a, b) => compareIds(a.id, b.id));
    if (wanted === undefined) return rules.map(describe);
    const found = rules.filter(({ id }) => id === wanted.trim().toUpperCase());
    if (found.length > 0) return found.map(describe);
    const ids = rules.map(({ id }) => id);
    throw operationsError('rule-unknown', `There is no rule ${wanted}${suggestion(wanted.toUpperCase(), ids)}`);
  },
  format: (rules) => {
    const [only, ...others] = rules;
    return only && others.length === 0
      ? page(only)
      : rules.map(({ rule, title, severity }) => `${rule.padEnd(4)} ${severity.padEnd(11)} ${title}`).join('\n');
  },
});

const describe = ({ id, title, severity, source, why, hint }: Rule) => ({
  rule: id,
  group: GROUPS[id.charAt(0)] ?? '',
  title,
  severity,
  source,
  why,
  hint,
});

const page = ({ rule, group, title, severity, source, why, hint }: ReturnType<typeof describe>): string => {
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
};

/** Breaks lines between words at 100 columns. */
const wrapped = (text: string): string => text.replaceAll(/(?![^\n]{1,100}$)([^\n]{1,100})\s/g, '$1\n');
