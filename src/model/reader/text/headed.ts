// Containers by the headings of a document whose titles don't say what they are: `## posts` with a key.
import { ContainerDraft, GENERAL, containerName } from '../container.ts';
import type { Findings } from '../findings.ts';
import { labelledFacts } from '../labelled-facts.ts';
import { isSame } from '../names.ts';
import { type Section, within } from './outline.ts';
import type { Overview } from '../overviews.ts';
import { diagramKeys } from '../stated.ts';
import { keyInHeading } from '../key-in-heading.ts';
import { partitionKey } from './values.ts';

/** "4. The `orders` Schema". */
const isSchema = ({ code, title }: Section): boolean =>
  code !== undefined &&
  title
    .replace(/^[\d.\s]*(?:the\s+)?/i, '')
    .toLowerCase()
    .startsWith(`${code.toLowerCase()} schema`);

/** The sections with a name of their own and one key. */
export function headed(
  all: readonly Section[],
  text: string,
  findings: Findings,
  rows: readonly Overview[],
): ContainerDraft[] {
  const keys = ({ blocks, title }: Section): number => {
    const { facts, loose } = labelledFacts(blocks, text);
    const stated = facts.filter(
      ({ name, text: value, items }) =>
        name === 'partitionKey' &&
        partitionKey(
          value,
          items.map((item) => item.text),
        ) !== undefined,
    );
    return (keyInHeading(title) === undefined ? 0 : 1) + stated.length + loose.flatMap(diagramKeys).length;
  };
  // The key may stand in a part such as "#### Partition Key"; the innermost section with a name of its own has it.
  const named = all.filter(
    (section) =>
      !section.struck &&
      section.depth > 1 &&
      (section.code !== undefined || !GENERAL.test(section.title)) &&
      [...within(section)].reduce((sum, part) => sum + keys(part), 0) === 1,
  );
  // "The `stores` Schema" beside "The `orders` Schema", which has a key.
  const isAlike = (section: Section): boolean =>
    !section.struck && isSchema(section) && named.some((one) => isSchema(one) && one.depth === section.depth);
  // An overview has the names of all containers.
  const inOverview = (section: Section): boolean =>
    rows.length === 0 || rows.some(({ name }) => isSame(name, containerName(section)));
  // Below a name in code, "Visual Structure" is a part.
  const parts = new Set(
    named.filter(({ code }) => code !== undefined).flatMap((section) => [...within(section)].slice(1)),
  );
  const owners = named.filter((section) => section.code !== undefined || !parts.has(section));
  return all
    .filter((section) => owners.includes(section) || isAlike(section))
    .filter((section) => inOverview(section) && ![...within(section)].slice(1).some((part) => owners.includes(part)))
    .map((section) => new ContainerDraft(section, text, findings));
}
