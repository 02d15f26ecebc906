// Writes the decisions of a design, and the requirements with what it adds to them.
import { relationsOf } from '../relations.ts';
import { n } from '../rules/rule.ts';
import {
  type Choices,
  type Derived,
  MOST,
  beside,
  containerOf,
  holderOf,
  homeOf,
  keyOf,
  levelsOf,
  overlapOf,
  parentOf,
  upper,
} from './design.ts';
import type { Needs } from './needs.ts';

/**
 * The requirements, with the comparison of parent and child that the check asks for where they have none. `why`: what both
 * designs of a child cost.
 */
export function requirementsText(needs: Needs, choices: Choices, why: ReadonlyMap<string, string> = new Map()): string {
  const { text, requirements, entities } = needs;
  if (requirements.pairs.length > 0) return text;
  const pairs = entities.flatMap((child) => {
    const parent = parentOf(needs, child);
    return parent ? [{ parent, child }] : [];
  });
  if (pairs.length === 0) return text;
  const analyses = pairs.map(({ parent, child }) => {
    const { both, parent: only, child: alone } = overlapOf(needs, parent, child);
    const embedded = choices.embedded.includes(child.name);
    const together = !embedded && beside(choices, parent, child);
    const relation = relationsOf(requirements, { type: parent.name }, { type: child.name })[0];
    const most = relation?.max ?? relation?.average ?? 1;
    return `### [${upper(parent.name)} + ${upper(child.name)}] Container Item Analysis
- **Access Correlation**: ${both} % of the queries need both
- **Query Patterns**: ${parent.name} only ${only} %, ${child.name} only ${alone} %, both ${both} %
- **Size Constraints**: ${embedded || together || most * child.bytes <= MOST ? `${n(most)} × ${n(child.bytes / 1000)} KB = ${n((most * child.bytes) / 1000)} KB` : `no bound that one document holds: up to ${n(most)} × ${n(child.bytes / 1000)} KB`}
- **Decision**: ${embedded ? `${child.name} embedded in ${parent.name}` : together ? 'multi-document container' : 'separate containers'}
- **Justification**: ${why.get(child.name) ?? `${n(most)} × ${n(child.bytes / 1000)} KB don't fit into one document, or are read without the parent`}${together ? '' : '; a multi-document container was compared'}

**Identifying Relationship Check**
- **Child Independence**: No
- **Access Pattern**: Yes
- **Current Design**: ${embedded ? 'embedded' : `key ${keyOf(choices, child.name)}`}`;
  });
  return `${text.trimEnd()}\n\n## Enhanced Aggregate Analysis\n${analyses.join('\n\n')}\n`;
}

/** Where each entity is, and what is derived. */
export function decisionsText(needs: Needs, choices: Choices, derived: readonly Derived[]): string {
  const lines = needs.entities.map((entity) => {
    const holder = holderOf(needs, choices, entity);
    const key = levelsOf(keyOf(choices, entity.name)).join(', ');
    if (holder) return `- ${entity.name} is embedded in ${holder.name}.`;
    return homeOf(choices, entity.name) === entity.name
      ? `- ${entity.name} has a container with the key ${key}.`
      : `- ${entity.name} is in the container ${containerOf({ name: homeOf(choices, entity.name) })}, by ${key}.`;
  });
  const more = derived.map(({ container, from, kind, group }) =>
    needs.entities.some((entity) => containerOf(entity) === container)
      ? `- Copies of ${from.name} by ${group.join(', ')} are in the container ${container}.`
      : `- ${container} is ${kind === 'copy' ? 'a copy' : 'an aggregate'} of ${from.name}.`,
  );
  return [...lines, ...more].join('\n');
}
