// Writes the decisions of a design, and the requirements with what it adds to them.
import { relationsOf } from '../relations.ts';
import { n } from '../rules/rule.ts';
import {
  type Choices,
  type ProposedDerived,
  MOST,
  beside,
  proposedContainerOf,
  holderOf,
  homeOf,
  proposedKeyOf,
  levelsOf,
  isRead,
  overlapOf,
  parentField,
  parentOf,
  upper,
} from './design.ts';
import type { NeededAccess, Entity, Needs } from './needs.ts';

/**
 * The requirements, with the comparison of parent and child that the check asks for where they have none. `why`: the places of
 * a child that were compared.
 */
export function requirementsText(
  needs: Needs,
  choices: Choices,
  why: ReadonlyMap<string, ProposedCompared> = new Map(),
): string {
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
    const field = parentField(parent, child);
    const blind = needs.accesses.filter(
      ({ entity, kind, by }) => entity === child.name && isRead(kind) && !by.includes(field),
    );
    const [size, whole] = [`${n(most)} × ${n(child.bytes / 1000)} KB`, most * child.bytes];
    return `### [${upper(parent.name)} + ${upper(child.name)}] Container Item Analysis
- **Access Correlation**: ${both} % of the queries need both
- **Query Patterns**: ${parent.name} only ${only} %, ${child.name} only ${alone} %, both ${both} %
- **Size Constraints**: ${embedded || together || whole <= MOST ? `${size} = ${n(whole / 1000)} KB` : `no bound that one document holds: up to ${size}`}
- **Decision**: ${embedded ? `${child.name} embedded in ${parent.name}` : together ? 'multi-document container' : 'separate containers'}
- **Justification**: ${why.get(child.name)?.told ?? apartBecause({ needs, parent, child, most: relation?.max, blind })}; ${together ? 'this is a multi-document container' : `a multi-document container ${why.get(child.name)?.beside ? 'was compared' : `wasn't compared, because ${besideNot(choices, parent, child)}`}`}

**Identifying Relationship Check**
- **Access Pattern**: ${blind.length === 0 ? `every read of ${child.name} knows its ${field}` : `${blind.map(({ id }) => `pattern ${id}`).join(', ')} of ${child.name} doesn't know the ${field}`}
- **Current Design**: ${embedded ? 'embedded' : `key ${proposedKeyOf(choices, child.name)}`}`;
  });
  return `${text.trimEnd()}\n\n## Enhanced Aggregate Analysis\n${analyses.join('\n\n')}\n`;
}

/** Of a child that may be in more than one place: what each costs, and whether beside its parent was among them. */
export interface ProposedCompared {
  readonly told: string;
  readonly beside: boolean;
}

interface Apart {
  readonly needs: Needs;
  readonly parent: Entity;
  readonly child: Entity;
  /** The largest number of children, if it is stated. */
  readonly most: number | undefined;
  /** Reads of the child that don't know its parent. */
  readonly blind: readonly NeededAccess[];
}

/** Why a child can't be elements of its parent. */
function apartBecause({ needs, parent, child, most, blind }: Apart): string {
  const each = `${n(child.bytes / 1000)} KB`;
  const not = `${child.name} (${most === undefined ? each : `${n(most)} × ${each}`}) isn't embedded, because`;
  if (needs.entities.some((one) => parentOf(needs, one) === child)) return `${not} it has children of its own`;
  if (most === undefined) return `${not} the largest number of it isn't stated`;
  if (parent.bytes + most * child.bytes > MOST) return `${not} that doesn't fit into one document`;
  if (blind.length > 0) return `${not} pattern ${blind.map(({ id }) => id).join(', ')} doesn't know the ${parent.name}`;
  return `${not} ${parent.name} is embedded itself, or a total reads ${child.name}`;
}

/** Why a child can't be in the container of its parent. */
function besideNot(choices: Choices, parent: Entity, child: Entity): string {
  if (parent.keptSeconds !== child.keptSeconds) return 'the two are kept for different times';
  if (choices.embedded.includes(parent.name)) return `${parent.name} is embedded itself`;
  if (homeOf(choices, parent.name) !== parent.name) return `${parent.name} is in a container of another entity`;
  return `${child.name} shares its container with others already, or has no key with ${parent.name}`;
}

/** Where each entity is, and what is derived. */
export function decisionsText(needs: Needs, choices: Choices, derived: readonly ProposedDerived[]): string {
  const lines = needs.entities.map((entity) => {
    const holder = holderOf(needs, choices, entity);
    const key = levelsOf(proposedKeyOf(choices, entity.name)).join(', ');
    if (holder) return `- ${entity.name} is embedded in ${holder.name}.`;
    return homeOf(choices, entity.name) === entity.name
      ? `- ${entity.name} has a container with the key ${key}.`
      : `- ${entity.name} is in the container ${proposedContainerOf({ name: homeOf(choices, entity.name) })}, by ${key}.`;
  });
  const more = derived.map(({ container, from, kind, group }) =>
    needs.entities.some((entity) => proposedContainerOf(entity) === container)
      ? `- Copies of ${from.name} by ${group.join(', ')} are in the container ${container}.`
      : `- ${container} is ${kind === 'copy' ? 'a copy' : 'an aggregate'} of ${from.name}.`,
  );
  return [...lines, ...more].join('\n');
}
