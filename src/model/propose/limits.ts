// What one logical partition may hold and serve: 20 GB, and 10,000 RU/s, because it is on one physical partition.
import { n } from '../rules/rule.ts';
import {
  type Choices,
  proposedContainerOf,
  derivedOf,
  homeOf,
  proposedKeyOf,
  largestOf,
  levelsOf,
  membersOf,
  proposedSizeOf,
} from './design.ts';
import type { Entity, Needs } from './needs.ts';

const MOST_BYTES = 20e9;
const MOST_RU = 10_000;

/**
 * The first container whose largest logical partition is too large or too busy, in words. `peaks`: RU/s by container;
 * without them only the size is judged.
 */
export function overflowOf(
  needs: Needs,
  choices: Choices,
  peaks: ReadonlyMap<string, number> = new Map(),
): string | undefined {
  const own = needs.entities
    .filter(({ name }) => homeOf(choices, name) === name && !choices.embedded.includes(name))
    .map((entity) => ({
      container: proposedContainerOf(entity),
      key: proposedKeyOf(choices, entity.name),
      members: membersOf(needs, choices, entity.name),
    }));
  const copies = derivedOf(needs, choices)
    .filter(({ kind }) => kind === 'copy')
    .map(({ container, group, from }) => ({ container, key: group[0] ?? 'id', members: [from] }));
  // Copies may be in a container that has documents of its own.
  const all = [...Map.groupBy([...own, ...copies], ({ container }) => container)].flatMap(([container, parts]) =>
    parts.slice(0, 1).map(({ key }) => ({ container, key, members: parts.flatMap(({ members }) => members) })),
  );
  return all.map((one) => overflow(needs, choices, one, peaks)).find((text) => text !== undefined);
}

function overflow(
  needs: Needs,
  choices: Choices,
  { container, key, members }: { container: string; key: string; members: readonly Entity[] },
  peaks: ReadonlyMap<string, number>,
): string | undefined {
  const largest = (member: Entity): number => largestOf(needs, member, key);
  const bytes = members.reduce((sum, one) => sum + one.count * proposedSizeOf(needs, choices, one) * largest(one), 0);
  const name = `the largest ${levelsOf(key).join(' and ')} of ${container}`;
  if (bytes > MOST_BYTES) return `${name} has ${n(bytes / 1e9)} GB, and a logical partition holds 20`;
  const ru = (peaks.get(container) ?? 0) * Math.max(...members.map(largest));
  return ru > MOST_RU ? `${name} has ${n(ru)} RU/s, and a logical partition serves 10,000` : undefined;
}
