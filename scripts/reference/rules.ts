// docs/rules.md: every rule of `millrace model check`, from the code.
import { compareIds } from '../../src/model/rules/index.ts';
import { type Rule, SOURCES } from '../../src/model/rules/rule.ts';
import { GROUPS } from '../../src/verbs/model/check-text.ts';
import { everyRule } from '../../src/verbs/model/pair.ts';
import { written } from './text.ts';

export function rulesPage(): string {
  const rules = everyRule().toSorted((a, b) => compareIds(a.id, b.id));
  const groups = [...Map.groupBy(rules, ({ id }) => id.charAt(0))];
  return `${written('src/model/rules and src/contract')}# Rules of \`millrace model check\`

${rules.length} rules. Waive one where it doesn't hold for you, with a date: \`<!-- millrace-ignore B11 until 2027-06: why -->\`.
${groups.map(([group, own]) => `\n## ${group}: ${GROUPS[group] ?? ''}\n${own.map(section).join('')}`).join('')}`;
}

/** With an anchor that is the id alone, so that a link outlives another title. */
const section = ({ id, title, severity = 'error', source = SOURCES.ours, why, hint }: Rule): string => `
<a id="${id.toLowerCase()}"></a>

### ${id}: ${title}

${capital(severity)}. ${why}

**How to fix it.** ${hint}

**Source.** ${capital(source)}.
`;

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
