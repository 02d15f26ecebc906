// A19: containers that the text counts on, and that it doesn't design.
import { textAround } from './said.ts';
import type { Design } from '../documents.ts';
import type { Place } from '../model.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, more, together } from './rule.ts';

/** A name in backticks beside the word. */
const NAMED =
  /`(?<before>[a-z][\w-]*)` (?:Cosmos (?:DB )?)?(?:container|collection)\b|\b(?:container|collection):? `(?<after>[a-z][\w-]*)`/gi;
/** An item of a list under "Containers". */
const ITEM = /^(?<indent>\s*)[-*+]\s+\**`(?<name>[a-z][\w-]*)`\**\s*(?:[-–—:(]|$)/i;
const LIST = /^(?<indent>\s*)[-*+]\s+\**(?:Cosmos DB )?(?:Containers|Collections)\**\s*:?\**\s*$/i;
/** A leaf of a tree: `├── Container: orders`. */
const LEAF = /^\s*[│├└─|+\s]*[├└|+][─-]*\s*Container:\s*`?(?<name>[a-z][\w-]*)`?\s*$/i;
/** No container of the account. */
const OTHER =
  /\b(?:blob|storage|docker|image|compose|kubernetes|pod|aca|container apps?|registry|queue|mongo\w*|migrat\w*|legacy|deprecated|removed|renamed|old (?:container|collection)|instead|reserved|existing|already|avoid\w*|separate|no additional|consider|publicaccess|lease|redis|bucket|sql (?:database|table)s?|css|html|div)\b/i;
const NO_NAME =
  /^(?:id|container|collection|leases?|containers|database|partitionKey|name|type|my-?container|items?|az|ttl|default\w+|cosmosdb?|create\w*|get\w*)$|lease|[-_]?container$/i;

const KEYED = /\b(?:pk|partition\w*(?:[ _]?keys?)?(?: by)?)\b[^\w/]{0,8}\/\w/i;
const NEAR = 3;

interface Mention {
  readonly name: string;
  readonly at: Place;
}

function mentions({ lines, file }: Design): Mention[] {
  let list = -1;
  return lines.flatMap((text, index): Mention[] => {
    if (text.length > 400) return [];
    const at = { file, line: index + 1 };
    const begins = LIST.exec(text)?.groups?.['indent']?.length;
    if (begins !== undefined) {
      list = begins;
      return [];
    }
    const { indent = '', name } = ITEM.exec(text)?.groups ?? {};
    if (name === undefined || indent.length <= list) list = -1;
    if (OTHER.test(text)) return [];
    const listed = list >= 0 && name !== undefined ? [{ name, at }] : [];
    const leaf = LEAF.exec(text)?.groups?.['name'];
    return [
      ...listed,
      ...(leaf === undefined ? [] : [{ name: leaf, at }]),
      ...[...text.matchAll(NAMED)].map(({ groups }) => ({ name: groups?.['before'] ?? groups?.['after'] ?? '', at })),
    ];
  });
}

/** A heading with a name in backticks beside those of containers, with nothing below it that states a key. */
function headed({ lines, file, containers, headings }: Design): Mention[] {
  const levelOf = (line: number): string => /^#+(?= `[a-z][\w-]*`)/i.exec(lines[line - 1] ?? '')?.[0] ?? '';
  const starts = containers.map(({ container: { at } }) => ({ line: at.line, level: levelOf(at.line) }));
  if (starts.every(({ level }) => level === '')) return [];
  return headings.flatMap(({ at }, index): Mention[] => {
    const level = levelOf(at.line);
    if (level === '') return [];
    const name = /`(?<name>[a-z][\w-]*)`/i.exec(lines[at.line - 1] ?? '')?.groups?.['name'];
    const end = headings[index + 1]?.at.line ?? lines.length + 1;
    const above = headings
      .slice(0, index)
      .findLast(({ at: { line } }) => (lines[line - 1] ?? '').startsWith(level.slice(1) + ' '));
    const text = lines.slice(at.line - 1, end - 1).join('\n');
    if (KEYED.test(text)) return [];
    const beside = starts.filter(
      (one) => one.line > (above?.at.line ?? 0) && one.line < at.line && one.level === level,
    );
    return name !== undefined &&
      beside.length > 1 &&
      !starts.some(({ line }) => line === at.line) &&
      !/\b(?:removed|deprecated|legacy|not a container)\b/i.test(text)
      ? [{ name, at: { file, line: at.line } }]
      : [];
  });
}

/** Names in the message. */
const MOST = 4;

const plain = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]|s$/g, '');

export const UNDESIGNED: readonly Rule[] = [
  {
    id: 'A19',
    title: 'A container that the text counts on is designed',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'A sentence such as "older messages go to the `archive` container" counts on a container, and nothing states its key. Who builds it decides then. The rule reads names in backticks beside the word container, items of a list of containers, leaves of a tree (`├── Container: orders`), and headings beside those of containers. It asks only in documents that design two containers or more.',
    hint: 'Design the container: key, documents, TTL. Or delete the sentence.',
    needs: [DESIGN],
    *check({ design, containers }): Iterable<RuleResult> {
      if (!design || containers.length < 2) return;
      const titled = headed(design);
      const all = [...mentions(design), ...titled];
      if (all.length === 0) {
        yield missing('a sentence that names a container');
        return;
      }
      const known = new Set(
        containers.flatMap(({ container }) => [container.name, ...container.types.map(({ name }) => name)]).map(plain),
      );
      // A key near the name is a design, though it is in a sentence.
      const isKeyed = ({ at }: Mention): boolean => KEYED.test(textAround(design, at.line, NEAR));
      const open = all.filter(
        (one) => !NO_NAME.test(one.name) && !known.has(plain(one.name)) && (titled.includes(one) || !isKeyed(one)),
      );
      const names = [...Map.groupBy(open, ({ name }) => plain(name)).values()].flatMap(([first]) => first?.name ?? []);
      const said = `${names.slice(0, MOST).join(', ')}${more(Math.max(0, names.length - MOST))}`;
      yield* together(
        open,
        `${said} ${names.length > 1 ? 'have no design: nothing states their keys' : 'has no design: nothing states its key'}`,
      );
    },
  },
];
