import { styleText } from 'node:util';
import { z } from 'zod';
import { UsageError } from '../../base/errors.ts';
import type { Rule } from '../../model/rules/rule.ts';
import { compareIds } from '../../model/rules/index.ts';
import { defineOperation } from '../operation.ts';
import { suggestion } from '../../base/near.ts';
import { GROUPS } from './check-text.ts';
import { everyRule } from './pair.ts';

export const modelExplain = defineOperation({
  noun: 'model',
  verb: 'explain',
  summary: 'Say what a rule of `model check` asks for, why, and who says so',
  examples: ['millrace model explain B11', 'millrace model explain'],
  effect: 'reads',
  argument: 'rule',
  input: z.object({ rule: z.string().optional().describe('a rule such as B11; without it, all are listed') }),
  run: async ({ rule: wanted }) => {
    const rules = everyRule().toSorted((a, b) => compareIds(a.id, b.id));
    if (wanted === undefined) return rules.map(describe);
    const found = rules.filter(({ id }) => id === wanted.trim().toUpperCase());
    if (found.length > 0) return found.map(describe);
    const ids = rules.map(({ id }) => id);
    const mend = '`millrace model explain` lists them all.';
    throw new UsageError('rule-unknown', `There is no rule ${wanted}${suggestion(wanted.toUpperCase(), ids)}`, {
      mend,
    });
  },
  format: (rules) => {
    const [only, ...others] = rules;
    return only && others.length === 0
      ? page(only)
      : rules.map(({ rule, title, severity }) => `${rule.padEnd(4)} ${severity.padEnd(11)} ${title}`).join('\n');
  },
});

const describe = ({ id, title, severity, source, why, mend }: Rule) => ({
  rule: id,
  group: GROUPS[id.charAt(0)] ?? '',
  title,
  severity,
  source,
  why,
  mend,
});

const page = ({ rule, group, title, severity, source, why, mend }: ReturnType<typeof describe>): string => {
  const bold = (text: string): string => styleText('bold', text, { stream: process.stdout });
  return [
    bold(`${rule}  ${title}`),
    `${group} · ${severity}`,
    '',
    wrapped(why),
    '',
    bold('How to mend'),
    wrapped(mend),
    '',
    bold('Source'),
    wrapped(source),
  ].join('\n');
};

/** At 100 columns, between words. */
const wrapped = (text: string): string => text.replaceAll(/(?![^\n]{1,100}$)([^\n]{1,100})\s/g, '$1\n');
